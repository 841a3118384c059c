#pragma once

// Rows that do not begin at cache lines.

#include "schedule/schedule.h"

namespace tokamak {

/// Whether every loop that stores to the buffer can begin its rounds anywhere: it sums up nothing, the order
/// of which would change. Or begins them at lines already.
bool can_align(const LoopKernel& kernel, BufferId buffer);

/// Whether rounds begin at cache lines as they are, as far as it matters.
bool is_aligned(const LoopKernel& kernel, BufferId buffer);

int64_t elements_in_line(const LoopKernel& kernel, BufferId buffer);

/// How many elements the loop stores before the first cache line; nullopt where none, or where it is not
/// worth knowing.
std::optional<Index> elements_before_line(const LoopKernel& kernel, const Loop& loop, BufferId buffer);

/// Lets rounds of the vector loops that store to the buffer begin at cache lines, after at most one that
/// stores what comes before the first.
///   vector j in 0..50257 by 16 lanes { out[task, j] = ... }
///   => vector j in 0..min(16, h) by 16 lanes { out[task, j] = ... }
///      vector j in 0..50257 - h by 16 lanes { out[task, j + h] = ... }    h: -50257*task mod 16
void align(LoopKernel& kernel, const Align& decision);

}  // namespace tokamak
