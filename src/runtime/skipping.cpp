#include "runtime/skipping.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/rounding.h"

namespace tokamak {

bool Skipping::is_bounded() const { return !std::isinf(visible_.largest_product); }

std::atomic<double>* Skipping::largest_of(size_t stage, bool is_lhs) const {
  if (is_masked(stage) && is_bounded()) return &largest_[is_lhs ? scores_lhs : scores_rhs];
  return stage + 1 == step_.stages.size() && !is_lhs ? &largest_[values] : nullptr;
}

SkippedUnits Skipping::units_for(double largest_value) const {
  if (!std::isfinite(largest_value)) return {};
  const double largest_product =
      1.01 * static_cast<double>(scores_.depth) * largest_[scores_lhs].load() * largest_[scores_rhs].load();
  if (is_bounded() && !(largest_product <= visible_.largest_product)) return {};
  const SweptRange& range = *scores_.kernel->range;
  return {std::lcm(range.first_unit, scores_.method->b_panel()),
          std::lcm(range.end_unit, scores_.method->column_unit())};
}

ColumnRange Skipping::columns(int64_t row, int64_t row_end, SkippedUnits units) const {
  if (units.end == 0) return {0, scores_.columns};
  const std::vector<VisibleRange>& rows = visible_.rows;
  ColumnRange found{scores_.columns, 0};
  for (int64_t i = row; i < row_end; ++i) {
    const VisibleRange& one = rows[static_cast<size_t>(i) % rows.size()];
    if (one.first >= one.end) continue;
    found = {std::min(found.first, one.first), std::max(found.end, one.end)};
  }
  if (found.first >= found.end) found = {0, 1};
  return {found.first / units.first * units.first, std::min(round_up(found.end, units.end), scores_.columns)};
}

}  // namespace tokamak
