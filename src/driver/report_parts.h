#pragma once

#include <vector>

#include "driver/report.h"

namespace tokamak {

/// The nodes of a graph, in its order. Kernels are left open.
std::vector<OperationReport> operations_of(const Graph& graph);

/// The same after the passes, with the kernels that compute them.
std::vector<OperationReport> fused_operations(const Graph& optimized,
                                              const std::vector<FusedKernel>& kernels);

/// The same as traced. An operation that the passes found a way around is part of the kernels of its readers.
std::vector<OperationReport> traced_operations(const Graph& traced, const Graph& optimized,
                                               const std::vector<OperationReport>& fused);

/// What the plan gives memory to.
std::vector<BufferReport> buffers_of(const Assembled& assembled);

/// Arguments with strides, operands that are packed, results that are transposed on their way, copies.
std::vector<LayoutReport> layouts_of(const Journey& journey);

}  // namespace tokamak
