#include "support/log.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "support/name_list.h"
#include "tokamak/errors.h"

namespace tokamak::logging {

namespace detail {
constinit std::atomic<uint32_t> open_channels = 0;
}

namespace {

constexpr std::array<std::string_view, kChannels> kNames = {"trace",   "passes", "fusion",    "memory",
                                                            "codegen", "cache",  "recompiles"};
constexpr uint32_t kAllChannels = (1u << kChannels) - 1;

std::string all_names() {
  std::string text;
  for (std::string_view name : kNames) text.append(name).append(", ");
  return text + "all";
}

std::optional<uint32_t> bits_of(std::string_view name) {
  if (name == "all") return kAllChannels;
  for (int i = 0; i < kChannels; ++i) {
    if (name == kNames[i]) return 1u << i;
  }
  return std::nullopt;
}

/// No lock is held while a sink runs: Python's wants the interpreter lock, which a thread about to log may
/// hold.
constinit std::atomic<const Sink*> current_sink = nullptr;

/// Sinks that were ever set. Never destroyed: another thread may be inside one, and static destructors may
/// log.
struct AllSinks {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Sink>> sinks;
};

AllSinks& all_sinks() {
  static AllSinks* all = new AllSinks;
  return *all;
}

/// An unknown name in the environment must not keep the program from starting: it is reported and passed
/// over.
void open_from_environment() {
  const char* names = std::getenv("TOKAMAK_LOGS");
  if (names == nullptr) return;
  uint32_t bits = 0;
  for_each_name(names, [&](std::string_view name) {
    if (const auto bit = bits_of(name)) {
      bits |= *bit;
    } else {
      std::fprintf(stderr, "tokamak: TOKAMAK_LOGS names no channel '%.*s'; there are %s\n",
                   static_cast<int>(name.size()), name.data(), all_names().c_str());
    }
  });
  detail::open_channels.store(bits, std::memory_order_relaxed);
}

[[maybe_unused]] const bool environment_read = (open_from_environment(), true);

thread_local int silences = 0;

}  // namespace

std::string_view to_string(Channel channel) { return kNames[static_cast<size_t>(channel)]; }

Silence::Silence() { ++silences; }
Silence::~Silence() { --silences; }
bool is_silent() { return silences > 0; }

void log(Channel channel, std::string_view message) {
  if (!enabled(channel) || silences > 0) return;
  if (const Sink* sink = current_sink.load(std::memory_order_acquire)) {
    (*sink)(channel, message);
    return;
  }
  const std::string_view name = to_string(channel);
  std::fprintf(stderr, "tokamak [%.*s] %.*s\n", static_cast<int>(name.size()), name.data(),
               static_cast<int>(message.size()), message.data());
}

void set_channels(std::string_view names) {
  uint32_t bits = 0;
  for_each_name(names, [&](std::string_view name) {
    const auto bit = bits_of(name);
    if (!bit) {
      throw UserError("there is no log channel '" + std::string(name) + "'; there are " + all_names());
    }
    bits |= *bit;
  });
  detail::open_channels.store(bits, std::memory_order_relaxed);
}

std::string channels() {
  const uint32_t bits = detail::open_channels.load(std::memory_order_relaxed);
  std::string text;
  for (int i = 0; i < kChannels; ++i) {
    if ((bits >> i & 1) == 0) continue;
    if (!text.empty()) text += ',';
    text += kNames[i];
  }
  return text;
}

void set_sink(Sink sink) {
  AllSinks& all = all_sinks();
  const std::lock_guard lock(all.mutex);
  if (sink) {
    all.sinks.push_back(std::make_unique<const Sink>(std::move(sink)));
    current_sink.store(all.sinks.back().get(), std::memory_order_release);
  } else {
    current_sink.store(nullptr, std::memory_order_release);
  }
}

}  // namespace tokamak::logging
