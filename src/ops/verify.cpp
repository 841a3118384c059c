#include <algorithm>
#include <string>

#include "ops/record.h"

namespace tokamak {
namespace {

[[noreturn]] void fail(const Graph& graph, size_t position, const std::string& message) {
  const Node& node = graph.nodes()[position];
  throw InternalError("invalid graph @" + graph.name() + ", node %" + std::to_string(position) + " (" +
                          std::string(name_of(node.op)) + " of " + to_string(node.type) + "): " + message,
                      node.where);
}

TensorType derived_type(const Graph& graph, size_t position) {
  const Node& node = graph.nodes()[position];
  std::vector<TensorType> inputs;
  for (Value input : node.inputs) {
    if (index_of(input) >= position) {
      fail(graph, position, "operand %" + std::to_string(index_of(input)) + " does not come before it");
    }
    inputs.push_back(graph.type_of(input));
  }
  if (node.op == Op::parameter) inputs.assign(1, node.type);
  try {
    return infer_type(node.op, inputs, node.attributes, node.where);
  } catch (const UserError& error) {
    fail(graph, position, error.message());
  }
}

}  // namespace

void verify(const Graph& graph) {
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    const TensorType type = derived_type(graph, i);
    if (type != node.type) fail(graph, i, "its type should be " + to_string(type));
    if (node.op == Op::parameter) {
      const auto& known = graph.parameters();
      if (!node.inputs.empty()) fail(graph, i, "a parameter has no operands");
      if (std::count(known.begin(), known.end(), static_cast<Value>(i)) != 1) {
        fail(graph, i, "a parameter must be in the list of parameters, once");
      }
    }
  }
  for (Value parameter : graph.parameters()) {
    if (index_of(parameter) >= graph.size() || graph[parameter].op != Op::parameter) {
      throw InternalError("invalid graph @" + graph.name() + ": its list of parameters names another node");
    }
  }
  for (Value output : graph.outputs()) {
    if (index_of(output) >= graph.size()) {
      throw InternalError("invalid graph @" + graph.name() + ": output %" + std::to_string(index_of(output)) +
                          " is not one of its nodes");
    }
  }
}

}  // namespace tokamak
