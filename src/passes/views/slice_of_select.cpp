// Reading back what was written: a slice of a select that chooses by position.

#include "ops/comparison.h"
#include "passes/views/context.h"

namespace tokamak {
namespace {

/// Conditions have two comparisons and a division for each axis at most.
constexpr int kMaxConditionDepth = 12;

/// Tells of conditions whether they hold for the elements of a slice: for all, for none, or nothing.
class AtPositions {
 public:
  AtPositions(const Graph& graph, const std::vector<AxisRange>& ranges) : graph_(graph), ranges_(ranges) {}

  std::optional<bool> holds(Value condition, int depth = 0) const {
    const Node& node = graph_[condition];
    if (depth > kMaxConditionDepth || node.inputs.size() != 2) return std::nullopt;
    if (node.op == Op::bit_and) {
      const std::optional<bool> a = holds(node.inputs[0], depth + 1);
      const std::optional<bool> b = holds(node.inputs[1], depth + 1);
      if (a == false || b == false) return false;
      return a && b ? std::optional(true) : std::nullopt;
    }
    const std::optional<int64_t> number = number_of(node.inputs[1]);
    if (!number) return std::nullopt;
    const std::optional<AxisRange> positions = positions_of(node.inputs[0]);
    if (!positions) return node.op == Op::eq ? on_a_grid(node.inputs[0], *number) : std::nullopt;
    const std::optional<Limits> limits = limits_of(node.op, *number);
    return limits ? limits->hold(positions->start, positions->last()) : std::nullopt;
  }

 private:
  std::optional<int64_t> number_of(Value value) const {
    const Tensor* tensor = graph_.constant_value(value);
    if (tensor == nullptr || tensor->type().elements() != 1 || !is_signed_integer(tensor->type().dtype))
      return std::nullopt;
    return element_as_int(*tensor, 0);
  }

  /// The positions along its axis that an iota has for the elements of the slice.
  std::optional<AxisRange> positions_of(Value value) const {
    const Node& node = graph_[value];
    if (node.op != Op::iota || node.type.shape.size() != ranges_.size() ||
        !is_signed_integer(node.type.dtype))
      return std::nullopt;
    return ranges_[static_cast<size_t>(node.attributes.integer(Attr::axis))];
  }

  /// (position - first) mod step == 0, which is how every step-th element is told.
  std::optional<bool> on_a_grid(Value remainder, int64_t wanted) const {
    const Node& mod = graph_[remainder];
    if (wanted != 0 || mod.op != Op::mod) return std::nullopt;
    const std::optional<int64_t> step = number_of(mod.inputs[1]);
    const Node& distance = graph_[mod.inputs[0]];
    const bool has_first = distance.op == Op::sub;
    const std::optional<int64_t> first = has_first ? number_of(distance.inputs[1]) : 0;
    const std::optional<AxisRange> positions = positions_of(has_first ? distance.inputs[0] : mod.inputs[0]);
    if (!step || *step <= 0 || !first || !positions) return std::nullopt;
    if (positions->count > 1 && positions->step % *step != 0) return std::nullopt;
    return (positions->start - *first) % *step == 0;
  }

  const Graph& graph_;
  const std::vector<AxisRange>& ranges_;
};

}  // namespace

std::optional<Value> chosen_for(const Graph& graph, Value select, const std::vector<AxisRange>& ranges) {
  const Node& node = graph[select];
  for (const AxisRange& range : ranges) {
    if (range.count == 0) return std::nullopt;
  }
  const std::optional<bool> holds = AtPositions(graph, ranges).holds(node.inputs[0]);
  if (!holds || graph.type_of(node.inputs[0]).shape != node.type.shape) return std::nullopt;
  const Value chosen = node.inputs[*holds ? 1 : 2];
  if (graph.type_of(chosen).shape != node.type.shape) return std::nullopt;
  return chosen;
}

}  // namespace tokamak
