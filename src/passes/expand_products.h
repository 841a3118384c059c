#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Writes products that have no matrix on one side as element-wise products and sums, which fuse with all
/// that surrounds them and run as fast as memory delivers the one matrix there is.
///   %0 = dot %w, %x {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}      w: f32[M,K], x:
///   f32[K]
///   =>  %0 = mul %w, %x;  %1 = reduce_sum %0 {axes=[1]}
/// A small product over a long axis becomes the sum of products over pieces of it.
/// The transpose of a product that nothing else reads becomes the product of the operands in the other order.
/// The products of attention stay, unless there are so few queries that threads have to share the keys of
/// one.
/// `only_needed` writes as sums only what kernels of products do not do, and leaves the rest as it is.
Graph expand_products(const Graph& graph, bool only_needed = false);

}  // namespace tokamak
