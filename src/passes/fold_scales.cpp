#include "passes/fold_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ops/contract.h"
#include "passes/fold_constants.h"

namespace tokamak {
namespace {

class ScaleFolding {
 public:
  explicit ScaleFolding(const Graph& graph) : rewriter_(graph), graph_(graph), readers_(count_uses(graph)) {}

  Graph run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (const std::optional<Scaling> scaling = scaling_at(value)) {
        rewriter_.map(value, folded(*scaling));
      } else {
        rewriter_.copy(value);
      }
    }
    return rewriter_.finish();
  }

 private:
  /// A dot, factors for one axis of its result, and the operand that has that axis.
  struct Scaling {
    Value dot;
    Value factors;  ///< a constant with as many elements as the axis has
    size_t operand;
    Value weights;  ///< the constant that the operand is, or is a broadcast of
    size_t axis;    ///< of the weights
  };

  std::optional<Scaling> scaling_at(Value value) const {
    const Node& node = graph_[value];
    if (node.op != Op::mul || !is_float(node.type.dtype)) return std::nullopt;
    for (size_t side : {0, 1}) {
      const Value dot = node.inputs[side];
      if (graph_[dot].op != Op::dot || readers_[index_of(dot)] != 1 || graph_.type_of(dot) != node.type)
        continue;
      if (std::optional<Scaling> found = scaling_of(dot, node.inputs[1 - side])) return found;
    }
    return std::nullopt;
  }

  std::optional<Scaling> scaling_of(Value dot, Value factors) const {
    const Tensor* constant = graph_.constant_value(factors);
    if (constant == nullptr || constant->type().elements() < 2) return std::nullopt;
    const Shape& shape = constant->type().shape;
    const Node& node = graph_[dot];
    std::optional<size_t> scaled;  // the one axis of the result that the factors vary along
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) continue;
      if (scaled) return std::nullopt;
      scaled = node.type.shape.size() - shape.size() + i;
    }
    const DotAxes axes = axes_of(node);
    const size_t batch = axes.lhs_batch.size();
    if (*scaled < batch) return std::nullopt;
    const bool in_lhs = *scaled - batch < axes.lhs_free.size();
    const size_t position = *scaled - batch - (in_lhs ? 0 : axes.lhs_free.size());
    const auto axis = static_cast<size_t>((in_lhs ? axes.lhs_free : axes.rhs_free)[position]);
    return weights_of(dot, factors, in_lhs ? 0 : 1, axis);
  }

  /// The constant under an operand, whose axis must be the operand's own.
  std::optional<Scaling> weights_of(Value dot, Value factors, size_t operand, size_t axis) const {
    Value weights = graph_[dot].inputs[operand];
    const Shape& shape = graph_.type_of(weights).shape;
    if (graph_[weights].op == Op::broadcast) weights = graph_[weights].inputs[0];
    const Tensor* constant = graph_.constant_value(weights);
    if (constant == nullptr || constant->type().elements() > kFoldWorkElements / 2) return std::nullopt;
    if (!is_convolution(dot, 1 - operand) || !stays_normal(*constant, *graph_.constant_value(factors)))
      return std::nullopt;
    const size_t added = shape.size() - constant->type().shape.size();
    if (axis < added || constant->type().shape[axis - added] != shape[axis]) return std::nullopt;
    return Scaling{dot, factors, operand, weights, axis - added};
  }

  /// Whether the other operand is made of windows. What users multiply themselves is left as they wrote it.
  bool is_convolution(Value dot, size_t operand) const {
    Value value = graph_[dot].inputs[operand];
    while (family_of(graph_[value].op) == OpFamily::View) {
      if (graph_[value].op == Op::window) return true;
      value = graph_[value].inputs[0];
    }
    return false;
  }

  /// Whether no product of a weight and a factor is too large or too small for the dtype, nor made zero.
  static bool stays_normal(const Tensor& weights, const Tensor& factors) {
    const DType dtype = weights.type().dtype;
    if (dtype != DType::f32 && dtype != DType::f64) return false;
    const double least =
        dtype == DType::f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
    const double most =
        dtype == DType::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    auto range = [](const Tensor& tensor) {
      double low = std::numeric_limits<double>::infinity();
      double high = 0;
      for (int64_t i = 0; i < tensor.type().elements(); ++i) {
        const double size = std::abs(element_as_double(tensor, i));
        if (!(size <= std::numeric_limits<double>::max()))
          return std::pair(0.0, std::numeric_limits<double>::infinity());
        if (size != 0) low = std::min(low, size);
        high = std::max(high, size);
      }
      return std::pair(low, high);
    };
    const auto [low_weight, high_weight] = range(weights);
    const auto [low_factor, high_factor] = range(factors);
    for (int64_t i = 0; i < factors.type().elements(); ++i) {
      if (element_as_double(factors, i) == 0) return false;
    }
    return high_weight * high_factor <= most && low_weight * low_factor >= least;
  }

  DotAxes axes_of(const Node& dot) const {
    return dot_axes(dot.attributes, graph_.type_of(dot.inputs[0]).rank(),
                    graph_.type_of(dot.inputs[1]).rank());
  }

  Value folded(const Scaling& scaling) {
    Graph& made = rewriter_.graph();
    const Node& dot = graph_[scaling.dot];
    const TensorType& type = graph_.type_of(scaling.weights);
    Shape shape(type.shape.size(), 1);
    shape[scaling.axis] = type.shape[scaling.axis];
    const Value factors =
        made.add(Op::reshape, {rewriter_(scaling.factors)}, {{Attr::shape, std::move(shape)}}, dot.where);
    Value weights = made.add(Op::mul, {rewriter_(scaling.weights), factors}, {}, dot.where);
    const Value old = dot.inputs[scaling.operand];
    if (graph_[old].op == Op::broadcast)
      weights = made.add(Op::broadcast, {weights}, graph_[old].attributes, dot.where);
    std::vector<Value> inputs = rewriter_(std::span<const Value>(dot.inputs));
    inputs[scaling.operand] = weights;
    return made.add(Op::dot, std::move(inputs), dot.attributes, dot.where);
  }

  GraphRewriter rewriter_;
  const Graph& graph_;
  std::vector<uint32_t> readers_;
};

}  // namespace

Graph fold_scales(const Graph& graph) { return ScaleFolding(graph).run(); }

}  // namespace tokamak
