// Reading back what was written: a slice of a select that chooses by position.

#include "passes/views/context.h"

namespace tokamak {
namespace {

/// Conditions have two comparisons and a division for each axis at most.
constexpr int kMaxConditionDepth = 12;

/// Whether a condition holds for the elements of a slice.
enum class Answer : uint8_t { never, always, unknown };

Answer both(Answer a, Answer b) {
  if (a == Answer::never || b == Answer::never) return Answer::never;
  return a == Answer::always && b == Answer::always ? Answer::always : Answer::unknown;
}

class Condition {
 public:
  Condition(const Graph& graph, const std::vector<AxisRange>& ranges) : graph_(graph), ranges_(ranges) {}

  Answer answer(Value condition, int depth = 0) const {
    const Node& node = graph_[condition];
    if (depth > kMaxConditionDepth || node.inputs.size() != 2) return Answer::unknown;
    if (node.op == Op::bit_and)
      return both(answer(node.inputs[0], depth + 1), answer(node.inputs[1], depth + 1));
    const std::optional<int64_t> number = number_of(node.inputs[1]);
    if (!number) return Answer::unknown;
    if (node.op == Op::eq) return on_a_grid(node.inputs[0], *number);
    const std::optional<AxisRange> positions = positions_of(node.inputs[0]);
    if (!positions) return Answer::unknown;
    switch (node.op) {
      case Op::ge:
        return compared(positions->start >= *number, positions->last() < *number);
      case Op::gt:
        return compared(positions->start > *number, positions->last() <= *number);
      case Op::lt:
        return compared(positions->last() < *number, positions->start >= *number);
      case Op::le:
        return compared(positions->last() <= *number, positions->start > *number);
      default:
        return Answer::unknown;
    }
  }

 private:
  static Answer compared(bool always, bool never) {
    return always ? Answer::always : never ? Answer::never : Answer::unknown;
  }

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
  Answer on_a_grid(Value remainder, int64_t wanted) const {
    const Node& mod = graph_[remainder];
    if (wanted != 0 || mod.op != Op::mod) return Answer::unknown;
    const std::optional<int64_t> step = number_of(mod.inputs[1]);
    const Node& distance = graph_[mod.inputs[0]];
    const bool has_first = distance.op == Op::sub;
    const std::optional<int64_t> first = has_first ? number_of(distance.inputs[1]) : 0;
    const std::optional<AxisRange> positions = positions_of(has_first ? distance.inputs[0] : mod.inputs[0]);
    if (!step || *step <= 0 || !first || !positions) return Answer::unknown;
    if (positions->count > 1 && positions->step % *step != 0) return Answer::unknown;
    return (positions->start - *first) % *step == 0 ? Answer::always : Answer::never;
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
  const Answer answer = Condition(graph, ranges).answer(node.inputs[0]);
  if (answer == Answer::unknown || graph.type_of(node.inputs[0]).shape != node.type.shape)
    return std::nullopt;
  const Value chosen = node.inputs[answer == Answer::always ? 1 : 2];
  if (graph.type_of(chosen).shape != node.type.shape) return std::nullopt;
  return chosen;
}

}  // namespace tokamak
