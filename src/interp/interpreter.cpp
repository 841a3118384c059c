#include "interp/interpreter.h"

#include "interp/evaluate.h"

namespace tokamak {

void check_arguments(const Graph& graph, std::span<const Tensor> arguments) {
  if (arguments.size() != graph.parameters().size()) {
    throw UserError("@" + graph.name() + " takes " + std::to_string(graph.parameters().size()) +
                        " arguments, not " + std::to_string(arguments.size()),
                    {}, UserError::Kind::type);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorType& wanted = graph.type_of(graph.parameters()[i]);
    if (arguments[i].type() != wanted) {
      throw UserError("@" + graph.name() + ": argument '" + graph.parameter_name(i) + "' is " +
                          to_string(arguments[i].type()) + ", not " + to_string(wanted),
                      {}, UserError::Kind::type);
    }
  }
}

Tensor interpret_node(const Node& node, std::span<const Tensor> operands, bool fused_multiply_add) {
  switch (family_of(node.op)) {
    case OpFamily::Source:
      if (node.op == Op::constant) return node.attributes.tensor(Attr::value);
      if (node.op == Op::iota) return interp::iota(node);
      throw InternalError("a parameter has no value of its own", node.where);
    case OpFamily::Elementwise:
      return interp::elementwise(node, operands, fused_multiply_add);
    case OpFamily::View:
      return interp::view(node, operands[0]);
    case OpFamily::Index:
      return interp::index(node, operands);
    case OpFamily::Reduce:
      if (node.op == Op::argmax || node.op == Op::argmin) return interp::arg_reduce(node, operands[0]);
      return interp::reduce(node, operands[0]);
    case OpFamily::Cumulative:
      return interp::cumulative(node, operands[0]);
    case OpFamily::Sort:
      return interp::sorted(node, operands[0]);
    case OpFamily::Contract:
      return interp::dot(node, operands[0], operands[1]);
  }
  throw InternalError("no such family of ops", node.where);
}

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> arguments,
                              bool fused_multiply_add) {
  check_arguments(graph, arguments);
  std::vector<Tensor> values(graph.size());
  for (size_t i = 0; i < arguments.size(); ++i) values[index_of(graph.parameters()[i])] = arguments[i];
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == Op::parameter) continue;
    std::vector<Tensor> operands;
    for (Value input : node.inputs) operands.push_back(values[index_of(input)]);
    values[i] = interpret_node(node, operands, fused_multiply_add);
  }
  std::vector<Tensor> results;
  for (Value output : graph.outputs()) results.push_back(values[index_of(output)]);
  return results;
}

}  // namespace tokamak
