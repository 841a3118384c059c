#include "support/parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/name_list.h"

namespace tokamak {

namespace {

constexpr std::array<std::string_view, kParts> kNames = {
    "reuse", "pool", "vector-math", "streaming", "skipping", "blocking", "winograd", "amx", "disk-cache"};

uint32_t bit_of(size_t part) { return uint32_t{1} << part; }

/// An unknown name must not keep the program from starting: it is reported and passed over.
uint32_t disabled_by_environment() {
  const char* text = std::getenv("TOKAMAK_DISABLE");
  uint32_t bits = 0;
  for_each_name(text == nullptr ? "" : text, [&](std::string_view name) {
    const auto* const found = std::find(kNames.begin(), kNames.end(), name);
    if (found != kNames.end()) {
      bits |= bit_of(static_cast<size_t>(found - kNames.begin()));
    } else {
      std::fprintf(stderr,
                   "tokamak: TOKAMAK_DISABLE names no part '%.*s'; there are reuse, pool, vector-math, "
                   "streaming, skipping, blocking, winograd, amx and disk-cache\n",
                   static_cast<int>(name.size()), name.data());
    }
  });
  return bits;
}

}  // namespace

std::span<const std::string_view> part_names() { return kNames; }

bool is_enabled(Part part) {
  static const uint32_t disabled = disabled_by_environment();
  return (disabled & bit_of(static_cast<size_t>(part))) == 0;
}

}  // namespace tokamak
