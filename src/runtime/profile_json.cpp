// Profiles in the format of traces that Chrome and Perfetto read.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/profiler.h"

namespace tokamak {

namespace {

/// How many bytes of valid UTF-8 begin here; 0 if none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90, too_large = first == 0xf4 && second > 0x8f;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto character = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    if (character == '"' || character == '\\') {
      (quoted += '\\') += text[i];
    } else if (character < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", character);
      quoted += escape;
    } else if (length == 0) {
      quoted += "\\ufffd";
    } else {
      quoted += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return quoted + '"';
}

/// Exact for any count of nanoseconds, in the microseconds that the format wants.
std::string microseconds(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "",
                static_cast<long long>(std::abs(ns) / 1000), static_cast<long long>(std::abs(ns) % 1000));
  return text;
}

std::string event_arguments(const ProfileEvent& event) {
  std::string text = "{\"bytes_read\":" + std::to_string(event.bytes_read) +
                     ",\"bytes_written\":" + std::to_string(event.bytes_written);
  char rates[128];
  const double ns = static_cast<double>(std::max<int64_t>(event.end_ns - event.start_ns, 1));
  std::snprintf(rates, sizeof rates, ",\"flops\":%.17g,\"GB/s\":%.3f,\"GFLOP/s\":%.3f}", event.flops,
                static_cast<double>(event.bytes_read + event.bytes_written) / ns, event.flops / ns);
  return text + rates;
}

}  // namespace

std::vector<std::string> trace_lines(const Profile& profile, size_t first_thread) {
  std::vector<std::string> lines;
  for (size_t i = first_thread; i < profile.threads.size(); ++i) {
    lines.push_back("{\"ph\":\"M\",\"pid\":1,\"tid\":" + std::to_string(i) +
                    ",\"name\":\"thread_name\",\"args\":{\"name\":" + json_string(profile.threads[i]) + "}}");
  }
  for (const ProfileEvent& event : profile.events) {
    lines.push_back("{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(event.thread) + ",\"name\":" +
                    json_string(event.name) + ",\"cat\":" + json_string(to_string(event.category)) +
                    ",\"ts\":" + microseconds(event.start_ns) +
                    ",\"dur\":" + microseconds(event.end_ns - event.start_ns) +
                    ",\"args\":" + event_arguments(event) + "}");
  }
  return lines;
}

std::string Profile::to_chrome_trace() const {
  std::string text =
      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":" + std::to_string(dropped) +
      ",\"duration_ns\":" + std::to_string(duration_ns) +
      "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
      "\"args\":{\"name\":\"tokamak\"}}";
  for (const std::string& line : trace_lines(*this, 0)) text += ",\n" + line;
  return text + "\n]}\n";
}

}  // namespace tokamak
