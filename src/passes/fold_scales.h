#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Multiplies the constant operand of a product instead of its result, where each row (or column) of the
/// result is multiplied by a constant: the batch norm after a convolution. The factors are then part of the
/// weights.
///   %0 = dot %w, %x;  %1 = mul %0, %s        w and s constants, s: [O,1,1]
///   =>  %0 = mul %w, %s;  %1 = dot %0, %x    of which the first is a constant
/// A result may differ in the last places, as sums of products do that are added in another order.
Graph fold_scales(const Graph& graph);

}  // namespace tokamak
