#pragma once

// What is computed for an element of a row and, the same, for its neighbours: the passes of a blur.

#include "schedule/schedule.h"

namespace tokamak {

/// What the innermost loop over `var` computes at several places along it, where keeping a row of it takes
/// less than computing it at each. Nullopt where there is nothing, or too little.
std::optional<KeepNeighbours> choose_kept_neighbours(const LoopKernel& kernel, LoopVar var, const Cpu& cpu);

/// Computes the row in a loop of its own, over `kept`, before the loop that needs it.
///   for j { a = x[i, j]; b = exp a; c = x[i, j + 1]; d = exp c; out[i, j] = add b, d }
///   => for j_kept { a' = x[i, j_kept]; b' = exp a'; kept[j_kept] = b' }
///      for j { b = kept[j]; d = kept[j + 1]; out[i, j] = add b, d }
void keep_neighbours(LoopKernel& kernel, const KeepNeighbours& decision);

/// How many rows, all blocks being of as many, read much of the same because they lie next to each other; 1
/// where they do not.
int64_t rows_that_share_reads(const LoopKernel& kernel, LoopVar row, LoopVar along, const Cpu& cpu);

/// Every row of a block gets a row of scratch of its own, and all are filled first.
void keep_rows(LoopKernel& kernel, const KeepRows& decision);

}  // namespace tokamak
