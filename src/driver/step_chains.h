#pragma once

#include <vector>

#include "runtime/program.h"
#include "support/cpu.h"

namespace tokamak {

/// Steps of a program, as they stand, that are better run together (runtime/step_chain.h): a stencil that is
/// repeated, say, whose grids do not fit the second cache.
std::vector<StepChain> find_step_chains(const Program& program, const Cpu& cpu);

}  // namespace tokamak
