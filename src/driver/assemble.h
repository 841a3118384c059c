#pragma once

#include <memory>
#include <span>
#include <vector>

#include "driver/compile.h"
#include "driver/in_place.h"
#include "driver/kernel_cache.h"
#include "fusion/kernel.h"
#include "plan/plan.h"

namespace tokamak {

/// The values that a kernel reads and writes, and where they are while it runs. Constants are not among them.
struct KernelMemory {
  struct Placed {
    Value value;
    Place place;
  };
  std::vector<Placed> reads;
  std::vector<Placed> writes;
};

/// A program and the memory plan it runs on.
struct Assembled {
  std::shared_ptr<Program> program;
  Plan plan;
  std::vector<PlanRequest> requests;  ///< of the plan; its steps are kernels
  std::vector<int> step_of;           ///< by kernel; -1 where there is nothing to do
  /// What a buffer for every operation, result, packed operand and partial sum would take.
  int64_t naive_bytes = 0;
  std::vector<KernelMemory> memory;  ///< by kernel, where checks compare values
};

/// Plans the memory of compiled kernels and strings them together. `names` are those of the values in the
/// plan.
Assembled assemble(const Graph& graph, std::vector<std::string> names, std::span<const Layout> layouts,
                   const CompileOptions& options, const std::vector<FusedKernel>& kernels,
                   const std::vector<std::shared_ptr<const CompiledKernel>>& compiled,
                   const OutputsInPlace& in_place);

}  // namespace tokamak
