#include "library/operand_view.h"

#include <algorithm>

#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// The least and the most of a bound's sum over `axes`, whose first coefficient is at `first`.
struct Interval {
  int64_t low = 0;
  int64_t high = 0;

  void add(const std::vector<ProductAxis>& axes, const ProductBound& bound, size_t first) {
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t most = bound.coefficients[first + i] * (axes[i].extent - 1);
      low += std::min<int64_t>(most, 0);
      high += std::max<int64_t>(most, 0);
    }
  }
};

/// Whether the axis at `index` goes on where the inner one ends: in memory and in every bound.
bool continues(const ViewAxes& axes, int bounds, int index, int64_t extent, int64_t stride,
               const int64_t* coefficients) {
  if (axes.stride[index] != stride * extent) return false;
  for (int b = 0; b < bounds; ++b) {
    if (axes.coefficient[b][index] != coefficients[b] * extent) return false;
  }
  return true;
}

void append(ViewAxes& axes, int bounds, const ProductAxis& axis, const int64_t* coefficients) {
  axes.elements *= axis.extent;
  if (axis.extent == 1) return;
  int at = axes.count;
  if (at > 0 && continues(axes, bounds, at - 1, axis.extent, axis.stride, coefficients)) {
    --at;
    axes.extent[at] *= axis.extent;
  } else {
    if (at == kMaxViewAxes) throw InternalError("a product of more axes than an array can have");
    axes.extent[at] = axis.extent;
    ++axes.count;
  }
  axes.stride[at] = axis.stride;
  for (int b = 0; b < bounds; ++b) axes.coefficient[b][at] = coefficients[b];
}

}  // namespace

OperandView::OperandView(const ProductOperand& operand)
    : data(static_cast<const unsigned char*>(operand.data)) {
  const ProductBound* kept[kMaxViewBounds];
  const size_t line_axes = operand.lines.size();
  for (const ProductBound& bound : operand.bounds) {
    Interval along_k;
    along_k.add(operand.contracted, bound, line_axes);
    Interval all = along_k;
    all.add(operand.lines, bound, 0);
    if (bound.offset + all.low >= 0 && bound.offset + all.high < bound.extent) continue;
    if (bounds == kMaxViewBounds) throw InternalError("a product with too many bounds");
    bound_offset[bounds] = bound.offset;
    bound_extent[bounds] = bound.extent;
    contracted_low[bounds] = along_k.low;
    contracted_high[bounds] = along_k.high;
    kept[bounds++] = &bound;
  }
  auto add_axes = [&](ViewAxes& axes, const std::vector<ProductAxis>& from, size_t first) {
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t coefficients[kMaxViewBounds];
      for (int b = 0; b < bounds; ++b) coefficients[b] = kept[b]->coefficients[first + i];
      append(axes, bounds, from[i], coefficients);
    }
  };
  add_axes(lines, operand.lines, 0);
  add_axes(contracted, operand.contracted, line_axes);
}

AxisWalk::AxisWalk(const ViewAxes& axes, int depth, int bounds)
    : axes_(axes), depth_(depth), bounds_(bounds) {
  std::fill_n(position_, depth, 0);
  std::fill_n(bound_, bounds, 0);
}

void AxisWalk::seek(int64_t step) {
  offset_ = 0;
  std::fill_n(bound_, bounds_, 0);
  for (int axis = depth_ - 1; axis >= 0; --axis) {
    position_[axis] = step % axes_.extent[axis];
    step /= axes_.extent[axis];
    offset_ += position_[axis] * axes_.stride[axis];
    for (int b = 0; b < bounds_; ++b) bound_[b] += position_[axis] * axes_.coefficient[b][axis];
  }
}

void AxisWalk::advance(int axis) {
  for (; axis >= 0; --axis) {
    offset_ += axes_.stride[axis];
    for (int b = 0; b < bounds_; ++b) bound_[b] += axes_.coefficient[b][axis];
    if (++position_[axis] < axes_.extent[axis]) return;
    position_[axis] = 0;
    offset_ -= axes_.stride[axis] * axes_.extent[axis];
    for (int b = 0; b < bounds_; ++b) bound_[b] -= axes_.coefficient[b][axis] * axes_.extent[axis];
  }
}

void AxisWalk::skip(int64_t steps) {
  if (depth_ == 0 || steps == 0) return;
  const int last = depth_ - 1;
  position_[last] += steps - 1;
  offset_ += axes_.stride[last] * (steps - 1);
  for (int b = 0; b < bounds_; ++b) bound_[b] += axes_.coefficient[b][last] * (steps - 1);
  advance(last);
}

}  // namespace tokamak
