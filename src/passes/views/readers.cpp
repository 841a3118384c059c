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

/// The range of `axis` that a slice takes of its operand, when it takes all of the other axes and every
/// element.
std::optional<AxisRange> run_along(const ViewContext& context, Value slice, Value operand, size_t axis) {
  const Shape& shape = context.shape_of(operand);
  const std::vector<AxisRange> ranges = ranges_of(context.graph()[slice].attributes, shape);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i == axis ? ranges[i].step != 1 : ranges[i].count != shape[i]) return std::nullopt;
  }
  return ranges[axis];
}

/// The pieces of a concatenation along `axis` that the value is, or is a run of; nothing when it is neither.
std::vector<Value> pieces_of(ViewContext& context, Value value, size_t axis) {
  const bool is_slice = context.graph()[value].op == Op::slice;
  const Value whole = is_slice ? context.graph()[value].inputs[0] : value;
  if (context.graph()[whole].op != Op::concatenate) return {};
  if (static_cast<size_t>(context.graph()[whole].attributes.integer(Attr::axis)) != axis) return {};
  const std::vector<Value> inputs = context.graph()[whole].inputs;
  if (!is_slice) return inputs;
  const std::optional<AxisRange> run = run_along(context, value, whole, axis);
  if (!run) return {};
  const std::vector<int64_t> offsets = context.offsets_of(whole);
  std::vector<Value> pieces;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = context.shape_of(inputs[i]);
    const int64_t first = std::max<int64_t>(run->start - offsets[i], 0);
    const int64_t end = std::min(run->start + run->count - offsets[i], shape[axis]);
    if (first >= end) continue;
    std::vector<AxisRange> ranges(shape.size());
    for (size_t k = 0; k < shape.size(); ++k) ranges[k] = {0, 1, shape[k]};
    ranges[axis] = {first, 1, end - first};
    pieces.push_back(end - first == shape[axis]
                         ? inputs[i]
                         : context.make_inner(Pending{Op::slice, {inputs[i]}, slice_attributes(ranges)}));
  }
  return pieces;
}

/// concatenate(a, concatenate(b, c)) = concatenate(a, b, c), and the same with runs of concatenations: many
/// writes to parts of an array become one concatenation.
std::optional<Rewrite> flattened(ViewContext& context, const Pending& node, size_t axis) {
  std::vector<Value> all;
  bool found = false;
  for (Value input : node.inputs) {
    const std::vector<Value> pieces = pieces_of(context, input, axis);
    found = found || !pieces.empty();
    if (pieces.empty()) all.push_back(input);
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  if (!found) return std::nullopt;
  return Pending{Op::concatenate, std::move(all), node.attributes};
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
  if (std::optional<Rewrite> joined = joined_slices(context, node.inputs, axis)) return joined;
  return flattened(context, node, axis);
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
