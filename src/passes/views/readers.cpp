// Operations that read views and can do without them: concatenate, pad, reductions.

#include <algorithm>

#include "passes/views/context.h"

namespace tokamak {
namespace {

/// concatenate(x[a:b], x[b:c]) = x[a:c].
std::optional<Rewrite> joined_slices(const ViewContext& context, const std::vector<Value>& pieces,
                                     size_t axis) {
  std::optional<Value> whole;
  std::vector<AxisRange> joined;
  for (Value piece : pieces) {
    const std::optional<Value> operand = context.operand_of(piece, Op::slice);
    if (!operand || (whole && *whole != *operand)) return std::nullopt;
    const std::vector<AxisRange> ranges =
        ranges_of(context.graph()[piece].attributes, context.shape_of(*operand));
    if (ranges[axis].step != 1) return std::nullopt;
    if (!whole) {
      whole = operand;
      joined = ranges;
      continue;
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      const bool follows = ranges[i].start == joined[i].start + joined[i].count;
      const bool equal = ranges[i].start == joined[i].start && ranges[i].step == joined[i].step;
      if (i == axis ? !follows : !equal) return std::nullopt;
    }
    joined[axis].count += ranges[axis].count;
  }
  return Pending{Op::slice, {*whole}, slice_attributes(joined)};
}

}  // namespace

std::optional<Rewrite> rewrite_concatenate(ViewContext& context, const Pending& node) {
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  if (node.inputs.size() == 1) return node.inputs[0];
  std::vector<Value> kept;
  for (Value input : node.inputs) {
    if (context.shape_of(input)[axis] != 0) kept.push_back(input);
  }
  if (kept.empty()) return node.inputs[0];
  if (kept.size() != node.inputs.size()) return Pending{Op::concatenate, std::move(kept), node.attributes};
  return joined_slices(context, node.inputs, axis);
}

std::optional<Rewrite> rewrite_pad(ViewContext&, const Pending& node) {
  const auto is_zero = [&](Attr name) {
    const Ints& amounts = node.attributes.ints(name);
    return std::all_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount == 0; });
  };
  if (is_zero(Attr::low) && is_zero(Attr::high) && is_zero(Attr::interior)) return node.inputs[0];
  return std::nullopt;
}

/// reduce(transpose(x)) = reduce(x) over the axes that the transpose brought there, when the kept ones stay
/// in order.
std::optional<Rewrite> rewrite_reduction(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const bool has_one_axis = node.attributes.has(Attr::axis);
  Ints axes = has_one_axis ? Ints{node.attributes.integer(Attr::axis)} : node.attributes.ints(Attr::axes);
  const bool picks_an_element = node.op == Op::reduce_max || node.op == Op::reduce_min ||
                                node.op == Op::reduce_any || node.op == Op::reduce_all;
  if (axes.empty() && picks_an_element) return input;

  const auto operand = context.operand_of(input, Op::transpose);
  if (!operand) return std::nullopt;
  const Ints& permutation = context.graph()[input].attributes.ints(Attr::permutation);
  int64_t last_kept = -1;
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end()) continue;
    if (permutation[i] < last_kept) return std::nullopt;
    last_kept = permutation[i];
  }
  for (int64_t& axis : axes) axis = permutation[static_cast<size_t>(axis)];
  std::sort(axes.begin(), axes.end());
  if (has_one_axis) return Pending{node.op, {*operand}, {{Attr::axis, axes[0]}}};
  return Pending{node.op, {*operand}, {{Attr::axes, std::move(axes)}}};
}

}  // namespace tokamak
