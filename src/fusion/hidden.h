#pragma once

// Scores of attention that a mask hides.
//
// Softmax makes rows of exponentials, exp(s - max(s)), which a product then multiplies with values. Where a
// mask has made a score so small that its exponential is zero, neither the score nor anything that follows
// from it is needed: the columns before the first and after the last that a row can see need not be computed.

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "fusion/kernel.h"

namespace tokamak {

/// How the scores of a kernel are masked.
struct HiddenScores {
  /// where(mask, scores, fill), where(mask, fill, scores), or scores + mask.
  struct Mask {
    enum class Kind : uint8_t { shows, hides, added };
    Kind kind;
    Value value;      ///< of the body
    double fill = 0;  ///< far below any score
  };
  Value scores;  ///< with all masks
  std::vector<Mask> masks;
  /// The masks hide only what is small enough. Scores are the product times this, at most. Without it, they
  /// may be anything: what is hidden is minus infinity.
  std::optional<double> factor;
};

/// What a kernel with a feeder need not compute of the feeder's columns, if there can be such a thing.
std::optional<HiddenScores> find_hidden_scores(const FusedKernel& kernel);

/// The columns [first, end) that a row can see; end <= first when it sees none.
struct VisibleRange {
  int64_t first;
  int64_t end;
};

/// By position of the row: rows beyond the last begin from the first again.
struct VisibleColumns {
  std::vector<VisibleRange> rows;
  /// What is outside of the ranges has no effect as long as no element of the product is larger than this.
  double largest_product = std::numeric_limits<double>::infinity();
};

/// `constant` gives the value of an input of the feeder that is known, or null. Nothing when every row sees
/// everything.
std::optional<VisibleColumns> find_visible_columns(
    const FusedKernel& feeder, const HiddenScores& hidden,
    const std::function<const Tensor*(size_t input)>& constant);

}  // namespace tokamak
