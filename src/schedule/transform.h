#pragma once

// The loop transformations that decisions are made of.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loops/nest.h"

namespace tokamak {

LoopVar add_variable(LoopKernel& kernel, std::string name, int64_t extent);

/// Replaces `var` in every index inside the loop.
void substitute_variable(LoopKernel& kernel, Loop& inside, LoopVar var, const Index& replacement);

/// Puts what `make` gives for every loop over `var` inside `root` in that loop's place.
void replace_loops(Loop& root, LoopVar var, const std::function<std::vector<Stmt>(Loop&)>& make);

/// for var in 0..n  =>  for outer in 0..n/tile { for inner in 0..min(tile, n - outer*tile) }, var being
/// outer*tile + inner. `inner` may be the same variable. Takes the loop's body. A loop that has a bound of
/// its own, which may be beyond its extent, is cut into parts that divide the extent.
std::shared_ptr<Loop> split_loop(LoopKernel& kernel, Loop& loop, int64_t tile, LoopVar outer, LoopVar inner);

/// The loop that ends the body, when it is the only one there.
Loop* only_loop(Loop& loop);

/// Makes one parallel loop of the nest's root and the unordered loops directly inside it.
void parallelise(LoopKernel& kernel, Loop& root, int64_t enough_tasks);

/// Splits the only sweep of the kernel's only nest into chunks that reduce into partial buffers, and adds a
/// nest that joins them.
void split_sweep(LoopKernel& kernel, LoopVar var, int64_t chunk);

/// Whether the elements of a buffer lie in row-major order, without gaps.
bool is_dense(const Buffer& buffer);

/// Turns accesses to dense buffers into one-dimensional ones. Those that tiles go to or come from stay as
/// they are.
void flatten_dense_buffers(LoopKernel& kernel);

/// Scratch of the kernel's tasks; its name is followed by its number.
BufferId add_scratch(LoopKernel& kernel, const std::string& name, TensorType type);

/// Scratch that belongs to one iteration of the loop gets a place for each, as lanes or iterations that run
/// at once need: along a new axis.
enum class ScratchAxis : uint8_t { outermost, innermost };
void widen_scratch(LoopKernel& kernel, Loop& loop, ScratchAxis where);

/// Gives scratch buffers their strides and offsets.
void place_scratch(LoopKernel& kernel);

}  // namespace tokamak
