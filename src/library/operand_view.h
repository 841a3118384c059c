#pragma once

#include <cstdint>

#include "library/product.h"

namespace tokamak {

/// What an operand is once simplified. More than this needs a shape nobody has: every further axis at least
/// doubles the elements.
inline constexpr int kMaxViewAxes = 64;
inline constexpr int kMaxViewBounds = 8;

/// Axes of an operand, outermost first, with none that has one step and none that continues its neighbour.
struct ViewAxes {
  int count = 0;
  int64_t elements = 1;
  int64_t extent[kMaxViewAxes];
  int64_t stride[kMaxViewAxes];
  int64_t coefficient[kMaxViewBounds][kMaxViewAxes];  ///< of each bound
};

/// An operand without what does not matter: axes are merged, bounds that always hold are gone.
///   lines [(4, 96), (8, 12)], contracted [(1, 5), (3, 4)]
///   =>  lines [(32, 12)], contracted [(3, 4)]
struct OperandView {
  const unsigned char* data;
  ViewAxes lines;
  ViewAxes contracted;
  int bounds = 0;
  int64_t bound_offset[kMaxViewBounds];
  int64_t bound_extent[kMaxViewBounds];
  int64_t contracted_low[kMaxViewBounds];  ///< the least and the most that k adds to a bound
  int64_t contracted_high[kMaxViewBounds];

  explicit OperandView(const ProductOperand& operand);
  OperandView(const OperandView&) = delete;
  OperandView& operator=(const OperandView&) = delete;
};

/// Walks over the first `depth` axes in row-major order.
class AxisWalk {
 public:
  AxisWalk(const ViewAxes& axes, int depth, int bounds);

  /// Goes to a step counted from the first.
  void seek(int64_t step);
  /// To the next one; after the last, the first again.
  void next() { advance(depth_ - 1); }
  /// `steps` further along the last axis, at most to its end.
  void skip(int64_t steps);
  /// Steps left along the last axis, including this one; 1 without axes.
  int64_t left() const { return depth_ == 0 ? 1 : axes_.extent[depth_ - 1] - position_[depth_ - 1]; }

  int64_t offset() const { return offset_; }                ///< bytes
  int64_t bound(int index) const { return bound_[index]; }  ///< sum of coefficient * position

 private:
  void advance(int axis);

  const ViewAxes& axes_;
  int depth_;
  int bounds_;
  int64_t offset_ = 0;
  int64_t position_[kMaxViewAxes];
  int64_t bound_[kMaxViewBounds];
};

}  // namespace tokamak
