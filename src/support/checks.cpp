#include "support/checks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "support/name_list.h"
#include "tokamak/errors.h"

namespace tokamak {

namespace detail {
constinit std::atomic<uint8_t> checks_asked_for = 0;
}

namespace {

constexpr std::array<std::string_view, kChecks> kNames = {"bounds", "nan", "shadow"};
constexpr const char* kAllNames = "bounds, nan, shadow, all";

std::optional<Checks> checks_named(std::string_view name) {
  if (name == "all") return Checks((1U << kChecks) - 1);
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return Checks().with(static_cast<Check>(found - kNames.begin()));
}

template <class Unknown>
Checks checks_of(std::string_view names, Unknown unknown) {
  uint8_t bits = 0;
  for_each_name(names, [&](std::string_view name) {
    if (const std::optional<Checks> found = checks_named(name)) {
      bits |= found->bits();
    } else {
      unknown(name);
    }
  });
  return Checks(bits);
}

void ask_for(Checks checks) { detail::checks_asked_for.store(checks.bits(), std::memory_order_relaxed); }

/// An unknown name in the environment must not keep the program from starting: it is reported and passed
/// over.
void read_environment() {
  const char* names = std::getenv("TOKAMAK_CHECK");
  if (names == nullptr) return;
  ask_for(checks_of(names, [](std::string_view name) {
    std::fprintf(stderr, "tokamak: TOKAMAK_CHECK names no check '%.*s'; there are %s\n",
                 static_cast<int>(name.size()), name.data(), kAllNames);
  }));
}

[[maybe_unused]] const bool environment_read = (read_environment(), true);

}  // namespace

void set_checks(std::string_view names) {
  ask_for(checks_of(names, [](std::string_view name) {
    throw UserError("there is no check '" + std::string(name) + "'; there are " + kAllNames);
  }));
}

std::string to_string(Checks checks) {
  std::string text;
  for (int i = 0; i < kChecks; ++i) {
    if (!checks.has(static_cast<Check>(i))) continue;
    if (!text.empty()) text += ',';
    text += kNames[static_cast<size_t>(i)];
  }
  return text;
}

}  // namespace tokamak
