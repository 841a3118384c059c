#pragma once

// What is left to do for a row after its last sweep, done for many rows at once.

#include "schedule/schedule.h"

namespace tokamak {

/// If that takes long, as elementary functions do, and not nearly nothing beside the sweeps.
std::optional<FinishTogether> choose_finish(const LoopKernel& kernel, LoopVar row, const Cpu& cpu);

void finish_together(LoopKernel& kernel, const FinishTogether& decision);

}  // namespace tokamak
