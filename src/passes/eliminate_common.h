#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Merges nodes that compute the same value, constants included; the first of them, with its line, stays.
/// Operands of operations that commute exactly may stand in either order.
///   %0 = exp %x;  %1 = exp %x;  %2 = add %0, %1
///   =>  %0 = exp %x;  %1 = add %0, %0
Graph eliminate_common(const Graph& graph);

}  // namespace tokamak
