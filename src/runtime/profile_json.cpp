// Profiles in the format of traces that Chrome and Perfetto read.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/profiler.h"
#include "support/json.h"

namespace tokamak {

namespace {

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

std::string about(const Profile& profile) {
  return "{\"dropped_events\":" + std::to_string(profile.dropped) +
         ",\"duration_ns\":" + std::to_string(profile.duration_ns) + "}";
}

}  // namespace

std::string trace_line_about(const Profile& profile) {
  return "{\"ph\":\"M\",\"pid\":1,\"name\":\"recording\",\"args\":" + about(profile) + "}";
}

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
  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":" + about(*this) +
                     ",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
                     "\"args\":{\"name\":\"tokamak\"}}";
  for (const std::string& line : trace_lines(*this, 0)) text += ",\n" + line;
  return text + "\n]}\n";
}

}  // namespace tokamak
