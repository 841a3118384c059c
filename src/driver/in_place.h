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

/// The input that the nest copies to the output, when it does nothing else: nothing has to be done where both
/// are the same memory.
std::optional<BufferId> copied_by(const LoopKernel& kernel, size_t nest, BufferId output);

/// The gathers of a kernel whose indices follow from arguments and constants of the program alone, so that
/// they can be checked before anything is written (FusedKernel::checked_first).
std::vector<Value> gathers_by_arguments(const Graph& graph, const FusedKernel& kernel);

/// How many nests, the first ones, only check what the arguments and constants of the program say: they may
/// run before all other steps.
size_t nests_that_check(const Graph& graph, const FusedKernel& kernel, const CompiledKernel& compiled);

struct OutputsInPlace {
  /// By output of the program: the values that follow each other in its memory, the last of them its own,
  /// when that may be where the input lies whose new elements it has (CompileOptions::written); else none.
  std::vector<std::vector<Value>> chains;
  /// By output: not all of its elements are stored. Those that are not have to be there before.
  std::vector<bool> keeps;
  /// By kernel: its loops when they store no element that is to stay as it was; else nothing.
  std::vector<std::optional<LoopKernel>> loops;
};

/// Programs that may fail on the way write nothing before: only what nests_that_check find comes first.
/// `scheduled` need not have code.
OutputsInPlace outputs_in_place(const Graph& graph, std::span<const Layout> layouts,
                                const CompileOptions& options, const std::vector<FusedKernel>& kernels,
                                const std::vector<std::shared_ptr<const CompiledKernel>>& scheduled);

}  // namespace tokamak
