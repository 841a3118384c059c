#include "passes/simplify.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "passes/commute.h"
#include "passes/pending.h"
#include "passes/rules/rules.h"

namespace tokamak {
namespace {

/// Rewrites of one node before it is left as it is; rules only make terms smaller or cheaper, so few are
/// needed.
constexpr int kMaxRewrites = 8;
/// Larger constants are not examined for equal elements.
constexpr int64_t kMaxSplatElements = 4096;

using RulesByOp = std::array<std::vector<const Rule*>, kOpCount>;

RulesByOp by_op(std::span<const Rule> rules) {
  RulesByOp table;
  for (const Rule& rule : rules) table[static_cast<size_t>(rule.from.op)].push_back(&rule);
  return table;
}

class Simplifier {
 public:
  Simplifier(const Graph& old, const RulesByOp& rules)
      : rules_(rules), rewriter_(old), made_(rewriter_.graph()) {}

  Graph run() {
    const Graph& old = rewriter_.old();
    for (size_t i = 0; i < old.size(); ++i) {
      const Value value = static_cast<Value>(i);
      const Node& node = old[value];
      if (node.op == Op::parameter) continue;
      if (rules_[static_cast<size_t>(node.op)].empty()) {
        rewriter_.copy(value);
      } else {
        Pending pending{node.op, rewriter_(std::span<const Value>(node.inputs)), node.attributes};
        rewriter_.map(value, improved(std::move(pending), node.type, node.where));
      }
    }
    return rewriter_.finish();
  }

 private:
  /// The value of `pending`, rewritten as far as rules reach.
  Value improved(Pending pending, const TensorType& type, const SourceLocation& where) {
    for (int i = 0; i < kMaxRewrites; ++i) {
      Bindings bound;
      const Rule* rule = applicable(pending, bound);
      if (rule == nullptr) break;
      if (rule->to.kind != Term::Kind::operation)
        return with_shape(leaf(rule->to, bound, type.dtype, where), type, where);
      Pending next = built(rule->to, bound, where);
      // A rule may lose an operand that made the shape.
      if (shape_of(next) != type.shape) {
        return with_shape(made_.add(next.op, std::move(next.inputs), std::move(next.attributes), where), type,
                          where);
      }
      pending = std::move(next);
    }
    return made_.add(pending.op, std::move(pending.inputs), std::move(pending.attributes), where);
  }

  const Rule* applicable(const Pending& pending, Bindings& bound) {
    for (const Rule* rule : rules_[static_cast<size_t>(pending.op)]) {
      bound = {};
      if (!matches_operation(rule->from, pending.op, pending.inputs, pending.attributes, bound)) continue;
      const Value decides = bound.variables[0].value_or(pending.inputs.back());
      bound.dtype = made_.type_of(decides).dtype;
      if (contains(rule->dtypes, bound.dtype) && (rule->when == nullptr || rule->when(bound))) return rule;
    }
    return nullptr;
  }

  // Matching

  bool matches_operation(const Term& term, Op op, std::span<const Value> inputs, const Attributes& attributes,
                         Bindings& bound) {
    if (term.op != op || term.operands.size() != inputs.size()) return false;
    if (op == Op::convert) {
      std::optional<DType>& dtype = bound.dtypes[static_cast<size_t>(term.index)];
      if (dtype && *dtype != attributes.dtype(Attr::dtype)) return false;
      dtype = attributes.dtype(Attr::dtype);
    }
    const Bindings before = bound;
    bool all = true;
    for (size_t i = 0; i < inputs.size() && all; ++i) all = matches(term.operands[i], inputs[i], bound);
    if (all) return true;
    if (inputs.size() != 2 || !commutes(op, made_.type_of(inputs[0]).dtype)) return false;
    bound = before;
    return matches(term.operands[0], inputs[1], bound) && matches(term.operands[1], inputs[0], bound);
  }

  bool matches(const Term& term, Value value, Bindings& bound) {
    const auto same = [value](std::optional<Value>& place) {
      if (!place) place = value;
      return *place == value;
    };
    const auto index = static_cast<size_t>(term.index);
    switch (term.kind) {
      case Term::Kind::variable:
        return same(bound.variables[index]);
      case Term::Kind::condition:
        return made_.type_of(value).dtype == DType::boolean && same(bound.conditions[index]);
      case Term::Kind::constant: {
        const std::optional<Tensor>& scalar = splat_of(value);
        if (!scalar) return false;
        bound.constants[index] = *scalar;
        return true;
      }
      case Term::Kind::number: {
        const std::optional<Tensor>& scalar = splat_of(value);
        if (!scalar || (!std::isfinite(term.number) && !is_float(scalar->type().dtype))) return false;
        return *scalar == scalar_tensor(scalar->type().dtype, term.number);
      }
      case Term::Kind::computed:
        return false;
      case Term::Kind::operation: {
        const Node& node = made_[value];
        return node.op == term.op && matches_operation(term, node.op, node.inputs, node.attributes, bound);
      }
    }
    return false;
  }

  /// The element that all elements of a constant, or of a view of one, are equal to.
  const std::optional<Tensor>& splat_of(Value value) {
    static const std::optional<Tensor> kNone;
    constexpr int kMaxViews = 4;
    for (int i = 0; i < kMaxViews; ++i) {
      const Op op = made_[value].op;
      if (op != Op::broadcast && op != Op::reshape && op != Op::transpose) break;
      value = made_[value].inputs[0];
    }
    const Tensor* tensor = made_.constant_value(value);
    if (tensor == nullptr) return kNone;
    const auto [place, is_new] = splats_.try_emplace(index_of(value));
    if (is_new) place->second = equal_element(*tensor);
    return place->second;
  }

  static std::optional<Tensor> equal_element(const Tensor& tensor) {
    const size_t size = size_of(tensor.type().dtype);
    const int64_t count = tensor.type().elements();
    if (count == 0 || count > kMaxSplatElements) return std::nullopt;
    if (std::memcmp(tensor.data(), tensor.data() + size, tensor.byte_size() - size) != 0) return std::nullopt;
    return Tensor::copy_of({tensor.type().dtype, {}}, tensor.data());
  }

  // Building

  Value leaf(const Term& term, const Bindings& bound, DType dtype, const SourceLocation& where) {
    const auto index = static_cast<size_t>(term.index);
    switch (term.kind) {
      case Term::Kind::variable:
        return *bound.variables[index];
      case Term::Kind::condition:
        return *bound.conditions[index];
      case Term::Kind::constant:
        return made_.add_constant(*bound.constants[index], where);
      case Term::Kind::number:
        return made_.add_constant(scalar_tensor(dtype, term.number), where);
      case Term::Kind::computed: {
        const double from = element_as_double(*bound.constants[index], 0);
        return made_.add_constant(scalar_tensor(dtype, term.compute(from)), where);
      }
      case Term::Kind::operation:
        break;
    }
    Pending pending = built(term, bound, where);
    return made_.add(pending.op, std::move(pending.inputs), std::move(pending.attributes), where);
  }

  Pending built(const Term& term, const Bindings& bound, const SourceLocation& where) {
    Pending pending{term.op, {}, {}};
    for (const Term& operand : term.operands)
      pending.inputs.push_back(leaf(operand, bound, bound.dtype, where));
    if (term.op == Op::convert) {
      pending.attributes.set(Attr::dtype, *bound.dtypes[static_cast<size_t>(term.index)]);
    }
    return pending;
  }

  Shape shape_of(const Pending& pending) const {
    std::vector<Shape> shapes;
    for (Value input : pending.inputs) shapes.push_back(made_.type_of(input).shape);
    return broadcast_shapes(shapes).value_or(Shape{});
  }

  Value with_shape(Value value, const TensorType& type, const SourceLocation& where) {
    if (made_.type_of(value).shape == type.shape) return value;
    return made_.add(Op::broadcast, {value}, {{Attr::shape, type.shape}}, where);
  }

  const RulesByOp& rules_;
  GraphRewriter rewriter_;
  Graph& made_;
  std::unordered_map<size_t, std::optional<Tensor>> splats_;
};

}  // namespace

Graph simplify(const Graph& graph) {
  static const auto* const rules = new RulesByOp(by_op(simplify_rules()));
  return Simplifier(graph, *rules).run();
}

Graph simplify_by(const Graph& graph, std::span<const Rule> rules) {
  return Simplifier(graph, by_op(rules)).run();
}

}  // namespace tokamak
