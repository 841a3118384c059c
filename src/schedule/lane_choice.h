#pragma once

// How many iterations a vector loop runs at once.

#include <optional>

#include "schedule/axes.h"
#include "support/cpu.h"

namespace tokamak {

/// For loops as they are now; `axis` is that of the vector loop, if it is known by now.
class LaneChoice {
 public:
  LaneChoice(const LoopKernel& loops, const Domain& domain, std::optional<size_t> axis, const Cpu& cpu);

  /// What one register holds of the widest element that is not the same for all lanes.
  int64_t of_a_register() const;
  /// As many as that; several registers' worth where a reduction would wait for its own last step otherwise,
  /// one gather for the next, or a long body for each of its steps.
  int of_loop(int64_t extent, bool sweeps) const;
  /// The same of a sweep all along a row, whose sums may have as many lanes as there are.
  int of_long_sweep(int64_t extent) const;
  /// Of a sweep whose lanes are rows: so many that a few rows are swept together, since what lies next to
  /// each other is then read at once; unless something has to be put together lane by lane.
  int of_rows(int64_t extent) const;
  /// Of a sweep that only looks for a largest or smallest element; 1 for what is no such sweep.
  int of_search(const Loop& loop) const;
  /// Of a sweep whose only sums count how often something holds: a round adds how often at once, however many
  /// lanes it has. 1 for what is no such sweep.
  int of_count(const Loop& loop) const;

 private:
  int chains_at_once(double cost) const;
  Sizes sizes_in_lanes(const Loop& loop) const;
  double cost_of_sweeps(const Loop& loop) const;
  bool gathers_in_turn() const;
  bool loads_lane_by_lane() const;
  bool looks_up() const;  ///< whether data says where something is read
  /// Of all nests; what is done once for a row counts only if lanes are rows.
  Sizes all_sizes(bool per_sweep) const;
  std::optional<int64_t> widest_in_long_sweeps() const;
  int fitting(int64_t extent, const Sizes& sizes, bool sweeps) const;

  const LoopKernel& loops_;
  const Domain& domain_;
  const Cpu& cpu_;
  std::optional<LoopVar> lanes_;
  std::optional<Varying> varying_;
};

}  // namespace tokamak
