#include "runtime/profiler.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include "support/forking.h"

namespace tokamak {

namespace profiler {

namespace detail {
constinit std::atomic<int> open_sessions = 0;
}

namespace {

constexpr size_t kMostEventsPerThread = size_t{1} << 20;

/// A list that never moves what it has, and keeps some memory when it is cleared: recording must cost little.
class EventList {
 public:
  size_t size() const { return size_; }
  const ProfileEvent& operator[](size_t i) const { return (*chunks_[i / kChunk])[i % kChunk]; }

  /// A place at the end, with what an earlier event may have left there.
  ProfileEvent& add() {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Chunk>());
    ProfileEvent& place = (*chunks_[size_ / kChunk])[size_ % kChunk];
    ++size_;
    return place;
  }

  void clear() {
    size_ = 0;
    if (chunks_.size() > kKept) chunks_.resize(kKept);
  }

 private:
  static constexpr size_t kChunk = 512, kKept = 8;
  using Chunk = std::array<ProfileEvent, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  size_t size_ = 0;
};

/// Events of one thread. Its lock is contended only by snapshots.
struct ThreadEvents {
  std::mutex mutex;
  EventList events;  ///< by end
  int64_t dropped = 0;
  std::string name;
};

/// All threads that ever recorded. Kept after a thread has ended, and never destroyed.
struct Recorder {
  std::mutex mutex;
  std::vector<std::shared_ptr<ThreadEvents>> threads;
};

/// Locks are held across a fork, so that the child finds them free.
void lock_for_fork(void* of) {
  auto* recorder = static_cast<Recorder*>(of);
  recorder->mutex.lock();
  for (const auto& thread : recorder->threads) thread->mutex.lock();
}
void unlock_after_fork(void* of) {
  auto* recorder = static_cast<Recorder*>(of);
  for (const auto& thread : recorder->threads) thread->mutex.unlock();
  recorder->mutex.unlock();
}

Recorder& recorder() {
  static Recorder* recorder = [] {
    auto* made = new Recorder;
    act_while_forking(
        {.of = made, .before = lock_for_fork, .in_parent = unlock_after_fork, .in_child = unlock_after_fork},
        LockKind::runtime);
    return made;
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

thread_local const ProfileScope* innermost = nullptr;
thread_local uint32_t audience_of_this_thread = 0;
std::atomic<uint32_t> next_audience = 1;

/// The events for an audience behind the cursor that ended since `start_ns`, shifted so that it is 0. Moves
/// the cursor.
Profile events_since(int64_t start_ns, uint32_t audience, ProfileSession::Cursor& cursor) {
  Profile profile;
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  profile.duration_ns = now_ns() - start_ns;
  cursor.resize(all.threads.size());
  for (size_t i = 0; i < all.threads.size(); ++i) {
    ThreadEvents& thread = *all.threads[i];
    const std::lock_guard thread_lock(thread.mutex);
    profile.threads.push_back(thread.name);
    profile.dropped += thread.dropped;
    for (; cursor[i] < thread.events.size(); ++cursor[i]) {
      const ProfileEvent& event = thread.events[cursor[i]];
      if (event.end_ns < start_ns || event.audience != audience) continue;
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
    thread->events.clear();
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

void record(std::string_view name, const ProfileEvent& event) noexcept {
  if (!enabled()) return;
  try {
    ThreadEvents& mine = events_of_this_thread();
    const std::lock_guard lock(mine.mutex);
    if (!enabled()) return;
    if (mine.events.size() >= kMostEventsPerThread) {
      ++mine.dropped;
      return;
    }
    ProfileEvent& place = mine.events.add();
    place.name.assign(name);
    place.category = event.category;
    place.start_ns = event.start_ns;
    place.end_ns = event.end_ns;
    place.bytes_read = event.bytes_read;
    place.bytes_written = event.bytes_written;
    place.flops = event.flops;
    place.audience = audience_of_this_thread;
  } catch (...) {  // no memory: profiling must not break what it watches
  }
}

uint32_t audience() noexcept { return audience_of_this_thread; }
void set_audience(uint32_t audience) noexcept { audience_of_this_thread = audience; }

std::string_view innermost_name() noexcept {
  return innermost == nullptr ? std::string_view{} : innermost->name_;
}

}  // namespace profiler

namespace {
constexpr std::array<std::string_view, 6> kCategoryNames = {"kernel",  "library",    "call",
                                                            "compile", "allocation", "worker"};
}

std::string_view to_string(ProfileCategory category) { return kCategoryNames[static_cast<size_t>(category)]; }

ProfileCategory category_named(std::string_view name) {
  const auto found = std::find(kCategoryNames.begin(), kCategoryNames.end(), name);
  return found == kCategoryNames.end() ? ProfileCategory::kernel
                                       : static_cast<ProfileCategory>(found - kCategoryNames.begin());
}

ProfileSession::ProfileSession(Kind kind) {
  profiler::detail::open_sessions.fetch_add(1);
  if (kind == Kind::aside) {
    audience_ = profiler::next_audience.fetch_add(1);
    audience_before_ = profiler::audience();
    profiler::set_audience(audience_);
  }
  start_ns_ = profiler::now_ns();
}

ProfileSession::~ProfileSession() { close(); }

void ProfileSession::close() {
  if (!open_) return;
  open_ = false;
  if (audience_ != 0) profiler::set_audience(audience_before_);
  profiler::close_session();
}

Profile ProfileSession::snapshot() const {
  Cursor from_the_start;
  return read(from_the_start);
}

Profile ProfileSession::read(Cursor& cursor) const {
  return open_ ? profiler::events_since(start_ns_, audience_, cursor) : Profile{};
}

Profile ProfileSession::finish() {
  Profile profile = snapshot();
  close();
  return profile;
}

void ProfileScope::begin(ProfileCategory category, std::string_view name) noexcept {
  on_ = true;
  category_ = category;
  name_ = name;
  outer_ = std::exchange(profiler::innermost, this);
  start_ns_ = profiler::now_ns();
}

void ProfileScope::end() noexcept {
  const int64_t end_ns = profiler::now_ns();
  profiler::innermost = outer_;
  profiler::record(name_, {.category = category_,
                           .start_ns = start_ns_,
                           .end_ns = end_ns,
                           .bytes_read = bytes_read_,
                           .bytes_written = bytes_written_,
                           .flops = flops_});
}

}  // namespace tokamak
