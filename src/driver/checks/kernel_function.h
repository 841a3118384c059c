#pragma once

#include "driver/assemble.h"
#include "ir/graph.h"

namespace tokamak {

/// What a kernel of the graph computes, as a function from the values that it reads to those that it writes.
Graph kernel_function(const Graph& graph, const FusedKernel& kernel, const KernelMemory& memory);

}  // namespace tokamak
