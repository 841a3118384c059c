// Views that keep the elements and change their places: transpose, reverse, reshape, broadcast.

#include <algorithm>

#include "ops/record.h"
#include "passes/views/context.h"

namespace tokamak {
namespace {

/// The value under a reshape that only puts axes of extent 1 in front, which broadcasting does by itself.
std::optional<Value> under_leading_ones(const ViewContext& context, Value value) {
  const std::optional<Value> operand = context.operand_of(value, Op::reshape);
  if (!operand) return std::nullopt;
  const Shape& from = context.shape_of(*operand);
  const Shape& to = context.shape_of(value);
  if (to.size() <= from.size()) return std::nullopt;
  const auto split = to.end() - static_cast<int64_t>(from.size());
  const bool only_ones = std::all_of(to.begin(), split, [](int64_t extent) { return extent == 1; });
  if (!only_ones || !std::equal(split, to.end(), from.begin())) return std::nullopt;
  return operand;
}

/// The scalar that `value` repeats, when it is a broadcast of one.
std::optional<Value> repeated_scalar(const ViewContext& context, Value value) {
  const std::optional<Value> operand = context.operand_of(value, Op::broadcast);
  if (operand && context.shape_of(*operand).empty()) return operand;
  return std::nullopt;
}

Rewrite broadcast_to(Value value, Shape shape) {
  return Pending{Op::broadcast, {value}, {{Attr::shape, std::move(shape)}}};
}

/// Every operand without the broadcasts around it. Nothing when none has any.
std::optional<std::vector<Value>> without_broadcasts(const ViewContext& context,
                                                     const std::vector<Value>& inputs) {
  std::vector<Value> bare = inputs;
  for (Value& input : bare) {
    constexpr int kMaxLayers = 4;
    for (int i = 0; i < kMaxLayers; ++i) {
      std::optional<Value> inner = context.operand_of(input, Op::broadcast);
      if (!inner) inner = under_leading_ones(context, input);
      if (!inner) break;
      input = *inner;
    }
  }
  if (bare == inputs) return std::nullopt;
  return bare;
}

}  // namespace

bool is_stretched(const Shape& from, const Shape& to, size_t axis) {
  const size_t added = to.size() - from.size();
  return axis < added || from[axis - added] != to[axis];
}

std::optional<Rewrite> rewrite_transpose(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const Ints& permutation = node.attributes.ints(Attr::permutation);
  if (std::is_sorted(permutation.begin(), permutation.end())) return input;
  if (const auto operand = context.operand_of(input, Op::transpose)) {
    const Ints& inner = context.graph()[input].attributes.ints(Attr::permutation);
    Ints composed;
    for (int64_t axis : permutation) composed.push_back(inner[static_cast<size_t>(axis)]);
    return Pending{Op::transpose, {*operand}, {{Attr::permutation, std::move(composed)}}};
  }
  if (const auto scalar = repeated_scalar(context, input)) {
    Shape shape;
    for (int64_t axis : permutation) shape.push_back(context.shape_of(input)[static_cast<size_t>(axis)]);
    return broadcast_to(*scalar, std::move(shape));
  }
  return std::nullopt;
}

std::optional<Rewrite> rewrite_reverse(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const Shape& shape = context.shape_of(input);
  const Ints& axes = node.attributes.ints(Attr::axes);
  const auto reverse = [](Value of, Ints along) {
    return Pending{Op::reverse, {of}, {{Attr::axes, std::move(along)}}};
  };

  // Axes on which there is nothing to turn around
  const auto broadcast_from = context.operand_of(input, Op::broadcast);
  Ints kept;
  for (int64_t axis : axes) {
    const auto i = static_cast<size_t>(axis);
    const bool repeats = broadcast_from && is_stretched(context.shape_of(*broadcast_from), shape, i);
    if (shape[i] > 1 && !repeats) kept.push_back(axis);
  }
  if (kept.empty()) return input;
  if (kept.size() != axes.size()) return reverse(input, std::move(kept));

  if (const auto operand = context.operand_of(input, Op::reverse)) {
    const Ints& inner = context.graph()[input].attributes.ints(Attr::axes);
    Ints once;
    std::set_symmetric_difference(axes.begin(), axes.end(), inner.begin(), inner.end(),
                                  std::back_inserter(once));
    return reverse(*operand, std::move(once));
  }
  return std::nullopt;
}

std::optional<Rewrite> rewrite_reshape(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const Shape& shape = node.attributes.ints(Attr::shape);
  if (shape == context.shape_of(input)) return input;
  if (const auto operand = context.operand_of(input, Op::reshape)) {
    return Pending{Op::reshape, {*operand}, node.attributes};
  }
  if (const auto scalar = repeated_scalar(context, input)) return broadcast_to(*scalar, shape);
  return std::nullopt;
}

std::optional<Rewrite> rewrite_broadcast(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const Shape& shape = node.attributes.ints(Attr::shape);
  if (shape == context.shape_of(input)) return input;
  if (const auto operand = context.operand_of(input, Op::broadcast)) return broadcast_to(*operand, shape);
  if (const auto operand = under_leading_ones(context, input)) return broadcast_to(*operand, shape);
  return std::nullopt;
}

/// Operands broadcast anyway. When all of them were stretched, the operation is done before, on fewer
/// elements.
std::optional<Rewrite> rewrite_elementwise(ViewContext& context, const Pending& node) {
  std::optional<std::vector<Value>> bare = without_broadcasts(context, node.inputs);
  if (!bare) return std::nullopt;
  std::vector<Shape> wide;
  std::vector<Shape> narrow;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    wide.push_back(context.shape_of(node.inputs[i]));
    narrow.push_back(context.shape_of((*bare)[i]));
  }
  const Shape shape = *broadcast_shapes(wide);
  Pending inner{node.op, std::move(*bare), node.attributes};
  if (*broadcast_shapes(narrow) == shape) return inner;
  return broadcast_to(context.make_inner(std::move(inner)), shape);
}

}  // namespace tokamak
