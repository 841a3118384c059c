#pragma once

#include <atomic>
#include <cstdint>

namespace tokamak {

/// Sleeps while `word` holds `expected`; may also return for no reason, so callers check again in a loop.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected);

/// Wakes up to `count` threads that sleep on `word`.
void futex_wake(const std::atomic<uint32_t>& word, int count);

/// Tells the core that this is a spinning loop.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A lock for a handful of instructions that is nearly always free: one atomic exchange. After a short spin
/// it yields the core, since its holder may have been put off it.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  void wait() const;

  std::atomic<bool> locked_ = false;
};

}  // namespace tokamak
