#pragma once

#include "loops/nest.h"
#include "support/cpu.h"

namespace tokamak {

/// Nanoseconds that one task of the nest takes on one core, roughly.
double task_cost(const LoopKernel& kernel, const Nest& nest, const Cpu& cpu);

}  // namespace tokamak
