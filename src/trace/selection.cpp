#include "trace/selection.h"

#include <algorithm>
#include <cstdlib>

#include "trace/apply.h"
#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

constexpr std::source_location kHere = std::source_location::current();

/// The elements from `first` on, before `end`, of every axis.
Array sliced(const Array& x, Ints starts, Ints limits, Ints steps) {
  return apply(
      Op::slice, {x},
      {{Attr::starts, std::move(starts)}, {Attr::limits, std::move(limits)}, {Attr::steps, std::move(steps)}},
      kHere);
}

/// The elements from `first` on, before `end`, of one axis, and all of the others; nothing where there are
/// none.
void append_run(std::vector<Array>& parts, const Array& x, size_t axis, int64_t first, int64_t end) {
  if (first >= end) return;
  Ints starts(x.shape().size(), 0);
  Ints limits = x.shape();
  Ints steps(x.shape().size(), 1);
  starts[axis] = first;
  limits[axis] = end;
  parts.push_back(sliced(x, std::move(starts), std::move(limits), std::move(steps)));
}

/// What is before, the new elements, what is behind: a concatenation, which those who read a part see
/// through.
Array with_run(const Array& x, const Array& by, size_t axis, int64_t first) {
  std::vector<Array> parts;
  append_run(parts, x, axis, 0, first);
  parts.push_back(by);
  append_run(parts, x, axis, first + by.shape()[axis], x.shape()[axis]);
  return apply(Op::concatenate, parts, {{Attr::axis, static_cast<int64_t>(axis)}}, kHere);
}

Array number_like(int64_t number, const Array& like) {
  const Operand operands[] = {like};
  return number_array(number, like.dtype(), trace_of(operands), "x[...] = y", kHere);
}

/// Where range(first, end, step) has the position along an axis of an array of that shape.
Array is_between(const Shape& shape, size_t axis, int64_t first, int64_t end, int64_t step) {
  const int64_t extent = shape[axis];
  const DType dtype = extent < int64_t{1} << 31 ? DType::i32 : DType::i64;
  const Array position = apply(
      Op::iota, {},
      {{Attr::shape, Ints(shape)}, {Attr::axis, static_cast<int64_t>(axis)}, {Attr::dtype, dtype}}, kHere);
  std::optional<Array> all;
  const auto require = [&](Op op, const Array& of, int64_t limit) {
    const Array holds = apply(op, {of, number_like(limit, of)}, {}, kHere);
    all = all ? apply(Op::bit_and, {*all, holds}, {}, kHere) : holds;
  };
  if (first > 0) require(Op::ge, position, first);
  if (end < extent) require(Op::lt, position, end);
  if (step > 1) {
    const Array distance = apply(Op::sub, {position, number_like(first, position)}, {}, kHere);
    require(Op::eq, apply(Op::mod, {distance, number_like(step, position)}, {}, kHere), 0);
  }
  return *all;
}

/// x where it is not selected, and elsewhere `by`, which is spread over the shape of x for that.
Array chosen(const Array& x, const Array& by, const Ints& starts, const Ints& ends, const Ints& steps) {
  const Shape& shape = x.shape();
  Ints high, interior;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    high.push_back(shape[axis] - ends[axis]);
    interior.push_back(steps[axis] - 1);
  }
  const Array spread = apply(
      Op::pad, {by, number_like(0, by)},
      {{Attr::low, starts}, {Attr::high, std::move(high)}, {Attr::interior, std::move(interior)}}, kHere);
  std::optional<Array> inside;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (by.shape()[axis] == shape[axis]) continue;
    const Array here = is_between(shape, axis, starts[axis], ends[axis], steps[axis]);
    inside = inside ? apply(Op::bit_and, {*inside, here}, {}, kHere) : here;
  }
  return apply(Op::select, {*inside, spread, x}, {}, kHere);
}

/// x with the elements from `starts` on, every `steps`, replaced.
Array with_slice(const Array& x, const Array& by, const Ints& starts, const Ints& steps) {
  if (by.size() == 0) return x;
  if (by.shape() == x.shape()) return by;
  Ints ends;
  std::vector<size_t> partial;
  for (size_t axis = 0; axis < starts.size(); ++axis) {
    ends.push_back(starts[axis] + (by.shape()[axis] - 1) * steps[axis] + 1);
    if (by.shape()[axis] != x.shape()[axis]) partial.push_back(axis);
  }
  const size_t first = partial.front();
  if (partial.size() == 1 && ends[first] - starts[first] == by.shape()[first])
    return with_run(x, by, first, starts[first]);
  return chosen(x, by, starts, ends, steps);
}

}  // namespace

int64_t Selection::Range::count() const { return end <= first ? 0 : (end - first - 1) / std::abs(step) + 1; }

Selection::Selection(std::vector<Range> ranges, Ints axes)
    : ranges_(std::move(ranges)), axes_(std::move(axes)) {}

bool Selection::is_sliced(const Shape& shape) const {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Range& range = ranges_[axis];
    if (range.first != 0 || range.end != shape[axis] || std::abs(range.step) != 1) return true;
  }
  return false;
}

Ints Selection::turned() const {
  Ints turned;
  for (size_t axis = 0; axis < ranges_.size(); ++axis)
    if (ranges_[axis].step < 0) turned.push_back(static_cast<int64_t>(axis));
  return turned;
}

Shape Selection::shape_in_array() const {
  Shape shape;
  for (const Range& range : ranges_) shape.push_back(range.count());
  return shape;
}

Shape Selection::shape() const {
  Shape shape;
  for (int64_t axis : axes_)
    shape.push_back(axis == kNewAxis ? 1 : ranges_[static_cast<size_t>(axis)].count());
  return shape;
}

bool Selection::is_all_of(const Shape& shape) const {
  return !is_sliced(shape) && turned().empty() && this->shape() == shape;
}

Array Selection::of(const Array& x) const {
  const AtLine line(kHere);
  Array found = x;
  if (is_sliced(x.shape())) {
    Ints starts, limits, steps;
    for (const Range& range : ranges_) {
      starts.push_back(range.first);
      limits.push_back(range.end);
      steps.push_back(std::abs(range.step));
    }
    found = sliced(found, std::move(starts), std::move(limits), std::move(steps));
  }
  if (Ints axes = turned(); !axes.empty())
    found = apply(Op::reverse, {found}, {{Attr::axes, std::move(axes)}}, kHere);
  return reshaped(found, shape(), kHere);
}

Array Selection::replaced(const Array& x, const Array& by) const {
  const AtLine line(kHere);
  Array made = reshaped(by, shape_in_array(), kHere);
  if (Ints axes = turned(); !axes.empty())
    made = apply(Op::reverse, {made}, {{Attr::axes, std::move(axes)}}, kHere);
  Ints starts, steps;
  for (const Range& range : ranges_) {
    starts.push_back(range.first);
    steps.push_back(std::abs(range.step));
  }
  return with_slice(x, made, starts, steps);
}

Ints Selection::strides(const Ints& of_array) const {
  Ints strides;
  for (int64_t along : axes_) {
    const auto axis = static_cast<size_t>(along);
    strides.push_back(along == kNewAxis ? 0 : of_array[axis] * ranges_[axis].step);
  }
  return strides;
}

}  // namespace tokamak
