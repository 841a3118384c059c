#pragma once

// Rows in lanes, swept side by side: the vector loop goes inside the sweeps, so that memory is read in the
// order in which it lies.

#include "schedule/schedule.h"

namespace tokamak {

/// Whether all that the vector loop over `var` keeps for its rows, besides values, is in accumulators that
/// can lie in memory.
bool can_sink(const LoopKernel& kernel, LoopVar var);

/// What is computed of each row outside of a sweep, and needed inside, lies in memory too: a row of scratch
/// has one for every lane.
void sink(LoopKernel& kernel, const Sink& decision);

}  // namespace tokamak
