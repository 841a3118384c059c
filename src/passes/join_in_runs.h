#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Joins many pieces in runs of rules::kMostPieces, which are in memory, and then the runs. Kernels of runs
/// that are alike share their code. Only where the result is small, or the pieces so many that compiling them
/// at once takes longer than moving the result once more ever does.
///   %9 = concatenate %p0, ..., %p99 {axis=0}
///   =>  %1 = concatenate %p0, ..., %p31 {axis=0};  ...;  %9 = concatenate %1, %2, %3, %4 {axis=0}
Graph join_in_runs(const Graph& graph);

}  // namespace tokamak
