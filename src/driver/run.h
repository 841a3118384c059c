#pragma once

#include <span>
#include <vector>

#include "ir/tensor.h"
#include "runtime/program.h"

namespace tokamak {

/// Runs a program compiled for dense arguments on tensors. For tools and tests: results are copied out of the
/// pool.
std::vector<Tensor> run_on_tensors(const Program& program, std::span<const Tensor> arguments);

}  // namespace tokamak
