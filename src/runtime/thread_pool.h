#pragma once

// One pool of threads for the whole process.
//
// A run is cut into chunks. Every thread that takes part, the caller as well as the workers, begins with
// those of a range of its own, the same one in every run, and helps with the others' when it is through. The
// caller waits only for chunks that a worker has begun, never for a worker that has not started, so a run
// costs no more than doing it alone when the other cores are busy. Runs from several threads share the
// workers; each advances by its own caller at least. A run inside a chunk of another run is done by that
// thread alone.

#include <atomic>
#include <cstdint>

#include "support/function_ref.h"

namespace tokamak {

inline constexpr int kMaxThreads = 1024;

/// The threads to use unless told otherwise: TOKAMAK_NUM_THREADS, else OMP_NUM_THREADS, else usable_cpus().
/// Throws UserError when TOKAMAK_NUM_THREADS is no number from 1 to kMaxThreads.
int default_num_threads();

class ThreadPool {
 public:
  /// Does tasks [begin, end) as worker `worker`.
  using Body = FunctionRef<void(int64_t begin, int64_t end, int worker)>;

  /// The pool of this process. Lives until the process ends; its threads start with the first run that is
  /// worth it.
  static ThreadPool& instance();

  /// Calls body(begin, end, worker) on ranges that cover [0, tasks) once, and returns when all are done.
  ///
  /// Every `begin` is a multiple of `grain`, and so is every `end` but the last: `grain` is the least work
  /// worth a chunk (some microseconds). How many grains a chunk has depends on the number of threads, so
  /// results that must not are computed per grain. Worker numbers are below num_threads() as it was when the
  /// run began and differ between threads of one run: they may index into scratch that belongs to the run.
  /// The caller is 0.
  ///
  /// What a body throws, for want of memory, ends the run: chunks that nobody has begun are left out, and
  /// when the others are done it is thrown here.
  ///
  /// `most_workers` lowers the number of threads of this run; with it, worker numbers are below it as well.
  ///
  /// `cost` is about how many nanoseconds it all takes one thread. Runs that are over sooner than a thread is
  /// started are done by the caller alone as long as there are no others, until enough of them have been.
  void run(int64_t tasks, int64_t grain, Body body, int most_workers = kMaxThreads,
           double cost = kUnknownCost) {
    if (tasks <= grain) {
      if (tasks > 0) body(0, tasks, 0);
      return;
    }
    run_chunks(tasks, grain, body, most_workers, cost);
  }
  static constexpr double kUnknownCost = 1e18;

  int num_threads() const { return limit_.load(std::memory_order_relaxed); }

  /// From 1 to kMaxThreads, more than there are cores if need be; UserError otherwise. Runs that go on are
  /// not disturbed.
  void set_num_threads(int threads);

  /// Whether this thread is inside a chunk of a run.
  static bool inside_run();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Run;
  struct State;
  friend struct PoolLifetime;

  explicit ThreadPool(int threads);
  ~ThreadPool() = delete;

  void run_chunks(int64_t tasks, int64_t grain, Body body, int most_workers, double cost);
  bool are_workers_worth_starting(int threads, double cost);
  Run* take_run_slot();
  void keep_workers_off_this_core();
  void leave_cores_to_the_system();
  void wake_workers(int64_t wanted);
  void start_workers(int threads);
  void worker_main(int thread);
  bool work_somewhere(int thread);
  bool spin_for_work(uint32_t seen, int64_t& spin_ns) const;
  void stop();
  void restart_after_fork();

  std::atomic<int> limit_;        ///< threads that may take part, the caller included
  std::atomic<int> started_ = 1;  ///< threads there are, the caller included
  State* state_;
};

}  // namespace tokamak
