#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/layout.h"
#include "ir/tensor.h"
#include "runtime/block_step.h"
#include "runtime/program_observer.h"
#include "runtime/sort_step.h"
#include "runtime/step_chain.h"
#include "tokamak/errors.h"
#include "tokamak/types.h"

namespace tokamak {

/// A compiled function: steps over an arena. Immutable; any number of threads may run it at once.
class Program {
 public:
  using Place = tokamak::Place;
  struct Step {
    std::shared_ptr<const NativeKernel> code;
    std::shared_ptr<const LoopKernel> kernel;
    std::vector<Place> buffers;       ///< by BufferId; entries of scratch buffers are not used
    std::vector<int> strided_inputs;  ///< program inputs whose strides fill KernelFrame::strides, in order
    std::vector<int64_t> numbers;     ///< KernelFrame::numbers
    std::vector<int64_t> grains;      ///< by nest: tasks that are worth a chunk
    size_t first_nest = 0;            ///< those before it were run by an earlier step
    size_t end_nest = SIZE_MAX;       ///< those from there on, if there are any, are run by a later one
    /// A nest that copies one buffer to another: it is left out where both are the same memory.
    struct CopyNest {
      size_t nest;
      BufferId from;
      BufferId to;
    };
    std::optional<CopyNest> copy;
    std::vector<BufferSite> sites;           ///< by BufferId, of code that is checked
    std::shared_ptr<const BlockStep> block;  ///< a step with a product: runs this instead of `code`
    std::shared_ptr<const SortStep> sort;    ///< a step that sorts: runs this
    int64_t bytes_read = 0;
    int64_t bytes_written = 0;
    double flops = 0;
    double cost = 0;    ///< nanoseconds on one core, roughly
    int64_t tasks = 1;  ///< that threads may share
  };
  /// Output `output` repeats output `source`.
  struct Copy {
    int output;
    int source;
  };

  std::string name;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  std::vector<std::optional<int>> output_donor;  ///< by output: the donated input whose memory it takes over
  std::vector<bool>
      output_in_place;  ///< by output: it may lie where the input does that it has new elements of
  std::vector<bool>
      output_keeps;  ///< then: not all elements are stored; elsewhere they have to be there before
  std::vector<Tensor> constants;
  std::vector<Step> steps;
  std::vector<StepChain> chains;  ///< of steps that run together, in order
  std::vector<Copy> copies;
  std::shared_ptr<const ProgramObserver> observer;  ///< null: nobody looks
  /// A bug of ours that a run meets, together with the program that shows it; empty: as it is.
  std::function<InternalError(const InternalError&)> with_program;
  int64_t arena_bytes = 0;
  double total_cost = 0;  ///< nanoseconds on one core, roughly: decides whether the GIL is worth releasing

  /// `inputs[i]` is the first element, `strides[i]` its byte strides (may be nullptr when dense).
  /// `outputs[i]` is dense and 64-byte aligned; for a donated one it is the donor's memory. Throws UserError
  /// of kind index when a run-time check fails, and of kind memory when the arena cannot be had; and what
  /// the checks that were compiled in find (support/checks.h).
  void run(const void* const* input_data, const int64_t* const* input_strides,
           void* const* output_data) const;

  /// What each step takes beside the arena while it runs, for all the threads that there are now. Inputs
  /// count as dense.
  std::vector<int64_t> scratch_of_steps() const;
};

/// Tasks that are worth a chunk of their own when one takes `task_cost` nanoseconds.
int64_t grain_for(double task_cost);
/// The same, or a little less, so that the last of the chunks is no shorter than the others: a thread would
/// wait.
int64_t even_grain(double task_cost, int64_t tasks);

}  // namespace tokamak
