#pragma once

#include <optional>
#include <span>
#include <vector>

#include "driver/compile.h"
#include "driver/kernel_cache.h"
#include "fusion/kernel.h"
#include "loops/nest.h"

namespace tokamak {

/// Whether the kernel may write `output` over memory that it reads as `input`, element 0 of the output over
/// element `offset` of the input: it reads every element only where, and before, it writes there.
bool may_overwrite(const LoopKernel& kernel, BufferId output, BufferId input, int64_t offset = 0);

/// An input that the code of a kernel reads, and nothing before it.
struct ReadInput {
  Value value;
  BufferId buffer;
  int64_t offset = 0;    ///< in bytes: of what the buffer has of the value
  bool is_part = false;  ///< the buffer has not all of it
};

/// Operands of a product are none of them: every block reads them again.
std::vector<ReadInput> inputs_read_once(const Graph& graph, const FusedKernel& kernel,
                                        const CompiledKernel& compiled);
/// The buffer of output `i` in the loops of a kernel.
BufferId output_buffer(const FusedKernel& kernel, const LoopKernel& loops, size_t i);

/// For every output of the program whether it may be written where the input lies whose new elements it has
/// (CompileOptions::written). Programs that may fail on the way write nothing before they have ended.
std::vector<bool> outputs_in_place(const Graph& graph, std::span<const Layout> layouts,
                                   const CompileOptions& options, const std::vector<FusedKernel>& kernels,
                                   const std::vector<std::shared_ptr<const CompiledKernel>>& compiled);

}  // namespace tokamak
