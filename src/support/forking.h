#pragma once

// What has to be so while the process forks. The child has one thread: what another one was about to do is
// never done there, and a lock that it held is never given back.

#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace tokamak {

/// Locks by what is taken while they are held: one of a later kind may be, one of the same or an earlier may
/// not.
enum class LockKind : uint8_t { outer, leaf, runtime };

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

/// What is done around a fork, beyond holding a lock. Functions get `of`.
struct ForkActions {
  void* of = nullptr;
  void (*before)(void* of) = [](void*) {};  ///< may be followed by `in_parent`, and called again
  void (*in_parent)(void* of) = [](void*) {};
  void (*in_child)(void* of) = [](void*) {};
};

/// Does this at every fork: when locks of earlier kinds are held, before those of later ones are.
void act_while_forking(const ForkActions& actions, LockKind kind);

/// Calls `wait` before a fork, when nothing is held yet.
void wait_before_forking(void (*wait)());

}  // namespace tokamak
