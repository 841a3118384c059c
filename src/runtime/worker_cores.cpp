#include "runtime/worker_cores.h"

namespace tokamak {

WorkerCores::WorkerCores() : known_(sched_getaffinity(0, sizeof(allowed_), &allowed_) == 0) {}

void WorkerCores::keep_off(int core, const std::vector<pthread_t>& workers) const {
  if (!known_ || core >= CPU_SETSIZE) return;
  cpu_set_t others = allowed_;
  if (core != kNoCore) CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) others = allowed_;
  // Where it is not permitted, workers are woken wherever the system puts them.
  for (pthread_t worker : workers) pthread_setaffinity_np(worker, sizeof(others), &others);
}

void WorkerCores::allow_all() const {
  if (known_) pthread_setaffinity_np(pthread_self(), sizeof(allowed_), &allowed_);
}

}  // namespace tokamak
