#include "runtime/buffer_pool.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/block_store.h"
#include "runtime/futex.h"
#include "runtime/machine.h"
#include "runtime/profiler.h"
#include "runtime/size_classes.h"
#include "runtime/system_memory.h"
#include "support/forking.h"
#include "support/log.h"
#include "support/parts.h"
#include "support/sizes.h"
#include "tokamak/errors.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#endif

namespace tokamak {

using detail::BlockHeader;

namespace {

constexpr int64_t kThreadCacheBytes = int64_t{1} << 20;
constexpr int64_t kUseFlush = int64_t{64}
                              << 10;  // small blocks reach the count of bytes in use in lots of this size

/// What profiles call an allocation.
constexpr std::string_view kRecycled = "recycled memory";
constexpr std::string_view kFromTheSystem = "new memory";

int64_t first_cache_limit() {
  if (!is_enabled(Part::pool)) return 0;
  return std::min(memory_limits().total / 4, int64_t{2} << 30);
}

/// How many free blocks of a small class one thread keeps.
constexpr std::array<uint8_t, kSmallClasses> kThreadCacheCount = [] {
  std::array<uint8_t, kSmallClasses> counts = {};
  for (int i = 0; i < kSmallClasses; ++i) {
    counts[i] = static_cast<uint8_t>(std::clamp<int64_t>((128 << 10) / size_of_class(i), 4, 64));
  }
  return counts;
}();

BlockHeader* hand_out(BlockHeader* block, int64_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(block->data, static_cast<size_t>(block->capacity));
  block->bytes = bytes;
  block->references.store(1, std::memory_order_relaxed);
  return block;
}

void give_back(BlockHeader* block) {
  ASAN_UNPOISON_MEMORY_REGION(block->data, static_cast<size_t>(block->capacity));
  system_free(block->data, block->capacity);
  delete block;
}

}  // namespace

/// Free small blocks of one thread. Its lock is contended only by stats(), trim() and fork.
struct BufferPool::ThreadCache {
  SpinLock lock;
  std::array<BlockHeader*, kSmallClasses> free = {};
  std::array<uint8_t, kSmallClasses> count = {};
  int64_t cached = 0;
  int64_t use = 0;  ///< bytes taken minus bytes returned here, not yet added to State::in_use
  int64_t hits = 0;

  BlockHeader* pop(int size_class) {
    BlockHeader* block = free[size_class];
    if (block == nullptr) return nullptr;
    free[size_class] = block->next;
    --count[size_class];
    cached -= block->capacity;
    return block;
  }

  void push(BlockHeader* block) {
    block->next = free[block->size_class];
    free[block->size_class] = block;
    ++count[block->size_class];
    cached += block->capacity;
  }

  /// Takes out `blocks` of a class, or as many as there are, as a list.
  BlockHeader* pop_list(int size_class, int blocks) {
    BlockHeader* list = nullptr;
    while (blocks-- > 0) {
      BlockHeader* block = pop(size_class);
      if (block == nullptr) break;
      block->next = list;
      list = block;
    }
    return list;
  }
};

/// Locks are taken in the order: registry, a thread's cache, store.
struct BufferPool::State {
  std::mutex registry_mutex;
  std::vector<ThreadCache*> caches;

  std::mutex store_mutex;
  BlockStore store;
  int64_t cache_limit = first_cache_limit();

  std::atomic<int64_t> in_use = 0;
  std::atomic<int64_t> peak = 0;
  std::atomic<int64_t> hits = 0;
  std::atomic<int64_t> misses = 0;
  std::atomic<int64_t> system_allocations = 0;
  std::atomic<int64_t> system_frees = 0;

  void count_use(int64_t bytes) {
    const int64_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t most = peak.load(std::memory_order_relaxed);
    while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }

  /// With the lock of `cache` held.
  void flush_use(ThreadCache& cache) {
    count_use(cache.use);
    cache.use = 0;
  }

  void free_list(BlockHeader* list) {
    while (list != nullptr) {
      BlockHeader* block = list;
      list = list->next;
      give_back(block);
      system_frees.fetch_add(1, std::memory_order_relaxed);
    }
  }

  /// Puts a list into the store; what the limit has no room for goes back to the system, outside the lock.
  void store_list(BlockHeader* list) {
    BlockHeader* excess;
    {
      const std::lock_guard lock(store_mutex);
      put_list(list);
      excess = store.take_oldest_beyond(cache_limit);
    }
    free_list(excess);
  }

  void put_list(BlockHeader* list) {
    while (list != nullptr) {
      BlockHeader* block = list;
      list = list->next;
      store.put(block);
    }
  }

  /// The smallest there is.
  BlockHeader* take_from_store(int size_class, int last_class) {
    const std::lock_guard lock(store_mutex);
    BlockHeader* block = nullptr;
    for (int i = size_class; block == nullptr && i <= std::min(last_class, kSizeClasses - 1); ++i)
      block = store.take(i);
    return block;
  }

  /// With the registry locked and nobody else using `cache`.
  void dissolve(ThreadCache* cache, bool store_is_locked) {
    count_use(cache->use);
    hits.fetch_add(cache->hits, std::memory_order_relaxed);
    for (int i = 0; i < kSmallClasses; ++i) {
      BlockHeader* list = cache->pop_list(i, cache->count[i]);
      store_is_locked ? put_list(list) : store_list(list);
    }
    std::erase(caches, cache);
    delete cache;
  }
};

namespace {

/// Plain so that finding it costs one read; nullptr before the first use and after the thread's end.
thread_local void* this_thread_cache = nullptr;
thread_local bool this_thread_ended = false;

}  // namespace

/// Gives the thread's blocks to the store when it ends.
struct BufferPool::Registration {
  ~Registration() {
    State& state = *instance().state_;
    const std::lock_guard lock(state.registry_mutex);
    state.dissolve(static_cast<ThreadCache*>(this_thread_cache), false);
    this_thread_cache = nullptr;
    this_thread_ended = true;
  }

  /// All locks are held across a fork, so that the child finds everything whole; the caches of threads that
  /// it does not have go to its store.
  static void before_fork(void* pool) {
    State& state = *static_cast<BufferPool*>(pool)->state_;
    state.registry_mutex.lock();
    for (ThreadCache* cache : state.caches) cache->lock.lock();
    state.store_mutex.lock();
  }
  static void after_fork(void* pool) {
    State& state = *static_cast<BufferPool*>(pool)->state_;
    state.store_mutex.unlock();
    for (ThreadCache* cache : state.caches) cache->lock.unlock();
    state.registry_mutex.unlock();
  }
  static void after_fork_in_child(void* pool) {
    State& state = *static_cast<BufferPool*>(pool)->state_;
    const std::vector<ThreadCache*> all = state.caches;
    for (ThreadCache* cache : all) {
      if (cache != this_thread_cache) state.dissolve(cache, true);
    }
    after_fork(pool);
  }
};

BufferPool& BufferPool::instance() {
  static BufferPool* pool = [] {
    auto* created = new BufferPool;
    act_while_forking({.of = created,
                       .before = Registration::before_fork,
                       .in_parent = Registration::after_fork,
                       .in_child = Registration::after_fork_in_child},
                      LockKind::runtime);
    return created;
  }();
  return *pool;
}

BufferPool::BufferPool() : state_(new State) {}

/// nullptr while the thread ends, or when there is no memory for a cache; blocks then go straight to the
/// store.
BufferPool::ThreadCache* BufferPool::cache_of_this_thread() {
  if (this_thread_cache != nullptr) [[likely]] {
    return static_cast<ThreadCache*>(this_thread_cache);
  }
  if (this_thread_ended) return nullptr;
  auto* cache = new (std::nothrow) ThreadCache;
  if (cache == nullptr) return nullptr;
  State& state = *instance().state_;
  const std::lock_guard lock(state.registry_mutex);
  try {
    state.caches.push_back(cache);
  } catch (const std::bad_alloc&) {
    delete cache;
    return nullptr;
  }
  this_thread_cache = cache;
  thread_local Registration registration;
  (void)&registration;
  return cache;
}

namespace {

int class_of_allocation(int64_t bytes) {
  if (bytes < 0 || bytes > kLargestBlock) {
    const std::string amount = bytes < 0 ? "more bytes than can be counted" : bytes_text(bytes);
    throw UserError("out of memory: cannot allocate " + amount, {}, UserError::Kind::memory);
  }
  return size_class_of(bytes);
}

/// Blocks of the next class are about as large.
int last_class_of(int size_class) { return size_class < kSmallClasses ? size_class : size_class + 1; }

}  // namespace

Block BufferPool::allocate(int64_t bytes) {
  const int size_class = class_of_allocation(bytes);
  ProfileScope scope(ProfileCategory::allocation, kRecycled);
  scope.count(0, bytes);
  BlockHeader* block = size_class < kSmallClasses
                           ? allocate_small(bytes, size_class, scope)
                           : allocate_large(bytes, size_class, last_class_of(size_class), scope);
  return Block::adopt(block);
}

Block BufferPool::borrow(int64_t bytes) {
  constexpr int kClasses = 24;  // eight times as large
  const int size_class = class_of_allocation(bytes);
  if (size_class < kSmallClasses) return allocate(bytes);
  ProfileScope scope(ProfileCategory::allocation, kRecycled);
  scope.count(0, bytes);
  return Block::adopt(allocate_large(bytes, size_class, size_class + kClasses, scope));
}

BlockHeader* BufferPool::allocate_small(int64_t bytes, int size_class, ProfileScope& scope) {
  ThreadCache* cache = cache_of_this_thread();
  if (cache == nullptr) return allocate_large(bytes, size_class, size_class, scope);
  {
    const std::lock_guard lock(cache->lock);
    if (BlockHeader* block = cache->pop(size_class)) {
      ++cache->hits;
      cache->use += block->capacity;
      if (cache->use >= kUseFlush) state_->flush_use(*cache);
      return hand_out(block, bytes);
    }
  }
  return allocate_large(bytes, size_class, size_class, scope);
}

BlockHeader* BufferPool::allocate_large(int64_t bytes, int size_class, int last_class, ProfileScope& scope) {
  BlockHeader* block = state_->take_from_store(size_class, last_class);
  if (block != nullptr) {
    state_->hits.fetch_add(1, std::memory_order_relaxed);
  } else {
    scope.rename(kFromTheSystem);
    block = allocate_fresh(bytes, size_class);
    state_->misses.fetch_add(1, std::memory_order_relaxed);
  }
  state_->count_use(block->capacity);
  return hand_out(block, bytes);
}

BlockHeader* BufferPool::allocate_fresh(int64_t bytes, int size_class) {
  const int64_t capacity = size_of_class(size_class);
  auto* block = new (std::nothrow) BlockHeader;
  void* data = nullptr;
  for (int attempt = 0; attempt < 2 && block != nullptr && data == nullptr; ++attempt) {
    if (attempt == 1 && trim() == 0) break;
    if (memory_is_available(capacity)) data = system_allocate(capacity, bytes);
  }
  if (data == nullptr) {
    delete block;
    throw UserError(out_of_memory_message(bytes, stats().in_use), {}, UserError::Kind::memory);
  }
  block->data = data;
  block->capacity = capacity;
  block->size_class = size_class;
  state_->system_allocations.fetch_add(1, std::memory_order_relaxed);
  if (capacity >= kHugePage && logging::enabled(logging::Channel::memory)) {
    logging::log(logging::Channel::memory, "took " + bytes_text(capacity) + " from the system");
  }
  return block;
}

void detail::recycle(BlockHeader* block) noexcept {
  ASAN_POISON_MEMORY_REGION(block->data, static_cast<size_t>(block->capacity));
  BufferPool& pool = BufferPool::instance();
  block->size_class < kSmallClasses ? pool.free_small(block) : pool.free_large(block);
}

void BufferPool::free_small(BlockHeader* block) noexcept {
  ThreadCache* cache = cache_of_this_thread();
  if (cache == nullptr) return free_large(block);
  BlockHeader* excess = nullptr;
  {
    const std::lock_guard lock(cache->lock);
    const int size_class = block->size_class;
    cache->push(block);
    cache->use -= block->capacity;
    if (cache->use <= -kUseFlush) state_->flush_use(*cache);
    if (cache->count[size_class] > kThreadCacheCount[size_class] || cache->cached > kThreadCacheBytes) {
      excess = cache->pop_list(size_class, cache->count[size_class] / 2 + 1);
    }
  }
  if (excess != nullptr) state_->store_list(excess);
}

void BufferPool::free_large(BlockHeader* block) noexcept {
  state_->in_use.fetch_sub(block->capacity, std::memory_order_relaxed);
  block->next = nullptr;
  state_->store_list(block);
}

PoolStats BufferPool::stats() {
  State& state = *state_;
  PoolStats stats;
  {
    const std::lock_guard registry(state.registry_mutex);
    for (ThreadCache* cache : state.caches) {
      const std::lock_guard lock(cache->lock);
      state.flush_use(*cache);
      stats.cached += cache->cached;
      stats.hits += cache->hits;
    }
    const std::lock_guard lock(state.store_mutex);
    stats.cached += state.store.bytes();
    stats.cache_limit = state.cache_limit;
  }
  stats.in_use = state.in_use.load(std::memory_order_relaxed);
  stats.peak = state.peak.load(std::memory_order_relaxed);
  stats.hits += state.hits.load(std::memory_order_relaxed);
  stats.misses = state.misses.load(std::memory_order_relaxed);
  stats.system_allocations = state.system_allocations.load(std::memory_order_relaxed);
  stats.system_frees = state.system_frees.load(std::memory_order_relaxed);
  return stats;
}

void BufferPool::reset_peak() {
  const int64_t in_use = stats().in_use;
  state_->peak.store(in_use, std::memory_order_relaxed);
}

int64_t BufferPool::trim() {
  State& state = *state_;
  BlockStore all;
  {
    const std::lock_guard registry(state.registry_mutex);
    for (ThreadCache* cache : state.caches) {
      const std::lock_guard lock(cache->lock);
      for (int i = 0; i < kSmallClasses; ++i) {
        while (BlockHeader* block = cache->pop(i)) all.put(block);
      }
    }
  }
  int64_t bytes = all.bytes();
  state.free_list(all.take_oldest_beyond(0));
  BlockHeader* stored;
  {
    const std::lock_guard lock(state.store_mutex);
    bytes += state.store.bytes();
    stored = state.store.take_oldest_beyond(0);
  }
  state.free_list(stored);
  if (bytes > 0) malloc_trim(0);  // malloc keeps what it is given back, too
  return bytes;
}

void BufferPool::set_cache_limit(int64_t bytes) {
  if (bytes < 0) throw UserError("the limit of cached memory cannot be negative");
  BlockHeader* excess;
  {
    const std::lock_guard lock(state_->store_mutex);
    state_->cache_limit = bytes;
    excess = state_->store.take_oldest_beyond(bytes);
  }
  state_->free_list(excess);
}

void* scratch_for_this_thread(int64_t bytes) {
  thread_local Block scratch;
  if (!scratch || scratch.capacity() < bytes) {
    scratch = Block();  // first, so that the new block may use its memory
    scratch = BufferPool::instance().allocate(std::max(bytes, int64_t{4096}));
  }
  return scratch.data();
}

}  // namespace tokamak
