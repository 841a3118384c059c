// Profiles in the format of traces that Chrome and Perfetto read.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "runtime/profiler.h"
#include "support/json.h"

namespace tokamak {

namespace {

/// What is appended to a text, without a text of its own: there may be a million events, and somebody waits.
class Appending {
 public:
  explicit Appending(std::string& text) : text_(text) {}

  Appending& operator<<(std::string_view part) {
    text_ += part;
    return *this;
  }
  Appending& operator<<(int64_t number) {
    return *this << written([&](char* at, char* end) { return std::to_chars(at, end, number).ptr; });
  }
  Appending& operator<<(double number) {
    return *this << written([&](char* at, char* end) { return std::to_chars(at, end, number).ptr; });
  }
  /// Exact for any count of nanoseconds, in the microseconds that the format wants.
  Appending& microseconds(int64_t ns) {
    const int64_t rest = std::abs(ns) % 1000;
    *this << (ns < 0 ? "-" : "") << std::abs(ns) / 1000 << ".";
    return *this << (rest < 10 ? "00" : rest < 100 ? "0" : "") << rest;
  }
  Appending& rate(double number) {
    return *this << written([&](char* at, char* end) {
      return std::to_chars(at, end, number, std::chars_format::fixed, 3).ptr;
    });
  }

 private:
  template <class Write>
  std::string_view written(const Write& write) {
    return {buffer_.data(),
            static_cast<size_t>(write(buffer_.data(), buffer_.data() + buffer_.size()) - buffer_.data())};
  }

  std::string& text_;
  std::array<char, 400> buffer_;
};

void append_arguments(Appending& text, const ProfileEvent& event) {
  const double ns = static_cast<double>(std::max<int64_t>(event.end_ns - event.start_ns, 1));
  text << "{\"bytes_read\":" << event.bytes_read << ",\"bytes_written\":" << event.bytes_written
       << ",\"flops\":" << event.flops;
  // The bytes of an allocation are those of the block: nothing moves them in its time.
  if (event.category == ProfileCategory::kernel || event.category == ProfileCategory::library) {
    text << ",\"GB/s\":";
    text.rate(static_cast<double>(event.bytes_read + event.bytes_written) / ns) << ",\"GFLOP/s\":";
    text.rate(event.flops / ns);
  }
  text << "}";
}

std::string about(const Profile& profile) {
  return "{\"dropped_events\":" + std::to_string(profile.dropped) +
         ",\"duration_ns\":" + std::to_string(profile.duration_ns) + "}";
}

}  // namespace

std::string trace_line_about(const Profile& profile) {
  return "{\"ph\":\"M\",\"pid\":1,\"name\":\"recording\",\"args\":" + about(profile) + "}";
}

void append_trace_lines(std::string& to, const Profile& profile, size_t first_thread) {
  Appending text(to);
  for (size_t i = first_thread; i < profile.threads.size(); ++i) {
    text << ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" << static_cast<int64_t>(i)
         << ",\"name\":\"thread_name\",\"args\":{\"name\":" << json_string(profile.threads[i]) << "}}";
  }
  for (const ProfileEvent& event : profile.events) {
    text << ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":" << int64_t{event.thread}
         << ",\"name\":" << json_string(event.name) << ",\"cat\":" << json_string(to_string(event.category))
         << ",\"ts\":";
    text.microseconds(event.start_ns) << ",\"dur\":";
    text.microseconds(event.end_ns - event.start_ns) << ",\"args\":";
    append_arguments(text, event);
    text << "}";
  }
}

std::string Profile::to_chrome_trace() const {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":" + about(*this) +
                     ",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
                     "\"args\":{\"name\":\"tokamak\"}}";
  append_trace_lines(text, *this, 0);
  return text + "\n]}\n";
}

}  // namespace tokamak
