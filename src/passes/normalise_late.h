#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Divides by the sums of a softmax after the product that follows it, once for every result instead of once
/// for every score.
///   %e = exp %d;  %n = reduce_sum %e {axes=[1]};  %p = div %e, %n;  %o = dot %p, %v      d: s - reduce_max s
///   =>  %f = mul %e, c;  %m = reduce_sum %f {axes=[1]};  %q = dot %f, %v;  %o = div %q, %m
/// The result may differ in the last places. Only for f32 and f64, and where the greatest score was
/// subtracted: then no exponential is above 1. c is the power of two that makes their sums less than 1, so that
/// no product is larger than the values of which it is a mean.
Graph normalise_late(const Graph& graph);

}  // namespace tokamak
