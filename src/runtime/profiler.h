#pragma once

// What ran when, for how long and over how many bytes. Off by default; then a hook costs one relaxed load.
//
//   ProfileSession session;          // records in the whole process until finish()
//   program.run(...);                // its steps: ProfileScope scope(ProfileCategory::kernel, name);
//   Profile profile = session.finish();
//   write_file("trace.json", profile.to_chrome_trace());

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

enum class ProfileCategory : uint8_t {
  kernel,      ///< a step of a program: generated code
  library,     ///< a step whose work is a product or a sort, with what is fused to it
  call,        ///< a program, from its first step to its last
  compile,     ///< tracing, compiling, the stages of that, and the code of each kernel
  allocation,  ///< a block of memory, recycled or new
  worker,      ///< the part of a thread of the pool in a step
};
std::string_view to_string(ProfileCategory category);
/// The category of that name; kernel for a name that is none's.
ProfileCategory category_named(std::string_view name);

struct ProfileEvent {
  std::string name;
  ProfileCategory category = ProfileCategory::kernel;
  int thread = 0;        ///< numbered from 0 in the order in which threads first recorded something
  int64_t start_ns = 0;  ///< since the session began
  int64_t end_ns = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  double flops = 0;
  uint32_t audience = 0;  ///< the sessions that have it: see profiler::audience
};

/// The events of a session, by start.
struct Profile {
  std::vector<ProfileEvent> events;
  std::vector<std::string> threads;  ///< names, by number
  int64_t duration_ns = 0;
  int64_t dropped = 0;  ///< events beyond what a thread keeps

  /// JSON that chrome://tracing and ui.perfetto.dev open.
  std::string to_chrome_trace() const;
};

/// Appends the events of a trace as lines of JSON, each an object behind a comma and the end of the line
/// before: those that name the threads from number `first_thread` on, and those of what happened.
void append_trace_lines(std::string& text, const Profile& profile, size_t first_thread);
/// The line that says how long was recorded, and how many events were not kept: for a trace that is a list of
/// lines, where the last one of these counts.
std::string trace_line_about(const Profile& profile);

namespace profiler {

namespace detail {
extern std::atomic<int> open_sessions;
}

inline bool enabled() { return detail::open_sessions.load(std::memory_order_relaxed) != 0; }

/// The clock of the events: monotonic nanoseconds.
int64_t now_ns();

/// Records an event of the calling thread, its times by now_ns(), if a session is open. `thread` is filled
/// in, and the name is the one given here.
void record(std::string_view name, const ProfileEvent& event) noexcept;

/// Which sessions have what this thread records: 0 are all but those that stand aside, each of which has a
/// number of its own. Threads that work for another take over its audience.
uint32_t audience() noexcept;
void set_audience(uint32_t audience) noexcept;

/// The name of the innermost scope of this thread that is being recorded; empty when there is none.
std::string_view innermost_name() noexcept;

}  // namespace profiler

/// Records from its making to finish() (or its end). Sessions may overlap; each has the events that ended in
/// its time. One that stands aside has what the thread that makes it does until it ends it, and nobody else
/// has that: for measuring what is not part of the program that others watch.
class ProfileSession {
 public:
  enum class Kind : uint8_t { open, aside };
  explicit ProfileSession(Kind kind = Kind::open);
  ~ProfileSession();
  ProfileSession(const ProfileSession&) = delete;
  ProfileSession& operator=(const ProfileSession&) = delete;

  /// What was recorded so far.
  Profile snapshot() const;
  /// Ends the session; a second call gives an empty profile.
  Profile finish();

  /// How far a reader has come, by thread.
  using Cursor = std::vector<size_t>;
  /// What was recorded since the cursor was last moved, and moves it. Threads are all that there are.
  Profile read(Cursor& cursor) const;

 private:
  void close();

  int64_t start_ns_;
  uint32_t audience_ = 0;
  uint32_t audience_before_ = 0;  ///< of the thread
  bool open_ = true;
};

/// Records the time from its making to its end as one event, if profiling is on when it is made.
class ProfileScope {
 public:
  ProfileScope(ProfileCategory category, std::string_view name) noexcept {
    if (profiler::enabled()) [[unlikely]] {
      begin(category, name);
    }
  }
  ~ProfileScope() {
    if (on_) [[unlikely]] {
      end();
    }
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

  /// When it turns out on the way what the work is.
  void rename(std::string_view name) noexcept { name_ = name; }

  /// What the work amounts to, as far as it is known.
  void count(int64_t bytes_read, int64_t bytes_written, double flops = 0) noexcept {
    bytes_read_ = bytes_read;
    bytes_written_ = bytes_written;
    flops_ = flops;
  }

 private:
  friend std::string_view profiler::innermost_name() noexcept;
  void begin(ProfileCategory category, std::string_view name) noexcept;
  void end() noexcept;

  bool on_ = false;
  ProfileCategory category_ = ProfileCategory::kernel;
  std::string_view name_;  ///< the caller keeps it alive
  const ProfileScope* outer_ = nullptr;
  int64_t start_ns_ = 0;
  int64_t bytes_read_ = 0;
  int64_t bytes_written_ = 0;
  double flops_ = 0;
};

}  // namespace tokamak
