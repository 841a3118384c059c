#include "passes/normalise_late.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "ops/contract.h"

namespace tokamak {
namespace {

class LateNormalisation {
 public:
  explicit LateNormalisation(const Graph& graph)
      : rewriter_(graph), graph_(graph), readers_(count_uses(graph)) {}

  Graph run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (const std::optional<Normalised> found = normalised_operand(graph_[value])) {
        rewriter_.map(value, divided_after(graph_[value], *found));
      } else {
        rewriter_.copy(value);
      }
    }
    return rewriter_.finish();
  }

 private:
  struct Normalised {
    Value exponentials;
    Value sums;
  };

  /// The first operand of a dot, when it is exponentials divided by their sums over what the dot contracts.
  std::optional<Normalised> normalised_operand(const Node& dot) const {
    if (dot.op != Op::dot) return std::nullopt;
    const Value operand = dot.inputs[0];
    const Node& division = graph_[operand];
    if (division.op != Op::div || readers_[index_of(operand)] != 1) return std::nullopt;
    const Value exponentials = division.inputs[0];
    if (graph_[exponentials].op != Op::exp || graph_.type_of(exponentials) != division.type)
      return std::nullopt;
    if (division.type.dtype != DType::f32 && division.type.dtype != DType::f64) return std::nullopt;
    Value sums = division.inputs[1];
    while (graph_[sums].op == Op::reshape || graph_[sums].op == Op::broadcast) sums = graph_[sums].inputs[0];
    const Node& reduction = graph_[sums];
    if (reduction.op != Op::reduce_sum || reduction.inputs[0] != exponentials) return std::nullopt;
    if (!is_at_most_one(exponentials, reduction.attributes.ints(Attr::axes))) return std::nullopt;
    // The sums must stand where they came from: every other axis keeps its place.
    Shape expected = division.type.shape;
    for (int64_t axis : reduction.attributes.ints(Attr::axes)) expected[static_cast<size_t>(axis)] = 1;
    Shape shape = graph_.type_of(division.inputs[1]).shape;
    shape.insert(shape.begin(), expected.size() - std::min(expected.size(), shape.size()), 1);
    if (shape != expected) return std::nullopt;
    Ints contracted = dot.attributes.ints(Attr::lhs_contract);
    std::sort(contracted.begin(), contracted.end());
    if (contracted != reduction.attributes.ints(Attr::axes)) return std::nullopt;
    return Normalised{exponentials, sums};
  }

  /// Whether the exponents are what their greatest was taken from, so that no sum of the exponentials is
  /// large.
  bool is_at_most_one(Value exponentials, const Ints& axes) const {
    const Node& exponent = graph_[graph_[exponentials].inputs[0]];
    if (exponent.op != Op::sub) return false;
    Value greatest = exponent.inputs[1];
    while (graph_[greatest].op == Op::reshape || graph_[greatest].op == Op::broadcast)
      greatest = graph_[greatest].inputs[0];
    const Node& reduction = graph_[greatest];
    return reduction.op == Op::reduce_max && reduction.inputs[0] == exponent.inputs[0] &&
           reduction.attributes.ints(Attr::axes) == axes;
  }

  /// The largest power of two that, times as many exponentials as a sum has, is less than 1.
  static double scale_for(const TensorType& exponentials, const DotAxes& axes) {
    const auto count = static_cast<uint64_t>(extent_of(exponentials.shape, axes.lhs_contract));
    return std::ldexp(1.0, -static_cast<int>(std::bit_width(count)));
  }

  Value divided_after(const Node& dot, const Normalised& operand) {
    Graph& made = rewriter_.graph();
    const TensorType& lhs = graph_.type_of(dot.inputs[0]);
    const DotAxes axes = dot_axes(dot.attributes, lhs.rank(), graph_.type_of(dot.inputs[1]).rank());
    const Value scale = made.add_constant(scalar_tensor(lhs.dtype, scale_for(lhs, axes)), dot.where);
    const Value weights = made.add(Op::mul, {rewriter_(operand.exponentials), scale}, {}, dot.where);
    const Value product = made.add(Op::dot, {weights, rewriter_(dot.inputs[1])}, dot.attributes, dot.where);
    Ints kept = axes.lhs_batch;
    kept.insert(kept.end(), axes.lhs_free.begin(), axes.lhs_free.end());
    Ints permutation;
    Shape shape;
    for (int64_t axis : kept) {
      permutation.push_back(
          std::count_if(kept.begin(), kept.end(), [&](int64_t other) { return other < axis; }));
      shape.push_back(lhs.shape[static_cast<size_t>(axis)]);
    }
    shape.insert(shape.end(), axes.rhs_free.size(), 1);
    const Node& sum = graph_[operand.sums];
    const Value scaled = made.add(Op::reduce_sum, {weights}, sum.attributes, sum.where);
    const Value turned =
        made.add(Op::transpose, {scaled}, {{Attr::permutation, std::move(permutation)}}, dot.where);
    const Value sums = made.add(Op::reshape, {turned}, {{Attr::shape, std::move(shape)}}, dot.where);
    return made.add(Op::div, {product, sums}, {}, dot.where);
  }

  GraphRewriter rewriter_;
  const Graph& graph_;
  std::vector<uint32_t> readers_;
};

}  // namespace

Graph normalise_late(const Graph& graph) { return LateNormalisation(graph).run(); }

}  // namespace tokamak
