#pragma once

// A small matrix that lies across the lanes, and is read again for every row, is turned around once.

#include "schedule/schedule.h"

namespace tokamak {

/// Every such matrix. `lanes` and `along` are loops that are still whole.
std::vector<Turn> choose_turns(const LoopKernel& kernel, LoopVar along, LoopVar lanes, const Cpu& cpu);

/// The matrix is read from a buffer of the kernel's own from here on.
void turn(LoopKernel& kernel, const Turn& decision);

/// Puts the nest that fills these buffers before the others.
void add_turning_nest(LoopKernel& kernel, const std::vector<Turn>& decisions);

}  // namespace tokamak
