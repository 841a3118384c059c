#include "runtime/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/futex.h"
#include "runtime/machine.h"
#include "runtime/profiler.h"
#include "runtime/worker_cores.h"
#include "support/forking.h"
#include "support/log.h"
#include "tokamak/errors.h"

namespace tokamak {

namespace {

constexpr int kRunSlots = 16;  // runs that workers can help at once; further ones are done by their callers
constexpr int kChunksPerThread =
    16;                         // enough that a core lost to another process costs a small part of the run
constexpr int kMaxRanges = 64;  // of chunks; of more threads, some begin with the same
constexpr int kWakeAtOnce = 4;  // the woken wake others, so that a run on many threads starts quickly
constexpr int64_t kSpinFirst = 30'000, kSpinLeast = 30'000, kSpinMost = 200'000;  // ns before a worker sleeps
constexpr int64_t kCallerSpin =
    200'000;  // ns before a caller sleeps: a chunk may take that long, and so may waking up

/// What the first run pays for threads (ns): for having any, and for each.
constexpr double kStartAny = 80'000, kStartOne = 20'000;

constexpr int64_t kLongRun = 1'000'000;  // ns in which the system may have moved threads to other cores

constexpr int kUnknown = -2;  // neither a core nor WorkerCores::kNoCore

thread_local bool this_thread_inside_run = false;
thread_local bool this_thread_is_worker = false;

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

/// Spins until done() or until `limit_ns` have passed; returns done().
template <class Done>
bool spin_until(int64_t limit_ns, Done done) {
  const int64_t deadline = now_ns() + limit_ns;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      spin_pause();
    }
  } while (now_ns() < deadline);
  return done();
}

std::optional<int> parse_thread_count(std::string_view text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (threads < 1 || threads > kMaxThreads) return std::nullopt;
  return threads;
}

}  // namespace

int default_num_threads() {
  if (const char* text = std::getenv("TOKAMAK_NUM_THREADS"); text != nullptr && *text != '\0') {
    if (const auto threads = parse_thread_count(text)) return *threads;
    throw UserError("TOKAMAK_NUM_THREADS is '" + std::string(text) + "', which is no number from 1 to " +
                    std::to_string(kMaxThreads));
  }
  // OpenMP allows one number per level of nesting; only the first concerns us. A malformed value is OpenMP's
  // to report.
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text != nullptr) {
    const std::string_view levels = text;
    if (const auto threads = parse_thread_count(levels.substr(0, levels.find(',')))) return *threads;
  }
  return std::min(usable_cpus(), kMaxThreads);
}

/// A run that workers can help. Slots are reused and never freed, so that a worker may look at one at any
/// time.
///
/// The chunks are shared out beforehand: every thread has a range of its own, which it goes through in order,
/// and helps with the far ends of others' when that is used up. So what a thread reads lies together, a
/// thread that does not come is not missed, and the next run over the same arrays finds in each core's caches
/// what that core left there.
///
/// `state` counts the chunks that nobody has told to be finished, the threads inside among them, and above
/// that the seats left for further threads. A thread joins by taking a seat while something is unfinished,
/// and counts as unfinished itself until it leaves: the run cannot end before, so it may read the other
/// fields. A thread that was put off its core before it joined has no part in the run, and nobody waits for
/// it.
struct alignas(128) ThreadPool::Run {
  /// What is left of a range: chunks [next, end), in one word, so that both ends can be taken from. `next` is
  /// in the lower half.
  struct alignas(64) Range {
    std::atomic<uint64_t> word = 0;

    static constexpr uint64_t kOneAtEnd = uint64_t{1} << 32;
    static uint64_t next_in(uint64_t word) { return word % kOneAtEnd; }
    static uint64_t end_in(uint64_t word) { return word / kOneAtEnd; }
    static bool is_empty(uint64_t word) { return next_in(word) == end_in(word); }

    bool is_empty() const { return is_empty(word.load(std::memory_order_relaxed)); }
    void fill(int64_t next, int64_t end) {
      word.store(static_cast<uint64_t>(end) * kOneAtEnd + static_cast<uint64_t>(next),
                 std::memory_order_relaxed);
    }
    std::optional<int64_t> take(bool at_end) {
      uint64_t seen = word.load(std::memory_order_relaxed);
      while (!is_empty(seen)) {
        const uint64_t left = at_end ? seen - kOneAtEnd : seen + 1;
        if (word.compare_exchange_weak(seen, left, std::memory_order_relaxed))
          return static_cast<int64_t>(at_end ? end_in(left) : next_in(seen));
      }
      return std::nullopt;
    }
  };

  std::atomic<uint32_t> state = 0;          ///< the caller sleeps on it
  std::atomic<bool> caller_sleeps = false;  ///< or is about to
  std::atomic<bool> taken = false;
  const Body* body = nullptr;
  int64_t tasks = 0;
  int64_t chunk_tasks = 0;
  int64_t chunks = 0;
  int threads = 0;
  std::atomic<int> ranges = 0;
  std::string_view name;  ///< of what is run, for the profiler; empty when it is off
  uint32_t audience = 0;  ///< of the caller, for the profiler
  std::atomic<bool> failed = false;
  std::exception_ptr error;  ///< of whoever failed first; the caller may read it when all is finished
  std::array<Range, kMaxRanges> range;

  static constexpr uint32_t kOneSeat = uint32_t{1} << 16;
  static_assert(kMaxThreads * (kChunksPerThread + 1) < kOneSeat);
  static uint32_t unfinished_in(uint32_t state) { return state % kOneSeat; }
  static uint32_t seats_in(uint32_t state) { return state / kOneSeat; }

  /// Opens the run to workers. The caller has the first seat and the first range, the longest where they
  /// differ: it is here already.
  void open(const Body& with_body, int64_t all_tasks, int64_t grain, int most_threads) {
    const int64_t grains = (all_tasks - 1) / grain + 1;
    const int64_t grains_per_chunk = (grains - 1) / (int64_t{most_threads} * kChunksPerThread) + 1;
    body = &with_body;
    tasks = all_tasks;
    chunk_tasks = grain * grains_per_chunk;
    chunks = (grains - 1) / grains_per_chunk + 1;
    threads = most_threads;
    name = profiler::enabled() ? profiler::innermost_name() : std::string_view{};
    audience = profiler::audience();
    failed.store(false, std::memory_order_relaxed);
    error = nullptr;  // in the child of a fork, that of a run whose caller is not there
    const int count = std::min(most_threads, kMaxRanges);
    const auto first_of = [&](int i) { return (chunks * i + count - 1) / count; };
    for (int i = 0; i < count; ++i) range[static_cast<size_t>(i)].fill(first_of(i), first_of(i + 1));
    ranges.store(count, std::memory_order_relaxed);
    state.store(static_cast<uint32_t>(threads - 1) * kOneSeat + static_cast<uint32_t>(chunks),
                std::memory_order_release);
  }

  bool has_chunks() const {
    const int count = ranges.load(std::memory_order_relaxed);
    return std::any_of(range.begin(), range.begin() + count,
                       [](const Range& one) { return !one.is_empty(); });
  }

  struct Joined {
    int worker;
    int64_t useful;  ///< how many more threads could join
  };

  /// Takes a seat, if there is one and seems to be something left to do.
  std::optional<Joined> join() {
    uint32_t seen = state.load(std::memory_order_relaxed);
    while (unfinished_in(seen) != 0 && seats_in(seen) != 0 && has_chunks()) {
      if (state.compare_exchange_weak(seen, seen - kOneSeat + 1, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        const uint32_t left = std::min(unfinished_in(seen), seats_in(seen));
        return Joined{.worker = threads - static_cast<int>(seats_in(seen)), .useful = int64_t{left} - 1};
      }
    }
    return std::nullopt;
  }

  /// The next chunk of a thread that is inside: of its own range, else the last one of somebody else's. What
  /// is empty stays so.
  std::optional<int64_t> next_chunk(int home) {
    const int count = ranges.load(std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      if (const auto chunk = range[static_cast<size_t>((home + i) % count)].take(i != 0)) return chunk;
    }
    return std::nullopt;
  }

  void do_chunk(int64_t chunk, int worker) {
    if (failed.load(std::memory_order_relaxed)) return;
    const int64_t begin = chunk * chunk_tasks;
    try {
      (*body)(begin, chunk + 1 == chunks ? tasks : begin + chunk_tasks, worker);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }

  /// Tells that so many are finished. Sequentially consistent with wait(): either the caller sees that
  /// nothing is left, or its sleep is seen here.
  void finish(int64_t count) {
    const uint32_t before = state.fetch_sub(static_cast<uint32_t>(count));
    if (unfinished_in(before) == count && caller_sleeps.load()) futex_wake(state, 1);
  }

  /// Until what others have begun is finished.
  void wait() {
    const auto finished = [&] { return unfinished_in(state.load(std::memory_order_acquire)) == 0; };
    if (finished() || spin_until(kCallerSpin, finished)) return;
    caller_sleeps.store(true);
    for (uint32_t seen = state.load(); unfinished_in(seen) != 0; seen = state.load()) futex_wait(state, seen);
    caller_sleeps.store(false, std::memory_order_relaxed);
  }
};

struct ThreadPool::State {
  std::array<Run, kRunSlots> runs;
  alignas(128) std::atomic<uint32_t> epoch =
      0;  ///< moves with every run and every change of size; workers sleep on it
  std::atomic<int> sleepers = 0;
  std::atomic<uint32_t> resized = 0;  ///< moves with limit_; workers beyond the limit sleep on it
  std::atomic<bool> stopping = false;
  std::atomic<int> kept_off = kUnknown;  ///< the core that no worker is to be woken on
  std::atomic<double> cost_alone = 0;    ///< of the runs that might have used workers, before there were any
  const WorkerCores worker_cores;
  int cpus = 1;
  std::mutex mutex;  ///< guards the fields below, and starting and stopping
  std::vector<pthread_t> threads;
};

/// Stops the workers before the code they run can be unmapped or the state it uses destroyed, and keeps the
/// pool whole across fork: the child begins with no workers and no runs.
struct PoolLifetime {
  explicit PoolLifetime(ThreadPool* created) {
    pool = created;
    act_while_forking({.before = [](void*) { pool->state_->mutex.lock(); },
                       .in_parent = [](void*) { pool->state_->mutex.unlock(); },
                       .in_child =
                           [](void*) {
                             pool->restart_after_fork();
                             pool->state_->mutex.unlock();
                           }},
                      LockKind::runtime);
  }
  ~PoolLifetime() { pool->stop(); }

  static inline ThreadPool* pool = nullptr;
};

ThreadPool& ThreadPool::instance() {
  static ThreadPool* pool = new ThreadPool(default_num_threads());
  static PoolLifetime lifetime(pool);
  return *pool;
}

ThreadPool::ThreadPool(int threads) : limit_(threads), state_(new State) {
  state_->cpus = usable_cpus();
  state_->threads.reserve(kMaxThreads);
}

bool ThreadPool::inside_run() { return this_thread_inside_run; }

/// When what was done without them, this run included, takes as long as starting them: so threads that a
/// process needs once cost it no more than they save, and one that needs them again does not wait long.
bool ThreadPool::are_workers_worth_starting(int threads, double cost) {
  const double alone = state_->cost_alone.load(std::memory_order_relaxed) + cost;
  state_->cost_alone.store(alone, std::memory_order_relaxed);
  return alone > kStartAny + kStartOne * (threads - 1);
}

void ThreadPool::run_chunks(int64_t tasks, int64_t grain, Body body, int most_workers, double cost) {
  const int threads = std::min(num_threads(), most_workers);
  bool alone = threads <= 1 || this_thread_inside_run;
  if (!alone && started_.load(std::memory_order_relaxed) < threads) {
    if (are_workers_worth_starting(threads, cost)) {
      start_workers(threads);
    } else {
      alone = started_.load(std::memory_order_relaxed) == 1;
    }
  }
  Run* run = alone ? nullptr : take_run_slot();
  if (run == nullptr) {
    body(0, tasks, 0);
    return;
  }
  run->open(body, tasks, std::max<int64_t>(grain, 1), threads);
  keep_workers_off_this_core();
  state_->epoch.fetch_add(1);
  wake_workers(std::min<int64_t>(run->chunks, threads) - 1);

  this_thread_inside_run = true;
  int64_t done = 0;
  for (; const auto chunk = run->next_chunk(0); ++done) run->do_chunk(*chunk, 0);
  this_thread_inside_run = false;
  run->finish(done);
  run->wait();
  const std::exception_ptr error = std::exchange(run->error, nullptr);
  run->taken.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

ThreadPool::Run* ThreadPool::take_run_slot() {
  for (Run& run : state_->runs) {
    if (!run.taken.load(std::memory_order_relaxed) && !run.taken.exchange(true, std::memory_order_acquire)) {
      return &run;
    }
  }
  return nullptr;
}

/// A call to the system where the caller has changed cores since the last time, else a few nanoseconds.
void ThreadPool::keep_workers_off_this_core() {
  const bool all_are_needed = num_threads() > state_->cpus;
  const int core = all_are_needed ? WorkerCores::kNoCore : WorkerCores::current_core();
  if (core == state_->kept_off.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return;
  state_->worker_cores.keep_off(core, state_->threads);
  state_->kept_off.store(core, std::memory_order_relaxed);
}

/// Where a worker was woken matters no longer, and the core it was to leave free may be idle by now.
void ThreadPool::leave_cores_to_the_system() {
  state_->worker_cores.allow_all();
  state_->kept_off.store(kUnknown, std::memory_order_relaxed);
}

void ThreadPool::wake_workers(int64_t wanted) {
  const int64_t asleep = state_->sleepers.load();
  const int count = static_cast<int>(std::min<int64_t>({wanted, asleep, kWakeAtOnce}));
  if (count > 0) futex_wake(state_->epoch, count);
}

void ThreadPool::start_workers(int threads) {
  std::unique_lock lock(state_->mutex);
  if (state_->stopping.load()) return;
  int failure = 0;
  // Workers take no signals: a handler (Python's, for one) expects to run on a thread of its own program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Start {
    ThreadPool* pool;
    int thread;
  };
  const auto work = [](void* argument) -> void* {
    const std::unique_ptr<Start> own(static_cast<Start*>(argument));
    own->pool->worker_main(own->thread);
    return nullptr;
  };
  while (started_.load() < threads) {
    auto* start = new (std::nothrow) Start{this, started_.load()};
    pthread_t thread;
    const int error = start == nullptr ? ENOMEM : pthread_create(&thread, nullptr, work, start);
    if (error != 0) {
      delete start;
      limit_.store(started_.load());
      failure = error;
      break;
    }
    state_->threads.push_back(thread);
    state_->kept_off.store(kUnknown);  // of this one
    started_.fetch_add(1);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  lock.unlock();
  if (failure != 0) {
    logging::log(logging::Channel::memory, "only " + std::to_string(num_threads()) +
                                               " threads could be started: " + std::strerror(failure));
  }
}

void ThreadPool::worker_main(int thread) {
  pthread_setname_np(pthread_self(), ("tokamak-" + std::to_string(thread)).c_str());
  this_thread_inside_run = true;
  this_thread_is_worker = true;
  State& state = *state_;
  int64_t spin_ns = kSpinFirst;
  while (!state.stopping.load()) {
    // What changes after these loads moves the words, so that the sleeps below end at once.
    const uint32_t seen = state.epoch.load();
    const uint32_t resized = state.resized.load();
    if (thread >= limit_.load()) {
      futex_wait(state.resized, resized);
      continue;
    }
    if (work_somewhere(thread) || spin_for_work(seen, spin_ns)) continue;
    state.sleepers.fetch_add(1);
    if (state.epoch.load() == seen && !state.stopping.load()) futex_wait(state.epoch, seen);
    state.sleepers.fetch_sub(1);
  }
}

/// Helps every run that has chunks and seats left; whether there was any.
bool ThreadPool::work_somewhere(int thread) {
  bool worked = false;
  for (int i = 0; i < kRunSlots; ++i) {
    Run& run = state_->runs[(i + thread - 1) % kRunSlots];  // threads begin at different runs
    const auto joined = run.join();
    if (!joined) continue;
    worked = true;
    wake_workers(joined->useful);
    std::optional<ProfileScope> scope;
    profiler::set_audience(run.audience);
    if (!run.name.empty()) scope.emplace(ProfileCategory::worker, run.name);
    const int64_t start = now_ns();
    bool is_long = false;
    int64_t done = 1;  // itself
    for (; !state_->stopping.load(std::memory_order_relaxed); ++done) {
      const auto chunk = run.next_chunk(thread);
      if (!chunk) break;
      run.do_chunk(*chunk, joined->worker);
      if (!is_long && now_ns() - start > kLongRun) {
        is_long = true;
        leave_cores_to_the_system();
      }
    }
    scope.reset();  // while the caller, who has the name, still waits
    run.finish(done);
  }
  return worked;
}

/// Spins for a while in case the next run follows closely; longer where that has lately been so.
bool ThreadPool::spin_for_work(uint32_t seen, int64_t& spin_ns) const {
  if (limit_.load(std::memory_order_relaxed) > state_->cpus) return false;  // others need this core
  const bool found =
      spin_until(spin_ns, [&] { return state_->epoch.load(std::memory_order_acquire) != seen; });
  spin_ns = found ? std::min(spin_ns * 2, kSpinMost) : std::max(spin_ns / 2, kSpinLeast);
  return found;
}

void ThreadPool::set_num_threads(int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    throw UserError("the number of threads must be from 1 to " + std::to_string(kMaxThreads) + ", not " +
                    std::to_string(threads));
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->stopping.load()) return;
  limit_.store(threads);
  state_->resized.fetch_add(1);
  state_->epoch.fetch_add(1);
  futex_wake(state_->resized, INT_MAX);
  futex_wake(state_->epoch, INT_MAX);  // workers beyond the limit must not take a wake meant for others
}

void ThreadPool::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping.store(true);
  limit_.store(1);
  state_->resized.fetch_add(1);
  state_->epoch.fetch_add(1);
  futex_wake(state_->resized, INT_MAX);
  futex_wake(state_->epoch, INT_MAX);
  if (this_thread_is_worker) return;  // exit() inside a chunk: it cannot wait for itself
  // A worker is at most one chunk away from its end. A chunk that never ends must not keep the process from
  // ending.
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 2;
  for (pthread_t thread : state_->threads) pthread_timedjoin_np(thread, nullptr, &deadline);
  state_->threads.clear();
}

/// In the child of a fork, where the calling thread is the only one.
void ThreadPool::restart_after_fork() {
  for (Run& run : state_->runs) {
    run.state.store(0);
    run.caller_sleeps.store(false);
    run.taken.store(false);
  }
  state_->sleepers.store(0);
  state_->kept_off.store(kUnknown);
  state_->threads.clear();
  state_->cost_alone.store(0);
  started_.store(1);
}

}  // namespace tokamak
