#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Computes one half of a large product of a matrix with its own transpose, and mirrors it: the first half of
/// the lines with all of them, the second half with itself. Only of f16 and bf16, whose sums are converted:
/// the blocks of other products are mirrored as they are made (see is_mirrored).
///   %0 = dot %x, %x {lhs_contract=[0], rhs_contract=[0]}                          x: bf16[K,N], in halves a,
///   b
///   =>  %0 = dot %a, %a;  %1 = dot %a, %b;  %2 = transpose %1;  %3 = dot %b, %b;  joined to [[%0, %1], [%2,
///   %3]]
Graph halve_symmetric(const Graph& graph);

}  // namespace tokamak
