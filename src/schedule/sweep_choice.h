#pragma once

// Sweeps along a row that are worked on in more lanes than the others, or several registers at once.

#include <vector>

#include "schedule/lane_choice.h"
#include "schedule/schedule.h"

namespace tokamak {

// What is decided of the loops over `var`, which run in so many lanes and are numbered as they stand.

/// Sweeps that only look for a largest or smallest element have little to do while they wait, and the order
/// does not matter to them: they may have more lanes than the others.
std::vector<Decision> choose_wide_searches(const LoopKernel& kernel, LoopVar var, int lanes,
                                           const LaneChoice& choice);

/// Sweeps that count how often something holds take more at once.
std::vector<Decision> choose_jammed_counts(const LoopKernel& kernel, LoopVar var, int lanes,
                                           const LaneChoice& choice);

/// Sums of what takes long to compute wait for it: two registers of them are worked on at once.
std::vector<Decision> choose_jammed_sums(const LoopKernel& kernel, LoopVar var, int lanes,
                                         const LaneChoice& choice);

/// Sums of what lies in memory wait for that, which is fetched further ahead where a round reads more lines:
/// twice as many registers as the sum has are read at once.
std::vector<Decision> choose_jammed_reads(const LoopKernel& kernel, LoopVar var, int lanes, const Cpu& cpu);

/// How many rows go through a sweep together, of those that all read the same in their lanes: it is read once
/// for them. 1 where that is not worth it. `row` is a loop over rows around the one of the lanes, `sweep` the
/// innermost sweep inside.
int64_t choose_rows_together(const LoopKernel& kernel, LoopVar row, LoopVar sweep, LoopVar lanes,
                             const Cpu& cpu);

}  // namespace tokamak
