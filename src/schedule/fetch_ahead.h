#pragma once

// Rows that are swept one after the other: what the next one reads is fetched while this one is computed.

#include <optional>

#include "schedule/schedule.h"

namespace tokamak {

struct SweptRows {
  LoopVar outermost;  ///< swept loop
  LoopVar innermost;
  LoopVar lanes;      ///< the vector loop
  bool side_by_side;  ///< all of its rows are swept together: what is swept next takes the place of the next
                      ///< row
};
std::optional<FetchAhead> choose_fetch_ahead(const LoopKernel& kernel, const SweptRows& rows, const Cpu& cpu);

void fetch_ahead(LoopKernel& kernel, const FetchAhead& decision);

/// The same of a loop that sweeps nothing: elements of large arrays one after the other, if there is much to
/// compute of each.
std::optional<FetchOn> choose_fetch_on(const LoopKernel& kernel, LoopVar var, const Cpu& cpu);

void fetch_on(LoopKernel& kernel, const FetchOn& decision);

/// The same of rows that are kept, in the loop over `kept`, for one over `var` (neighbours.h): during the second
/// memory would be idle. `later`: as many rows as are kept at a time.
std::optional<FetchToKeep> choose_fetch_to_keep(const LoopKernel& kernel, LoopVar row,
                                                const KeepNeighbours& kept, int64_t later, const Cpu& cpu);

void fetch_to_keep(LoopKernel& kernel, const FetchToKeep& decision);

}  // namespace tokamak
