#include "passes/orient_attention.h"

#include <algorithm>
#include <optional>

#include "ops/contract.h"
#include "passes/attention.h"
#include "passes/swapped_dot.h"

namespace tokamak {
namespace {

Ints inverse(const Ints& permutation) {
  Ints found(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    found[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return found;
}

Ints picked(const Ints& permutation, const Ints& axes) {
  Ints found;
  for (int64_t axis : axes) found.push_back(permutation[static_cast<size_t>(axis)]);
  return found;
}

/// Whether a permutation leaves all axes that are longer than 1 in their order.
bool moves_ones(const Ints& permutation, const Shape& shape) {
  int64_t last = -1;
  for (int64_t axis : permutation) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

class Turning {
 public:
  Turning(const Graph& graph, const std::vector<Attention>& found)
      : rewriter_(graph), graph_(graph), made_(rewriter_.graph()), roles_(graph.size()) {
    for (const Attention& attention : found) {
      Role& scores = roles_[index_of(attention.scores)];
      Role& mixed = roles_[index_of(attention.mixed)];
      scores.may_be_turned = mixed.may_be_turned = true;
      scores.turns = attention.keys_are_rows;
      mixed.weights = attention.weights;
    }
  }

  Graph run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      follow_products(value);
      if (const std::optional<Value> better = turned(value)) {
        rewriter_.map(value, *better);
      } else {
        rewriter_.copy(value);
      }
    }
    return rewriter_.finish();
  }

 private:
  struct Role {
    bool may_be_turned = false;     ///< it comes, element by element, from a product that may be
    bool turns = false;             ///< a dot that is better computed with its operands in the other order
    std::optional<size_t> weights;  ///< of a dot: the operand that comes from scores
  };

  void follow_products(Value value) {
    const Node& node = graph_[value];
    if (node.op != Op::transpose && family_of(node.op) != OpFamily::Elementwise) return;
    for (Value input : node.inputs) {
      const bool is_same = node.op == Op::transpose || graph_.type_of(input).shape == node.type.shape;
      if (is_same && may_be_turned(input)) roles_[index_of(value)].may_be_turned = true;
    }
  }

  bool may_be_turned(Value value) const { return roles_[index_of(value)].may_be_turned; }

  std::optional<Value> turned(Value value) {
    const Node& node = graph_[value];
    const Role& role = roles_[index_of(value)];
    if (role.weights) return mixed(node, *role.weights);
    if (role.turns)
      return swapped(node, rewriter_(node.inputs[0]), rewriter_(node.inputs[1]), node.attributes);
    if (!role.may_be_turned) return std::nullopt;
    if (node.op == Op::transpose)
      return transposed(rewriter_(node.inputs[0]), node.attributes.ints(Attr::permutation), node.where);
    return family_of(node.op) == OpFamily::Elementwise ? before_transpose(node) : std::nullopt;
  }

  /// The same elements as the dot has, made by the product of its operands in the other order.
  Value swapped(const Node& dot, Value lhs, Value rhs, const Attributes& attributes) {
    const DotAxes axes = dot_axes(attributes, made_.type_of(lhs).rank(), made_.type_of(rhs).rank());
    return transposed(add_swapped_dot(made_, lhs, rhs, attributes, dot.where), from_swapped(axes), dot.where);
  }

  /// The product that mixes values: it reads what is transposed as it is, the weights first.
  Value mixed(const Node& dot, size_t weights) {
    std::vector<Value> inputs = rewriter_(std::span<const Value>(dot.inputs));
    Attributes attributes = dot.attributes;
    read_below_transpose(inputs[weights], attributes, weights == 0);
    if (weights == 1) return swapped(dot, inputs[0], inputs[1], attributes);
    return made_.add(Op::dot, std::move(inputs), std::move(attributes), dot.where);
  }

  /// Lets an operand be what it is a transpose of, if the free axes are in the same order there.
  void read_below_transpose(Value& operand, Attributes& attributes, bool is_lhs) const {
    const Node& node = made_[operand];
    if (node.op != Op::transpose) return;
    const Ints& permutation = node.attributes.ints(Attr::permutation);
    const Attr batch_name = is_lhs ? Attr::lhs_batch : Attr::rhs_batch;
    const Attr contract_name = is_lhs ? Attr::lhs_contract : Attr::rhs_contract;
    const Ints batch = picked(permutation, attributes.ints(batch_name));
    const Ints contract = picked(permutation, attributes.ints(contract_name));
    int64_t last = -1;
    for (size_t axis = 0; axis < permutation.size(); ++axis) {
      const auto own = static_cast<int64_t>(axis);
      auto has = [&](Attr name) {
        const Ints& axes = attributes.ints(name);
        return std::find(axes.begin(), axes.end(), own) != axes.end();
      };
      if (has(batch_name) || has(contract_name)) continue;
      if (permutation[axis] < last) return;
      last = permutation[axis];
    }
    attributes.set(batch_name, batch);
    attributes.set(contract_name, contract);
    operand = node.inputs[0];
  }

  /// f(transpose(x), y) = transpose(f(x, y turned back)); nothing where no operand is a transpose.
  std::optional<Value> before_transpose(const Node& node) {
    for (Value input : node.inputs) {
      const Node& now = made_[rewriter_(input)];
      if (!may_be_turned(input) || now.op != Op::transpose || now.type.shape != node.type.shape) continue;
      const Ints permutation = now.attributes.ints(Attr::permutation);
      std::vector<Value> inputs;
      for (Value other : node.inputs)
        inputs.push_back(turned_back(rewriter_(other), inverse(permutation), node.where));
      const Value result = made_.add(node.op, std::move(inputs), node.attributes, node.where);
      return transposed(result, permutation, node.where);
    }
    return std::nullopt;
  }

  Value turned_back(Value value, const Ints& permutation, const SourceLocation& where) {
    if (made_.type_of(value).elements() == 1) return value;
    Shape shape = made_.type_of(value).shape;
    shape.insert(shape.begin(), permutation.size() - shape.size(), 1);
    if (shape != made_.type_of(value).shape) value = reshaped(value, shape, where);
    if (made_[value].op == Op::transpose || !moves_ones(permutation, shape))
      return transposed(value, permutation, where);
    return reshaped(value, picked(shape, permutation), where);
  }

  Value reshaped(Value value, Shape shape, const SourceLocation& where) {
    return made_.add(Op::reshape, {value}, {{Attr::shape, std::move(shape)}}, where);
  }

  /// A transpose of what is below the transposes that are there.
  Value transposed(Value value, Ints permutation, const SourceLocation& where) {
    if (made_[value].op == Op::transpose) {
      permutation = picked(made_[value].attributes.ints(Attr::permutation), permutation);
      value = made_[value].inputs[0];
    }
    if (std::is_sorted(permutation.begin(), permutation.end())) return value;
    return made_.add(Op::transpose, {value}, {{Attr::permutation, std::move(permutation)}}, where);
  }

  GraphRewriter rewriter_;
  const Graph& graph_;
  Graph& made_;
  std::vector<Role> roles_;  ///< by value
};

}  // namespace

Graph orient_attention(const Graph& graph) {
  const std::vector<Attention> found = find_attention(graph);
  return found.empty() ? graph : Turning(graph, found).run();
}

}  // namespace tokamak
