#pragma once

#include <memory>
#include <vector>

#include "driver/assemble.h"
#include "driver/compile.h"
#include "runtime/program_observer.h"

namespace tokamak {

/// A program as its observer gets to know it.
struct ObservedProgram {
  const Graph& traced;
  const Graph& optimized;
  const CompileOptions& options;
  const std::vector<FusedKernel>& kernels;  ///< of the optimized graph
  const Assembled& assembled;
};

/// Looks at what CompileOptions::checks asks for. After each kernel that is whether it made a NaN, and
/// whether the interpreter makes the same of what the kernel has read; in the end, whether it makes the same
/// of the traced graph.
std::shared_ptr<const ProgramObserver> make_observer(const ObservedProgram& program);

}  // namespace tokamak
