#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Divides by the sums of a softmax after the product that follows it, once for every result instead of once
/// for every score.
///   %e = exp %s;  %n = reduce_sum %e {axes=[1]};  %p = div %e, %n;  %o = dot %p, %v
///   =>  %q = dot %e, %v;  %o = div %q, %n
/// The result may differ in the last places.
Graph normalise_late(const Graph& graph);

}  // namespace tokamak
