#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Multiplies the constant weights of a convolution instead of its result, where each channel of the result
/// is multiplied by a constant: the batch norm that follows. The factors are then part of the weights.
///   %0 = dot %w, %x;  %1 = mul %0, %s        w and s constants, s: [O,1,1]; x: windows
///   =>  %0 = mul %w, %s;  %1 = dot %0, %x    of which the first is a constant
/// A result may differ in the last places. Left alone where a weight would become infinite, subnormal or
/// zero.
Graph fold_scales(const Graph& graph);

}  // namespace tokamak
