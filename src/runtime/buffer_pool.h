#pragma once

// Memory for arrays and arenas, recycled.
//
// Fresh pages cost more than the computation that fills them, so freed blocks are kept and given out again:
// small ones per thread, others in one store for the process that drops the least recently used beyond its
// limit. Blocks are 64-byte aligned; those of 2 MB and more are mapped at 2 MB boundaries and advised to use
// huge pages. A block is at most a quarter larger than asked (64 bytes at least).

#include <atomic>
#include <cstdint>
#include <utility>

namespace tokamak {

class ProfileScope;

inline constexpr int64_t kBlockAlignment = 64;
inline constexpr int64_t kHugePage = int64_t{2} << 20;

namespace detail {

/// What a Block points to. It stays with its memory while the memory is kept for reuse.
struct BlockHeader {
  std::atomic<int64_t> references = 0;
  void* data = nullptr;
  int64_t bytes = 0;            ///< as asked for
  int64_t capacity = 0;         ///< as there are
  BlockHeader* next = nullptr;  ///< in a list of free blocks of one size class
  BlockHeader* previous = nullptr;
  BlockHeader* newer = nullptr;  ///< in the order in which blocks of the store were freed
  BlockHeader* older = nullptr;
  int32_t size_class = 0;
};

void recycle(BlockHeader* header) noexcept;

}  // namespace detail

/// A share in a block of memory; the last to go returns it to the pool. Copies and the end of a share are
/// safe from any thread, as with std::shared_ptr.
class Block {
 public:
  Block() = default;
  Block(const Block& other) : header_(other.header_) {
    if (header_ != nullptr) header_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Block(Block&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Block& operator=(Block other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  ~Block() {
    if (header_ == nullptr) return;
    // The only holder needs no atomic subtraction: nobody else can make a copy of its share.
    if (header_->references.load(std::memory_order_acquire) == 1 ||
        header_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      detail::recycle(header_);
    }
  }

  explicit operator bool() const { return header_ != nullptr; }
  void* data() const { return header_ == nullptr ? nullptr : header_->data; }
  int64_t bytes() const { return header_ == nullptr ? 0 : header_->bytes; }
  int64_t capacity() const { return header_ == nullptr ? 0 : header_->capacity; }
  /// Whether this is the only share, so that the memory may be overwritten in place.
  bool unique() const {
    return header_ != nullptr && header_->references.load(std::memory_order_acquire) == 1;
  }

  /// Gives this share away as a pointer, for owners that are not C++ objects; adopt() takes it back.
  [[nodiscard]] void* release() noexcept { return std::exchange(header_, nullptr); }
  [[nodiscard]] static Block adopt(void* share) noexcept {
    Block block;
    block.header_ = static_cast<detail::BlockHeader*>(share);
    return block;
  }

 private:
  detail::BlockHeader* header_ = nullptr;
};

/// All in bytes of capacity, but for the counts.
struct PoolStats {
  int64_t in_use = 0;
  int64_t cached = 0;
  /// The most that was in use at once since reset_peak. Blocks up to 64 KB are counted when some 64 KB of
  /// them have come together on a thread, or stats() is called.
  int64_t peak = 0;
  int64_t hits = 0;    ///< allocations served by recycling
  int64_t misses = 0;  ///< allocations that needed fresh memory
  int64_t system_allocations = 0;
  int64_t system_frees = 0;
  int64_t cache_limit = 0;
};

class BufferPool {
 public:
  /// The pool of this process. Lives until the process ends.
  static BufferPool& instance();

  /// A block of at least `bytes` (0 gives a block too), its contents unspecified. Throws UserError of kind
  /// memory that names the size and what is available when there is not enough, having given back all that
  /// was cached.
  Block allocate(int64_t bytes);

  /// The same for a short while: any free block that is large enough, and not many times as large, rather
  /// than a fresh one, so that what steps work with one after the other is the same memory.
  Block borrow(int64_t bytes);

  PoolStats stats();
  void reset_peak();

  /// Gives all cached memory back to the system; returns how much that was.
  int64_t trim();

  /// How much is kept for reuse at most; what is beyond goes back at once. At first a quarter of the memory
  /// or 2 GB, whichever is less. Each thread may keep 1 MB of small blocks besides.
  void set_cache_limit(int64_t bytes);

  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

 private:
  struct State;
  struct ThreadCache;
  struct Registration;
  friend void detail::recycle(detail::BlockHeader* header) noexcept;

  BufferPool();
  ~BufferPool() = delete;

  static ThreadCache* cache_of_this_thread();
  detail::BlockHeader* allocate_small(int64_t bytes, int size_class, ProfileScope& scope);
  /// Free blocks up to `last_class` will do.
  detail::BlockHeader* allocate_large(int64_t bytes, int size_class, int last_class, ProfileScope& scope);
  detail::BlockHeader* allocate_fresh(int64_t bytes, int size_class);
  void free_small(detail::BlockHeader* header) noexcept;
  void free_large(detail::BlockHeader* header) noexcept;

  State* state_;
};

/// At least `bytes` of scratch that belong to the calling thread, 64-byte aligned, contents unspecified. The
/// next call on the same thread may move it; it is freed when the thread ends. Throws UserError when there is
/// no memory, so inside a run, which must not throw, prefer scratch allocated before it and indexed by
/// worker.
void* scratch_for_this_thread(int64_t bytes);

}  // namespace tokamak
