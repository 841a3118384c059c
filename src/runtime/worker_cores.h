#pragma once

// Keeps workers off the core of the thread that they help.
//
// Linux wakes a thread on its own last core, or on that of whoever wakes it, unless another one looks idle.
// In a virtual machine a sleeping core does not: its host has put it aside, and the guest takes that for a
// core that others use. A worker that is woken on its caller's core waits behind the caller, for
// milliseconds, while the other cores sleep.

#include <pthread.h>
#include <sched.h>

#include <vector>

namespace tokamak {

class WorkerCores {
 public:
  /// Workers may use the cores that the calling thread may use now.
  WorkerCores();

  static constexpr int kNoCore = -1;

  /// The core the calling thread is on; kNoCore where that is unknown.
  static int current_core() { return sched_getcpu(); }

  /// Lets the workers use all cores but this one, or all there are if that would leave none.
  void keep_off(int core, const std::vector<pthread_t>& workers) const;

  /// Lets the calling thread, a worker, use all cores again.
  void allow_all() const;

 private:
  cpu_set_t allowed_;
  bool known_;  ///< false on machines with more cores than a cpu_set_t has
};

}  // namespace tokamak
