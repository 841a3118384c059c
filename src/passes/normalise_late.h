#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Divides by the sums of a softmax after the product that follows it, once for every result instead of once
/// for every score.
///   %e = exp %d;  %n = reduce_sum %e {axes=[1]};  %p = div %e, %n;  %o = dot %p, %v      d: s - reduce_max s
///   =>  %q = dot %e, %v;  %o = div %q, %n
/// The result may differ in the last places. Only for f32 and f64, and where the greatest score was
/// subtracted: then no exponential is above 1, and sums stay in range.
Graph normalise_late(const Graph& graph);

}  // namespace tokamak
