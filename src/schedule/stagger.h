#pragma once

// The last sweep of a row, together with a sweep of the next row.

#include "schedule/schedule.h"

namespace tokamak {

/// If the last sweep of a row only stores what it computes from the ones before, which go through the same
/// elements in the same lanes.
std::optional<Stagger> choose_stagger(const LoopKernel& kernel, LoopVar row, int64_t unit, bool streams,
                                      const Cpu& cpu);

void stagger(LoopKernel& kernel, const Stagger& decision);

}  // namespace tokamak
