#pragma once

#include <vector>

#include "driver/report.h"

namespace tokamak {

/// The operations after the passes, with the kernels that compute them.
std::vector<OperationReport> fused_operations(const Journey& journey);

/// The operations as traced. One whose work is done in another shape is part of the kernels that do it; one
/// that the passes found a way around is part of those of its readers;
/// one that they made several of is in the kernels of all of these.
std::vector<OperationReport> traced_operations(const Journey& journey,
                                               const std::vector<OperationReport>& fused);

/// What the program takes, and what it would without a plan.
MemoryReport memory_of(const Journey& journey);

/// Arguments with strides, operands that are packed, results that are transposed on their way, copies.
std::vector<LayoutReport> layouts_of(const Journey& journey);

}  // namespace tokamak
