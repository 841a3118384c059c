#pragma once

// The log says what the compiler decided and why, by channel. TOKAMAK_LOGS=fusion,cache turns channels on at
// start
// ("all" turns on every one); nothing is logged by default, and a closed channel costs one relaxed load:
//
//   if (logging::enabled(Channel::fusion)) logging::log(Channel::fusion, "kept apart: " + reason);

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tokamak::logging {

enum class Channel : uint8_t { trace, passes, fusion, memory, codegen, cache, recompiles };
inline constexpr int kChannels = 7;

std::string_view to_string(Channel channel);

namespace detail {
extern std::atomic<uint32_t> open_channels;
}

inline bool enabled(Channel channel) {
  return (detail::open_channels.load(std::memory_order_relaxed) >> static_cast<int>(channel)) & 1;
}

/// Hands the message to the sink if the channel is open. Safe from any thread; the sink sees one message at a
/// time.
void log(Channel channel, std::string_view message);

/// While it lives, nothing that this thread does is logged or dumped.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

bool is_silent();  ///< Whether a Silence of this thread lives.

/// Opens just the channels named in a comma-separated list: "fusion,cache", "all" or "".
/// Throws UserError for a name that is no channel, and then changes nothing.
void set_channels(std::string_view names);

/// The open channels, in the form that set_channels takes.
std::string channels();

using Sink = std::function<void(Channel, std::string_view)>;

/// Replaces where messages go; an empty sink restores the default: "tokamak [fusion] message" on standard
/// error. Several threads may be inside a sink at once. A sink is kept for good, since one may still be
/// inside when it is replaced: set one that looks up where to write, rather than many.
void set_sink(Sink sink);

}  // namespace tokamak::logging
