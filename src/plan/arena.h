#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tokamak {

/// A piece of the arena that is needed during the steps first..last.
struct ArenaItem {
  int64_t bytes;  ///< a multiple of 64, more than 0
  int first;
  int last;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  ///< by item
  int64_t bytes = 0;
  int64_t lower_bound = 0;  ///< the most bytes that are needed at one step
};

/// Gives offsets to items such that those needed at the same step do not overlap, in as little space as it
/// finds.
///
/// First in the order of time, each into the smallest hole that holds it. If that does not meet the lower
/// bound, also the largest first, each into the smallest gap between those already placed that it meets in
/// time; the better of the two counts. The second is given up where so many items meet that it would take
/// long.
ArenaLayout lay_out_arena(std::span<const ArenaItem> items);

}  // namespace tokamak
