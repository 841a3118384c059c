#include "tokamak/memory.h"

#include "runtime/buffer_pool.h"
#include "runtime/thread_pool.h"

namespace tokamak {

MemoryUse memory_stats() {
  const auto stats = BufferPool::instance().stats();
  return {.in_use = stats.in_use,
          .cached = stats.cached,
          .peak = stats.peak,
          .cache_limit = stats.cache_limit,
          .hits = stats.hits,
          .misses = stats.misses};
}

int64_t trim_memory() { return BufferPool::instance().trim(); }

int num_threads() { return ThreadPool::instance().num_threads(); }

void set_num_threads(int count) { ThreadPool::instance().set_num_threads(count); }

}  // namespace tokamak
