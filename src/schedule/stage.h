#pragma once

// What lies across the lanes goes through tiles in the cache, which are transposed on the way.

#include "schedule/schedule.h"

namespace tokamak {

/// Whether something is read or written next to itself along `along` and far apart along `lanes`, both at
/// distances that are known.
bool can_stage(const LoopKernel& kernel, LoopVar along, LoopVar lanes);

void stage(LoopKernel& kernel, const Stage& decision);

}  // namespace tokamak
