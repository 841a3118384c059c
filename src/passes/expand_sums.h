#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Writes sums of two to eight terms as additions, in the order of the terms (eight in pairs), where what is
/// summed is computed for all pairs of something and the sums lead to reductions only: those then compute
/// them on the way, and a matrix of all pairs is never in memory.
///   %0 = sub %all, %each; %1 = mul %0, %0         f32[4096,4096,3], of %x: f32[4096,3]
///   %2 = reduce_sum %1 {axes=[2]}; %3 = sqrt %2; %4 = reduce_sum %3 {axes=[1]}
///   =>  %2 = add (add %1[:,:,0], %1[:,:,1]), %1[:,:,2]; %3 = sqrt %2; %4 = reduce_sum %3 {axes=[1]}
Graph expand_sums(const Graph& graph);

}  // namespace tokamak
