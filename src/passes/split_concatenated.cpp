#include "passes/split_concatenated.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ops/contract.h"
#include "passes/attention.h"

namespace tokamak {
namespace {

/// Up to so many rows, a copy of the operand was seen to take a third of the time or more.
constexpr int64_t kFewRows = 64;
/// What has fewer elements is copied in the time that one more kernel takes to start.
constexpr int64_t kWorthSplitting = 8192;

/// A value in two parts along an axis, one of which has the extent 1 there.
struct Parts {
  size_t axis;
  int64_t first;                ///< extent of the first part
  std::array<Value, 2> values;  ///< of the new graph

  size_t single() const { return first == 1 ? 0 : 1; }
};

class Splitting {
 public:
  explicit Splitting(const Graph& graph)
      : rewriter_(graph),
        graph_(graph),
        readers_(count_uses(graph)),
        is_split_(graph.size(), false),
        parts_(graph.size()) {
    mark_concatenations();
  }

  Graph run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      parts_[i] = parts_of(value);
      if (parts_[i]) continue;
      if (const std::optional<Value> taken = taken_together(graph_[value])) {
        rewriter_.map(value, *taken);
      } else {
        for (Value input : graph_[value].inputs) whole(input);
        rewriter_.copy(value);
      }
    }
    for (Value output : graph_.outputs()) whole(output);
    return rewriter_.finish();
  }

 private:
  /// The concatenation that is the second operand of a product of few rows, as it is or transposed, where
  /// nothing else reads it.
  std::optional<Value> joined_operand(const Node& dot) const {
    if (dot.op != Op::dot || (dot.type.dtype != DType::f32 && dot.type.dtype != DType::f64))
      return std::nullopt;
    const DotAxes axes = axes_of(dot);
    if (extent_of(graph_.type_of(dot.inputs[0]).shape, axes.lhs_free) > kFewRows) return std::nullopt;
    Value operand = dot.inputs[1];
    Ints batch = axes.rhs_batch;
    if (graph_[operand].op == Op::transpose && readers_[index_of(operand)] == 1) {
      const Ints& order = graph_[operand].attributes.ints(Attr::permutation);
      for (int64_t& axis : batch) axis = order[static_cast<size_t>(axis)];
      operand = graph_[operand].inputs[0];
    }
    const Node& joined = graph_[operand];
    if (joined.op != Op::concatenate || readers_[index_of(operand)] != 1 || joined.inputs.size() != 2 ||
        joined.type.dtype != dot.type.dtype || joined.type.elements() < kWorthSplitting)
      return std::nullopt;
    const int64_t axis = joined.attributes.integer(Attr::axis);
    const bool is_one_more = std::ranges::any_of(joined.inputs, [&](Value part) {
      return graph_.type_of(part).shape[static_cast<size_t>(axis)] == 1;
    });
    return is_one_more && std::ranges::count(batch, axis) == 0 ? std::optional(operand) : std::nullopt;
  }

  void mark_concatenations() {
    bool is_any = false;
    for (const Node& node : graph_.nodes()) {
      if (const std::optional<Value> joined = joined_operand(node))
        is_any = is_split_[index_of(*joined)] = true;
    }
    if (!is_any) return;
    // The products of an attention share a kernel, unless one has parts that the other does not have.
    for (const Attention& attention : find_attention(graph_)) {
      const std::optional<Value> keys = joined_operand(graph_[attention.scores]);
      const std::optional<Value> values = joined_operand(graph_[attention.mixed]);
      if (keys && values && first_extent(*keys) == first_extent(*values)) continue;
      if (keys) is_split_[index_of(*keys)] = false;
      if (values) is_split_[index_of(*values)] = false;
    }
  }

  /// Of the first part of a concatenation.
  int64_t first_extent(Value joined) const {
    const auto axis = static_cast<size_t>(graph_[joined].attributes.integer(Attr::axis));
    return graph_.type_of(graph_[joined].inputs[0]).shape[axis];
  }

  /// The parts of what is computed part by part.
  std::optional<Parts> parts_of(Value value) {
    const Node& node = graph_[value];
    if (is_split_[index_of(value)]) {
      const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
      return Parts{axis, first_extent(value), {whole(node.inputs[0]), whole(node.inputs[1])}};
    }
    if (node.op == Op::transpose) return transposed(node);
    if (node.op == Op::dot) return columns(node);
    return family_of(node.op) == OpFamily::Elementwise ? elementwise(node) : std::nullopt;
  }

  std::optional<Parts> transposed(const Node& node) {
    const std::optional<Parts> operand = parts_[index_of(node.inputs[0])];
    if (!operand) return std::nullopt;
    const Ints& order = node.attributes.ints(Attr::permutation);
    const auto axis = std::ranges::find(order, static_cast<int64_t>(operand->axis)) - order.begin();
    return both(static_cast<size_t>(axis), operand->first,
                [&](size_t i) { return again(node, {operand->values[i]}); });
  }

  /// A product with a second operand whose columns are in parts.
  std::optional<Parts> columns(const Node& dot) {
    const std::optional<Parts> operand = parts_[index_of(dot.inputs[1])];
    if (!operand) return std::nullopt;
    const DotAxes axes = axes_of(dot);
    const auto axis = std::ranges::find(axes.rhs_free, static_cast<int64_t>(operand->axis));
    if (axis == axes.rhs_free.end()) return std::nullopt;
    const size_t before = axes.lhs_batch.size() + axes.lhs_free.size();
    const Value rows = whole(dot.inputs[0]);
    return both(before + static_cast<size_t>(axis - axes.rhs_free.begin()), operand->first, [&](size_t i) {
      return again(dot, {rows, operand->values[i]});
    });
  }

  std::optional<Parts> elementwise(const Node& node) {
    auto missing = [&](Value input) {
      return static_cast<size_t>(node.type.rank() - graph_.type_of(input).rank());
    };
    const auto split =
        std::ranges::find_if(node.inputs, [&](Value input) { return parts_[index_of(input)].has_value(); });
    if (split == node.inputs.end()) return std::nullopt;
    const int64_t first = parts_[index_of(*split)]->first;
    const size_t axis = parts_[index_of(*split)]->axis + missing(*split);  // of the result
    std::vector<std::array<Value, 2>> operands;
    for (Value input : node.inputs) {
      const std::optional<Parts>& own = parts_[index_of(input)];
      if (own && own->axis + missing(input) == axis && own->first == first) {
        operands.push_back(own->values);
      } else {
        const Value value = whole(input);
        const bool varies = axis >= missing(input) && shape_of(value)[axis - missing(input)] != 1;
        operands.push_back(varies ? cut(value, axis - missing(input), first, node.where)
                                  : std::array{value, value});
      }
    }
    return both(axis, first, [&](size_t i) {
      std::vector<Value> inputs;
      for (const std::array<Value, 2>& operand : operands) inputs.push_back(operand[i]);
      return again(node, std::move(inputs));
    });
  }

  /// What a reduction of parts, or a product that contracts them, is made of both.
  std::optional<Value> taken_together(const Node& node) {
    if (node.op == Op::dot) return contracted(node);
    const std::optional<Op> op = combining(node.op);
    const std::optional<Parts> operand = op ? parts_[index_of(node.inputs[0])] : std::nullopt;
    if (!operand || node.attributes.ints(Attr::axes) != Ints{static_cast<int64_t>(operand->axis)})
      return std::nullopt;
    const Parts reduced = both(operand->axis, operand->first, [&](size_t i) {
      const Value part = operand->values[i];
      if (i != operand->single()) return again(node, {part});
      return rewriter_.graph().add(Op::reshape, {part}, {{Attr::shape, node.type.shape}}, node.where);
    });
    return rewriter_.graph().add(*op, {reduced.values[0], reduced.values[1]}, {}, node.where);
  }

  static std::optional<Op> combining(Op reduction) {
    if (reduction == Op::reduce_sum) return Op::add;
    if (reduction == Op::reduce_max) return Op::max;
    return reduction == Op::reduce_min ? std::optional(Op::min) : std::nullopt;
  }

  std::optional<Value> contracted(const Node& dot) {
    const std::optional<Parts> rhs = parts_[index_of(dot.inputs[1])];
    if (!rhs) return std::nullopt;
    const Ints& lhs_contract = dot.attributes.ints(Attr::lhs_contract);
    const Ints& rhs_contract = dot.attributes.ints(Attr::rhs_contract);
    const auto at = std::ranges::find(rhs_contract, static_cast<int64_t>(rhs->axis)) - rhs_contract.begin();
    if (at == std::ssize(rhs_contract)) return std::nullopt;  // a batch axis
    const auto axis = static_cast<size_t>(lhs_contract[static_cast<size_t>(at)]);
    std::optional<Parts> lhs = parts_[index_of(dot.inputs[0])];
    if (!lhs || lhs->axis != axis || lhs->first != rhs->first)
      lhs = Parts{axis, rhs->first, cut(whole(dot.inputs[0]), axis, rhs->first, dot.where)};
    const Parts products = both(axis, rhs->first, [&](size_t i) {
      return again(dot, {lhs->values[i], rhs->values[i]});
    });
    return rewriter_.graph().add(Op::add, {products.values[0], products.values[1]}, {}, dot.where);
  }

  /// The parts that `make` makes. What belongs to the single line comes first: it is a kernel of its own,
  /// which has run when the kernel of all others needs its results.
  template <class Make>
  Parts both(size_t axis, int64_t first, Make make) {
    Parts made{axis, first, {}};
    for (size_t i : {made.single(), 1 - made.single()}) made.values[i] = make(i);
    return made;
  }

  std::array<Value, 2> cut(Value value, size_t axis, int64_t first, const SourceLocation& where) {
    const Shape shape = shape_of(value);
    auto range = [&](int64_t start, int64_t limit) {
      Ints starts(shape.size(), 0);
      Ints limits = shape;
      starts[axis] = start;
      limits[axis] = limit;
      return rewriter_.graph().add(
          Op::slice, {value},
          {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, Ints(shape.size(), 1)}}, where);
    };
    return {range(0, first), range(first, shape[axis])};
  }

  /// The value as one, for whoever cannot take parts.
  Value whole(Value value) {
    if (const std::optional<Parts>& parts = parts_[index_of(value)]; parts && !rewriter_.is_mapped(value)) {
      rewriter_.map(value, rewriter_.graph().add(Op::concatenate, {parts->values[0], parts->values[1]},
                                                 {{Attr::axis, static_cast<int64_t>(parts->axis)}},
                                                 graph_[value].where));
    }
    return rewriter_(value);
  }

  Value again(const Node& node, std::vector<Value> inputs) {
    return rewriter_.graph().add(node.op, std::move(inputs), node.attributes, node.where);
  }
  const Shape& shape_of(Value made) { return rewriter_.graph().type_of(made).shape; }

  DotAxes axes_of(const Node& dot) const {
    return dot_axes(dot.attributes, graph_.type_of(dot.inputs[0]).rank(),
                    graph_.type_of(dot.inputs[1]).rank());
  }

  GraphRewriter rewriter_;
  const Graph& graph_;
  std::vector<uint32_t> readers_;
  std::vector<bool> is_split_;               ///< by value: a concatenation that is not joined
  std::vector<std::optional<Parts>> parts_;  ///< by value of the old graph
};

}  // namespace

Graph split_concatenated(const Graph& graph) { return Splitting(graph).run(); }

}  // namespace tokamak
