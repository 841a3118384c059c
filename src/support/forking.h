#pragma once

// What has to be so while the process forks. The child has one thread: what another one was about to do is
// never done there, and a lock that it held is never given back.

#include <cstdint>
#include <mutex>

namespace tokamak {

/// Locks by what is taken while they are held: one of a later kind may be, one of the same or an earlier may
/// not.
enum class LockKind : uint8_t { outer, linker, leaf };

/// Lets nobody hold the lock while the process forks. It is never destroyed.
void hold_while_forking(std::mutex& mutex, LockKind kind);

/// Calls `wait` before a fork, when nothing is held yet.
void wait_before_forking(void (*wait)());

}  // namespace tokamak
