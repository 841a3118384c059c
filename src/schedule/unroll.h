#pragma once

// A short axis of rows that computes the same for each of them all along a sweep.

#include "schedule/schedule.h"

namespace tokamak {

/// A loop over few rows, among `rows`, whose sweeps compute much that is the same for all of them; not that
/// of the lanes.
std::optional<Unroll> choose_unroll(const LoopKernel& kernel, const std::vector<LoopVar>& rows,
                                    const std::vector<LoopVar>& swept, std::optional<LoopVar> lanes);

/// Runs all iterations of the loop at once: each has values and accumulators of its own, but what does not
/// depend on the variable is there once.
///   for k in 0..2 { acc; for j { a = sqrt x[j]; b = mul a, y[j, k]; acc <- b }; out[k] = acc }
///   => acc, acc'; for j { a = sqrt x[j]; b = mul a, y[j, 0]; acc <- b; b' = mul a, y[j, 1]; acc' <- b' };
///      out[0] = acc; out[1] = acc'
void unroll(LoopKernel& kernel, const Unroll& decision);

}  // namespace tokamak
