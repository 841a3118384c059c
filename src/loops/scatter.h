#pragma once

#include "loops/lower.h"

namespace tokamak {

/// Lowers a kernel whose one result is a scatter. The operand is copied, then the updates go in, in order:
///
///   for i in 0..m                        out[i] = operand[i]
///   for b in 0..n/512
///     for k in 0..512 (lanes)            place[k] = index of update 512*b + k;  value[k] = update 512*b + k
///     for k in 0..512                    out[place[k]] = out[place[k]] + value[k]
///
/// Whatever makes the indices and updates runs in the lanes. Where rows lie behind the scattered axis, lanes
/// go along the row. Where few elements of a large array change, their places are checked by a nest before
/// these, so that the result may be written over the array: the first nest above then has nothing to do.
/// Many updates of a small operand go into copies of it that tasks have for themselves, which are joined in a
/// fixed order:
///
///   for c in 0..16 (tasks)               copy[c, :] = 0;  a sixteenth of the updates goes into copy[c, :]
///   for i in 0..m                        out[i] = operand[i] + copy[0, i] + ... + copy[15, i]
LoopKernel lower_scatter(const FusedKernel& kernel, const std::vector<Layout>& layouts,
                         const LowerOptions& options);

}  // namespace tokamak
