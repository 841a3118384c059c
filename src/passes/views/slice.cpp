// slice and dynamic_slice, moved towards what they read until they merge with it or pick one part of it.

#include <algorithm>
#include <limits>

#include "passes/views/context.h"

namespace tokamak {
namespace {

Pending slice(Value of, const std::vector<AxisRange>& ranges) {
  return {Op::slice, {of}, slice_attributes(ranges)};
}

bool is_empty(const std::vector<AxisRange>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [](const AxisRange& range) { return range.count == 0; });
}

Shape shape_of(const std::vector<AxisRange>& ranges) {
  Shape shape;
  for (const AxisRange& range : ranges) shape.push_back(range.count);
  return shape;
}

Rewrite slice_of_slice(const ViewContext& context, Value inner, Value operand,
                       const std::vector<AxisRange>& outer) {
  std::vector<AxisRange> ranges = ranges_of(context.graph()[inner].attributes, context.shape_of(operand));
  for (size_t i = 0; i < outer.size(); ++i) {
    if (outer[i].count == 0) {
      ranges[i] = {};
    } else {
      ranges[i] = {ranges[i].start + outer[i].start * ranges[i].step, ranges[i].step * outer[i].step,
                   outer[i].count};
    }
  }
  return slice(operand, ranges);
}

/// slice(broadcast(x)) = broadcast(slice(x)): stretched axes only change their extent.
Rewrite slice_of_broadcast(ViewContext& context, Value inner, Value operand,
                           const std::vector<AxisRange>& outer) {
  const Shape& from = context.shape_of(operand);
  const Shape& to = context.shape_of(inner);
  const size_t added = to.size() - from.size();
  std::vector<AxisRange> ranges;
  for (size_t i = 0; i < from.size(); ++i) {
    ranges.push_back(is_stretched(from, to, i + added) ? AxisRange{0, 1, from[i]} : outer[i + added]);
  }
  const Value part = context.make_inner(slice(operand, ranges));
  return Pending{Op::broadcast, {part}, {{Attr::shape, shape_of(outer)}}};
}

/// slice(transpose(x)) = transpose(slice(x)), where that brings the slice to something it can merge with.
std::optional<Rewrite> slice_of_transpose(ViewContext& context, Value inner, Value operand,
                                          const std::vector<AxisRange>& outer) {
  const Op below = context.graph()[operand].op;
  const bool merges =
      below == Op::slice || below == Op::broadcast || below == Op::concatenate || below == Op::pad;
  if (!merges) return std::nullopt;
  const Attributes attributes = context.graph()[inner].attributes;
  const Ints& permutation = attributes.ints(Attr::permutation);
  std::vector<AxisRange> ranges(outer.size());
  for (size_t i = 0; i < outer.size(); ++i) ranges[static_cast<size_t>(permutation[i])] = outer[i];
  const Value part = context.make_inner(slice(operand, ranges));
  return Pending{Op::transpose, {part}, attributes};
}

/// slice(reverse(x)) = reverse(slice(x)), counting from the other end.
Rewrite slice_of_reverse(ViewContext& context, Value inner, Value operand,
                         const std::vector<AxisRange>& outer) {
  const Attributes attributes = context.graph()[inner].attributes;
  std::vector<AxisRange> ranges = outer;
  for (int64_t axis : attributes.ints(Attr::axes)) {
    AxisRange& range = ranges[static_cast<size_t>(axis)];
    if (range.count == 0) continue;
    range.start = context.shape_of(operand)[static_cast<size_t>(axis)] - 1 - range.last();
  }
  const Value part = context.make_inner(slice(operand, ranges));
  return Pending{Op::reverse, {part}, attributes};
}

/// A slice of elements that all come from one operand of a concatenation needs only that one. A slice across
/// several leaves the concatenation whole: others read it too, and each would get a different one.
std::optional<Rewrite> slice_of_concatenation(ViewContext& context, Value inner,
                                              const std::vector<AxisRange>& outer) {
  if (is_empty(outer)) return std::nullopt;
  const auto axis = static_cast<size_t>(context.graph()[inner].attributes.integer(Attr::axis));
  const std::vector<int64_t>& offsets = context.offsets_of(inner);
  const auto piece_with = [&](int64_t element) {
    return static_cast<size_t>(std::upper_bound(offsets.begin(), offsets.end(), element) - offsets.begin() -
                               1);
  };
  const size_t piece = piece_with(outer[axis].start);
  if (piece != piece_with(outer[axis].last())) return std::nullopt;
  std::vector<AxisRange> ranges = outer;
  ranges[axis].start -= offsets[piece];
  return slice(context.graph()[inner].inputs[piece], ranges);
}

/// A slice within the padded operand needs no padding; one within the padding needs nothing else.
std::optional<Rewrite> slice_of_padding(const ViewContext& context, Value inner,
                                        const std::vector<AxisRange>& outer) {
  if (is_empty(outer)) return std::nullopt;
  const Node& pad = context.graph()[inner];
  const Shape& operand = context.shape_of(pad.inputs[0]);
  const Ints& low = pad.attributes.ints(Attr::low);
  const Ints& interior = pad.attributes.ints(Attr::interior);
  std::vector<AxisRange> ranges = outer;
  bool inside = true;
  for (size_t i = 0; i < outer.size(); ++i) {
    const int64_t end = context.shape_of(inner)[i] - pad.attributes.ints(Attr::high)[i];
    if (outer[i].last() < low[i] || outer[i].start >= end) {
      return Pending{Op::broadcast, {pad.inputs[1]}, {{Attr::shape, shape_of(outer)}}};
    }
    ranges[i].start -= low[i];
    const int64_t apart = operand[i] > 1 ? interior[i] + 1 : 1;  // elements of the operand
    const bool in_step = outer[i].count == 1 || outer[i].step % apart == 0;
    if (in_step && ranges[i].start >= 0 && ranges[i].start % apart != 0) {
      return Pending{Op::broadcast, {pad.inputs[1]}, {{Attr::shape, shape_of(outer)}}};
    }
    inside = inside && in_step && outer[i].start >= low[i] && outer[i].last() < end;
    ranges[i].start /= apart;
    if (outer[i].count > 1) ranges[i].step /= apart;
  }
  if (!inside) return std::nullopt;
  return slice(pad.inputs[0], ranges);
}

}  // namespace

std::vector<AxisRange> ranges_of(const Attributes& slice, const Shape& operand) {
  const Ints& starts = slice.ints(Attr::starts);
  const Ints& limits = slice.ints(Attr::limits);
  const Ints& steps = slice.ints(Attr::steps);
  std::vector<AxisRange> ranges(operand.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t length = limits[i] - starts[i];
    if (length > 0) ranges[i] = {starts[i], steps[i], (length - 1) / steps[i] + 1};
    if (ranges[i].count == 1) ranges[i].step = 1;  // so that no product with a step overflows
  }
  return ranges;
}

Attributes slice_attributes(const std::vector<AxisRange>& ranges) {
  Ints starts;
  Ints limits;
  Ints steps;
  for (const AxisRange& range : ranges) {
    const bool strides = range.count > 1;
    starts.push_back(range.count == 0 ? 0 : range.start);
    limits.push_back(range.count == 0 ? 0 : range.last() + 1);
    steps.push_back(strides ? range.step : 1);
  }
  return {
      {Attr::starts, std::move(starts)}, {Attr::limits, std::move(limits)}, {Attr::steps, std::move(steps)}};
}

std::optional<Rewrite> rewrite_slice(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const Shape& shape = context.shape_of(input);
  const std::vector<AxisRange> ranges = ranges_of(node.attributes, shape);
  if (shape_of(ranges) == shape) return input;  // as many elements as there are: all of them

  const Node& inner = context.graph()[input];
  switch (inner.op) {
    case Op::slice:
      return slice_of_slice(context, input, inner.inputs[0], ranges);
    case Op::broadcast:
      return slice_of_broadcast(context, input, inner.inputs[0], ranges);
    case Op::transpose:
      return slice_of_transpose(context, input, inner.inputs[0], ranges);
    case Op::reverse:
      return slice_of_reverse(context, input, inner.inputs[0], ranges);
    case Op::concatenate:
      return slice_of_concatenation(context, input, ranges);
    case Op::pad:
      return slice_of_padding(context, input, ranges);
    case Op::select:
      if (const std::optional<Value> chosen = chosen_for(context.graph(), input, ranges))
        return slice(*chosen, ranges);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Starts that are known make it a slice; they are clamped so that the window lies inside.
std::optional<Rewrite> rewrite_dynamic_slice(ViewContext& context, const Pending& node) {
  const Ints& sizes = node.attributes.ints(Attr::sizes);
  const Shape& shape = context.shape_of(node.inputs[0]);
  std::vector<AxisRange> ranges;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t room = shape[i] - sizes[i];
    const Tensor* start = context.graph().constant_value(node.inputs[i + 1]);
    if (start == nullptr && room != 0) return std::nullopt;
    int64_t at = start == nullptr ? 0 : element_as_int(*start, 0);
    const bool wrapped = start != nullptr && start->type().dtype == DType::u64 && at < 0;
    if (wrapped) at = std::numeric_limits<int64_t>::max();
    ranges.push_back({std::clamp<int64_t>(at, 0, room), 1, sizes[i]});
  }
  return slice(node.inputs[0], ranges);
}

}  // namespace tokamak
