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

/// Concatenations of more pieces are left as they are.
constexpr size_t kMaxPieces = 1 << 16;

/// What a nest of concatenations along one axis, and of runs of them, is made of.
class Pieces {
 public:
  Pieces(ViewContext& context, size_t axis) : context_(context), axis_(axis) {}

  /// The pieces in order; nothing when the operands are pieces themselves, or there are too many.
  std::optional<std::vector<Value>> of(const std::vector<Value>& operands) {
    for (size_t i = operands.size(); i-- > 0;)
      work_.push_back({operands[i], 0, context_.shape_of(operands[i])[axis_]});
    while (!work_.empty()) {
      const Run run = work_.back();
      work_.pop_back();
      if (!open(run)) found_.push_back(run_of(run));
      if (found_.size() + work_.size() > kMaxPieces) return std::nullopt;
    }
    if (!opened_) return std::nullopt;
    return std::move(found_);
  }

 private:
  /// Elements start, start + 1, ... along the axis, all of the other axes.
  struct Run {
    Value value;
    int64_t start;
    int64_t count;
  };

  bool is_nest(Value value) const {
    const Node& node = context_.graph()[value];
    return node.op == Op::concatenate && static_cast<size_t>(node.attributes.integer(Attr::axis)) == axis_ &&
           !context_.is_read_as_it_is(value);
  }

  /// Replaces a run of a nest by runs of what is inside.
  bool open(const Run& run) {
    if (is_nest(run.value)) {
      open_nest(run);
    } else if (context_.graph()[run.value].op == Op::slice &&
               is_nest(context_.graph()[run.value].inputs[0])) {
      const Value whole = context_.graph()[run.value].inputs[0];
      const std::optional<AxisRange> part = run_along(context_, run.value, whole, axis_);
      if (!part) return false;
      open_nest({whole, part->start + run.start, run.count});
    } else {
      return false;
    }
    opened_ = true;
    return true;
  }

  void open_nest(const Run& run) {
    const std::vector<Value>& inputs = context_.graph()[run.value].inputs;
    const std::vector<int64_t>& offsets = context_.offsets_of(run.value);
    const int64_t end = run.start + run.count;
    auto last = static_cast<size_t>(std::lower_bound(offsets.begin(), offsets.end(), end) - offsets.begin());
    for (; last > 0 && offsets[last] > run.start; --last) {  // the first one comes to lie on top
      const int64_t first = std::max(offsets[last - 1], run.start);
      const int64_t count = std::min(offsets[last], end) - first;
      if (count > 0) work_.push_back({inputs[last - 1], first - offsets[last - 1], count});
    }
  }

  Value run_of(const Run& run) {
    const Shape shape = context_.shape_of(run.value);
    if (run.count == shape[axis_]) return run.value;
    std::vector<AxisRange> ranges(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) ranges[i] = {0, 1, shape[i]};
    ranges[axis_] = {run.start, 1, run.count};
    return context_.make_inner(Pending{Op::slice, {run.value}, slice_attributes(ranges)});
  }

  ViewContext& context_;
  size_t axis_;
  std::vector<Run> work_;
  std::vector<Value> found_;
  bool opened_ = false;
};

/// concatenate(a, concatenate(b, c)) = concatenate(a, b, c), and the same with runs of concatenations: many
/// writes to parts of an array become one concatenation.
std::optional<Rewrite> flattened(ViewContext& context, const Pending& node, size_t axis) {
  if (!context.is_wanted_flat()) return std::nullopt;
  std::optional<std::vector<Value>> pieces = Pieces(context, axis).of(node.inputs);
  if (!pieces) return std::nullopt;
  return Pending{Op::concatenate, std::move(*pieces), node.attributes};
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

namespace {

/// The axes of a transpose's operand that a reduction over `axes` of the transpose keeps, in the order it has
/// them.
Ints kept_axes(const Ints& permutation, const Ints& axes) {
  Ints kept;
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      kept.push_back(permutation[i]);
  }
  return kept;
}

}  // namespace

/// reduce(transpose(x)) = reduce(x) over the axes that the transpose brought there, when the kept ones stay
/// in order; where only those of extent 1 do not, that in another shape.
std::optional<Rewrite> rewrite_reduction(ViewContext& context, const Pending& node) {
  const Value input = node.inputs[0];
  const bool has_one_axis = node.attributes.has(Attr::axis);
  Ints axes = has_one_axis ? Ints{node.attributes.integer(Attr::axis)} : node.attributes.ints(Attr::axes);
  const bool picks_an_element = node.op == Op::reduce_max || node.op == Op::reduce_min ||
                                node.op == Op::reduce_any || node.op == Op::reduce_all;
  if (axes.empty() && picks_an_element) return input;

  const auto operand = context.operand_of(input, Op::transpose);
  if (!operand) return std::nullopt;
  const Shape& shape = context.shape_of(*operand);
  const Ints& permutation = context.graph()[input].attributes.ints(Attr::permutation);
  const Ints kept = kept_axes(permutation, axes);
  Ints long_ones = kept;
  std::erase_if(long_ones, [&](int64_t axis) { return shape[static_cast<size_t>(axis)] == 1; });
  if (!std::is_sorted(long_ones.begin(), long_ones.end())) return std::nullopt;
  Shape result;
  for (int64_t axis : kept) result.push_back(shape[static_cast<size_t>(axis)]);
  for (int64_t& axis : axes) axis = permutation[static_cast<size_t>(axis)];
  std::sort(axes.begin(), axes.end());
  Pending reduction{node.op, {*operand}, {}};
  if (has_one_axis) {
    reduction.attributes.set(Attr::axis, axes[0]);
  } else {
    reduction.attributes.set(Attr::axes, std::move(axes));
  }
  if (std::is_sorted(kept.begin(), kept.end())) return reduction;
  const Value reduced = context.make_inner(std::move(reduction));
  return Pending{Op::reshape, {reduced}, {{Attr::shape, std::move(result)}}};
}

}  // namespace tokamak
