#pragma once

namespace tokamak {

/// Pays the fixed cost of a process's first compilation on a thread of its own, once, while the caller goes
/// on. The thread is waited for before the process forks or ends.
void warm_up_in_background();

/// Waits for that thread. Those who know that the process is about to end should call it: what the thread was
/// the first to make is torn down before functions of std::atexit that were there earlier are called.
void finish_warm_up();

}  // namespace tokamak
