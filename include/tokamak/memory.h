#pragma once

#include <cstdint>

#include "tokamak/export.h"

namespace tokamak {

/// What the pool that arrays and arenas come from holds, in bytes but for the counts.
struct TOKAMAK_API MemoryUse {
  int64_t in_use = 0;       ///< held by arrays and running programs
  int64_t cached = 0;       ///< given back, and kept for the next request
  int64_t peak = 0;         ///< the most that was in use at once
  int64_t cache_limit = 0;  ///< how much may be cached
  int64_t hits = 0;         ///< requests that a cached block served
  int64_t misses = 0;       ///< requests that needed fresh memory
};

TOKAMAK_API MemoryUse memory_stats();
/// Gives all cached memory back to the system; returns how much that was.
TOKAMAK_API int64_t trim_memory();

/// Threads that run kernels, the caller included. Starts as what affinity, cgroup limits, TOKAMAK_NUM_THREADS
/// and OMP_NUM_THREADS allow. Results do not depend on it.
TOKAMAK_API int num_threads();
TOKAMAK_API void set_num_threads(int count);

}  // namespace tokamak
