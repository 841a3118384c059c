#pragma once

// How outputs are stored: past the caches or through them, and in whole cache lines or not.

#include <vector>

#include "schedule/axes.h"
#include "schedule/schedule.h"
#include "support/cpu.h"

namespace tokamak {

/// Of loops as they are when it is asked.
class StoreChoice {
 public:
  /// `sweeps_in_lanes`: the vector loop goes along what is swept. `read_soon`: something may follow that
  /// reads the outputs.
  StoreChoice(const LoopKernel& loops, const Domain& domain, bool sweeps_in_lanes, bool read_soon,
              const Cpu& cpu);

  /// Outputs that are stored past the caches.
  std::vector<BufferId> streamed() const;
  /// Whether the loops that store one of those had better begin where its lines do, as its rows do not.
  bool begins_within_lines(BufferId streamed) const;
  /// Outputs that go through the caches and whose loops may begin where their lines do: where registers are
  /// as wide as cache lines, one that is not stored to one line is stored to two. What is read from the same
  /// places of other rows is aligned with it.
  std::vector<BufferId> through_caches() const;

 private:
  std::vector<BufferId> outputs() const;
  bool fills_lines(BufferId output) const;
  int64_t row_bytes(BufferId buffer) const;

  const LoopKernel& loops_;
  const Domain& domain_;
  const bool sweeps_in_lanes_;
  const bool read_soon_;
  const Cpu& cpu_;
};

}  // namespace tokamak
