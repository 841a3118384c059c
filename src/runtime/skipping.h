#pragma once

// The columns of scores that a mask hides from all rows of a block, and that are skipped where that changes
// nothing: their scores are small beside the others, and what is multiplied by their zeros is finite.

#include <atomic>
#include <cstdint>

#include "runtime/block_step.h"

namespace tokamak {

/// Columns are skipped in multiples of these, at either end; 0: none are.
struct SkippedUnits {
  int64_t first = 0;
  int64_t end = 0;
};

struct ColumnRange {
  int64_t first, end;
};

/// Of one run of a step that has `visible`: the scores are its stage before the last, what they are then
/// multiplied with the second operand of the last.
class Skipping {
 public:
  explicit Skipping(const BlockStep& step)
      : step_(step), scores_(step.stages[step.stages.size() - 2]), visible_(*step.visible) {}

  bool is_masked(size_t stage) const { return stage + 2 == step_.stages.size(); }
  /// Whether keys and values are packed with each element of the batch, which then has its own units.
  bool packs_with_blocks() const { return !step_.stages.back().rhs.packed; }

  /// Where the largest magnitude of an operand that is packed ahead is to be noted; null: nowhere.
  std::atomic<double>* largest_of(size_t stage, bool is_lhs) const;
  /// When these have been noted.
  SkippedUnits units() const { return units_for(largest_[values].load()); }
  SkippedUnits units_for(double largest_value) const;

  /// The columns that these rows need, the first of them that of a panel, and at least some.
  ColumnRange columns(int64_t row, int64_t row_end, SkippedUnits units) const;

 private:
  bool is_bounded() const;

  const BlockStep& step_;
  const BlockStage& scores_;
  const VisibleColumns& visible_;
  enum Largest : uint8_t { scores_lhs, scores_rhs, values };
  mutable std::atomic<double> largest_[3] = {};
};

}  // namespace tokamak
