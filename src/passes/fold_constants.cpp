#include "passes/fold_constants.h"

#include <algorithm>
#include <optional>

#include "interp/interpreter.h"

namespace tokamak {
namespace {

bool is_worth_folding(const Graph& made, const Node& node, std::span<const Value> inputs) {
  if (inputs.empty() || node.op == Op::broadcast || node.op == Op::dot) return false;
  int64_t largest = 0;
  int64_t work = node.type.elements();
  for (Value input : inputs) {
    if (made[input].op != Op::constant) return false;
    const int64_t elements = made.type_of(input).elements();
    if (elements > kFoldWorkElements) return false;
    largest = std::max(largest, elements);
    work += elements;
    if (work > kFoldWorkElements) return false;
  }
  return node.type.elements() <= std::max(largest, kFoldResultElements);
}

std::optional<Tensor> computed(const Graph& made, const Node& node, std::span<const Value> inputs, bool fma) {
  std::vector<Tensor> operands;
  operands.reserve(inputs.size());
  for (Value input : inputs) operands.push_back(*made.constant_value(input));
  try {
    return interpret_node(node, operands, fma);
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Graph fold_constants(const Graph& graph, bool fused_multiply_add) {
  GraphRewriter rewriter(graph);
  Graph& made = rewriter.graph();
  for (size_t i = 0; i < graph.size(); ++i) {
    const Value value = static_cast<Value>(i);
    const Node& node = graph[value];
    const std::vector<Value> inputs = rewriter(std::span<const Value>(node.inputs));
    std::optional<Tensor> result;
    if (is_worth_folding(made, node, inputs)) result = computed(made, node, inputs, fused_multiply_add);
    if (result) {
      rewriter.map(value, made.add_constant(std::move(*result), node.where));
    } else {
      rewriter.copy(value);
    }
  }
  return rewriter.finish();
}

}  // namespace tokamak
