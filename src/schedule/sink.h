#pragma once

// Rows in lanes, swept side by side: the vector loop goes inside the sweeps, so that memory is read in the
// order in which it lies.

#include "schedule/schedule.h"

namespace tokamak {

/// Whether all that statements of the vector loop over `var` hand on to others, outside of its innermost
/// loops, is in accumulators that can lie in memory.
bool can_sink(const LoopKernel& kernel, LoopVar var);

void sink(LoopKernel& kernel, const Sink& decision);

}  // namespace tokamak
