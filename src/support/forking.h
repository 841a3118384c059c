#pragma once

// What has to be so while the process forks. The child has one thread: what another one was about to do is
// never done there, and a lock that it held is never given back.

#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace tokamak {

/// Locks by what is taken while they are held: one of a later kind may be, one of the same or an earlier may
/// not.
enum class LockKind : uint8_t { outer, linker, leaf };

/// Lets nobody hold the lock while the process forks. It is never destroyed.
void hold_while_forking(std::mutex& mutex, LockKind kind);

/// As long as it lives, nobody holds the lock while the process forks. It is destroyed by a thread that holds
/// no such lock, before the lock is.
class HeldWhileForking {
 public:
  HeldWhileForking(std::shared_mutex& mutex, LockKind kind);
  ~HeldWhileForking();
  HeldWhileForking(const HeldWhileForking&) = delete;
  HeldWhileForking& operator=(const HeldWhileForking&) = delete;

 private:
  std::shared_mutex& mutex_;
};

/// Calls `wait` before a fork, when nothing is held yet.
void wait_before_forking(void (*wait)());

}  // namespace tokamak
