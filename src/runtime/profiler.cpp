#include "runtime/profiler.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>

namespace tokamak {

namespace profiler {

namespace detail {
constinit std::atomic<int> open_sessions = 0;
}

namespace {

constexpr size_t kMostEventsPerThread = size_t{1} << 20;

/// Events of one thread. Its lock is contended only by snapshots.
struct ThreadEvents {
  std::mutex mutex;
  std::vector<ProfileEvent> events;  ///< by end
  int64_t dropped = 0;
  std::string name;
};

/// All threads that ever recorded. Kept after a thread has ended, and never destroyed.
struct Recorder {
  std::mutex mutex;
  std::vector<std::shared_ptr<ThreadEvents>> threads;
};

Recorder& recorder();

/// Locks are held across a fork, so that the child finds them free.
void lock_for_fork() {
  recorder().mutex.lock();
  for (const auto& thread : recorder().threads) thread->mutex.lock();
}
void unlock_after_fork() {
  for (const auto& thread : recorder().threads) thread->mutex.unlock();
  recorder().mutex.unlock();
}

Recorder& recorder() {
  static Recorder* recorder = [] {
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
    return new Recorder;
  }();
  return *recorder;
}

ThreadEvents& events_of_this_thread() {
  thread_local const std::shared_ptr<ThreadEvents> mine = [] {
    auto created = std::make_shared<ThreadEvents>();
    char name[32] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    created->name = name;
    Recorder& all = recorder();
    const std::lock_guard lock(all.mutex);
    all.threads.push_back(created);
    return created;
  }();
  return *mine;
}

/// The events that ended since `start_ns`, shifted so that it is 0.
Profile events_since(int64_t start_ns) {
  Profile profile;
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  profile.duration_ns = now_ns() - start_ns;
  for (size_t i = 0; i < all.threads.size(); ++i) {
    ThreadEvents& thread = *all.threads[i];
    const std::lock_guard thread_lock(thread.mutex);
    profile.threads.push_back(thread.name);
    profile.dropped += thread.dropped;
    for (const ProfileEvent& event : thread.events) {
      if (event.end_ns < start_ns) continue;
      ProfileEvent& copy = profile.events.emplace_back(event);
      copy.thread = static_cast<int>(i);
      copy.start_ns -= start_ns;
      copy.end_ns -= start_ns;
    }
  }
  std::stable_sort(profile.events.begin(), profile.events.end(),
                   [](const ProfileEvent& a, const ProfileEvent& b) { return a.start_ns < b.start_ns; });
  return profile;
}

/// Closes one session; the last one leaves nothing behind.
void close_session() {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  if (detail::open_sessions.fetch_sub(1) != 1) return;
  for (const auto& thread : all.threads) {
    const std::lock_guard thread_lock(thread->mutex);
    std::vector<ProfileEvent>().swap(thread->events);
    thread->dropped = 0;
  }
  // Threads that have ended are known by nobody else any more.
  std::erase_if(all.threads, [](const auto& thread) { return thread.use_count() == 1; });
}

}  // namespace

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

void record(ProfileEvent event) noexcept {
  if (!enabled()) return;
  try {
    ThreadEvents& mine = events_of_this_thread();
    const std::lock_guard lock(mine.mutex);
    if (!enabled()) return;
    if (mine.events.size() >= kMostEventsPerThread) {
      ++mine.dropped;
    } else {
      mine.events.push_back(std::move(event));
    }
  } catch (...) {  // no memory: profiling must not break what it watches
  }
}

}  // namespace profiler

std::string_view to_string(ProfileCategory category) {
  static constexpr std::array<std::string_view, 4> kNames = {"kernel", "compile", "allocation", "library"};
  return kNames[static_cast<size_t>(category)];
}

ProfileSession::ProfileSession() {
  profiler::detail::open_sessions.fetch_add(1);
  start_ns_ = profiler::now_ns();
}

ProfileSession::~ProfileSession() {
  if (open_) profiler::close_session();
}

Profile ProfileSession::snapshot() const { return open_ ? profiler::events_since(start_ns_) : Profile{}; }

Profile ProfileSession::finish() {
  Profile profile = snapshot();
  if (open_) profiler::close_session();
  open_ = false;
  return profile;
}

void ProfileScope::begin(ProfileCategory category, std::string_view name) noexcept {
  on_ = true;
  category_ = category;
  name_ = name;
  start_ns_ = profiler::now_ns();
}

void ProfileScope::end() noexcept {
  const int64_t end_ns = profiler::now_ns();
  try {
    profiler::record({.name = std::string(name_),
                      .category = category_,
                      .start_ns = start_ns_,
                      .end_ns = end_ns,
                      .bytes_read = bytes_read_,
                      .bytes_written = bytes_written_,
                      .flops = flops_});
  } catch (...) {  // no memory for the name
  }
}

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

std::string Profile::to_chrome_trace() const {
  std::string text =
      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":" + std::to_string(dropped) +
      "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
      "\"args\":{\"name\":\"tokamak\"}}";
  for (size_t i = 0; i < threads.size(); ++i) {
    text += ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" + std::to_string(i) +
            ",\"name\":\"thread_name\",\"args\":{\"name\":" + json_string(threads[i]) + "}}";
  }
  for (const ProfileEvent& event : events) {
    text += ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(event.thread) +
            ",\"name\":" + json_string(event.name) + ",\"cat\":" + json_string(to_string(event.category)) +
            ",\"ts\":" + microseconds(event.start_ns) +
            ",\"dur\":" + microseconds(event.end_ns - event.start_ns) +
            ",\"args\":" + event_arguments(event) + "}";
  }
  return text + "\n]}\n";
}

}  // namespace tokamak
