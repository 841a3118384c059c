#include "passes/halve_symmetric.h"

#include <optional>

#include "ops/contract.h"

namespace tokamak {
namespace {

/// Smaller products are done before the joining pays.
constexpr int64_t kFewLines = 384;
constexpr int64_t kShallow = 256;
/// Halves begin at whole blocks of the loops for products.
constexpr int64_t kBlock = 48;

/// A matrix as an operand of a product: behind a transpose, if there is one.
struct Operand {
  Value matrix;
  int64_t contracted;
};

std::optional<Operand> operand_of(const Graph& graph, Value value, const Ints& contract) {
  const Node& node = graph[value];
  if (node.type.rank() != 2 || contract.size() != 1) return std::nullopt;
  if (node.op != Op::transpose) return Operand{value, contract[0]};
  return Operand{node.inputs[0], node.attributes.ints(Attr::permutation)[static_cast<size_t>(contract[0])]};
}

/// The matrix that is multiplied with its own transpose, where that is worth halving.
std::optional<Operand> large_symmetric(const Graph& graph, const Node& dot) {
  const bool is_narrow = is_float(dot.type.dtype) && size_of(dot.type.dtype) < 4;
  if (dot.op != Op::dot || dot.type.rank() != 2 || !is_narrow) return std::nullopt;
  const auto lhs = operand_of(graph, dot.inputs[0], dot.attributes.ints(Attr::lhs_contract));
  const auto rhs = operand_of(graph, dot.inputs[1], dot.attributes.ints(Attr::rhs_contract));
  if (!lhs || !rhs || lhs->matrix != rhs->matrix || lhs->contracted != rhs->contracted) return std::nullopt;
  const int64_t depth = graph.type_of(lhs->matrix).shape[static_cast<size_t>(lhs->contracted)];
  return dot.type.shape[0] >= kFewLines && depth >= kShallow ? lhs : std::nullopt;
}

class Halving {
 public:
  Halving(Graph& made, const Node& dot, Value matrix, int64_t contracted)
      : made_(made), where_(dot.where), matrix_(matrix), contracted_(contracted) {}

  Value run() {
    const int64_t lines = made_.type_of(matrix_).shape[static_cast<size_t>(1 - contracted_)];
    const int64_t middle = (lines / 2 + kBlock - 1) / kBlock * kBlock;
    const Value first = lines_between(0, middle);
    const Value second = lines_between(middle, lines);
    const Value across = product(first, second);
    const Value mirrored = made_.add(Op::transpose, {across}, {{Attr::permutation, Ints{1, 0}}}, where_);
    const Value upper = joined(product(first, first), across, 1);
    const Value lower = joined(mirrored, product(second, second), 1);
    return joined(upper, lower, 0);
  }

 private:
  Value lines_between(int64_t first, int64_t last) {
    const auto axis = static_cast<size_t>(1 - contracted_);
    Ints starts{0, 0};
    Ints limits = made_.type_of(matrix_).shape;
    starts[axis] = first;
    limits[axis] = last;
    return made_.add(Op::slice, {matrix_},
                     {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, Ints{1, 1}}}, where_);
  }

  Value product(Value lhs, Value rhs) {
    return made_.add(Op::dot, {lhs, rhs},
                     {{Attr::lhs_batch, Ints{}},
                      {Attr::rhs_batch, Ints{}},
                      {Attr::lhs_contract, Ints{contracted_}},
                      {Attr::rhs_contract, Ints{contracted_}}},
                     where_);
  }

  Value joined(Value first, Value second, int64_t axis) {
    return made_.add(Op::concatenate, {first, second}, {{Attr::axis, axis}}, where_);
  }

  Graph& made_;
  const SourceLocation where_;
  Value matrix_;
  int64_t contracted_;
};

}  // namespace

Graph halve_symmetric(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (const std::optional<Operand> operand = large_symmetric(graph, node)) {
      Halving halving(rewriter.graph(), node, rewriter(operand->matrix), operand->contracted);
      rewriter.map(value, halving.run());
    } else {
      rewriter.copy(value);
    }
  }
  return rewriter.finish();
}

}  // namespace tokamak
