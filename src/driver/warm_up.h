#pragma once

namespace tokamak {

/// Pays the fixed cost of a process's first compilation on a thread of its own, once, while the caller goes
/// on. The thread is waited for before the process forks or ends.
void warm_up_in_background();

}  // namespace tokamak
