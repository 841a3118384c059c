#include "ir/random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace tokamak::testing {
namespace {

constexpr double kSpecials[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                2,
                                0.5,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                6e-8,     // subnormal in f16
                                1e-40,    // in f32 and bf16
                                5e-324,   // in f64
                                65504,    // the largest f16
                                3.4e38};  // nearly the largest f32

class Maker {
 public:
  Maker(uint32_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), graph_("random" + std::to_string(seed)) {
    for (const Shape& shape : options.shapes) most_elements_ = std::max(most_elements_, element_count(shape));
  }

  Graph run() {
    const int parameters = pick(1, 4);
    for (int i = 0; i < parameters; ++i) graph_.add_parameter("p" + std::to_string(i), {dtype(), shape()});
    while (static_cast<int>(graph_.size()) < options_.nodes) {
      try {
        add_something();
      } catch (const UserError&) {
        // Types did not fit: something else then.
      }
    }
    std::vector<Value> outputs;
    for (int i = pick(1, 3); i > 0; --i) outputs.push_back(any_value());
    outputs.push_back(static_cast<Value>(graph_.size() - 1));
    graph_.set_outputs(outputs);
    return std::move(graph_);
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  DType dtype() { return kAllDTypes[static_cast<size_t>(pick(0, std::size(kAllDTypes) - 1))]; }

  Shape shape() {
    static const Shape kShapes[] = {{},     {1},    {3},       {4},       {2, 3}, {3, 4},
                                    {1, 4}, {3, 1}, {2, 3, 4}, {2, 1, 4}, {0, 4}, {5}};
    if (!options_.shapes.empty())
      return options_.shapes[static_cast<size_t>(pick(0, static_cast<int>(options_.shapes.size()) - 1))];
    return kShapes[static_cast<size_t>(pick(0, std::size(kShapes) - 1))];
  }

  Value any_value() { return static_cast<Value>(pick(0, static_cast<int>(graph_.size()) - 1)); }

  /// A value that can stand next to `other`: of its dtype, often a scalar constant.
  Value companion(Value other) {
    const DType wanted = graph_.type_of(other).dtype;
    for (int attempt = 0; attempt < 8 && pick(0, 3) != 0; ++attempt) {
      const Value value = any_value();
      if (graph_.type_of(value).dtype == wanted && graph_.type_of(value).elements() <= most_elements_)
        return value;
    }
    return constant(wanted, pick(0, 2) == 0 ? graph_.type_of(other).shape : Shape{});
  }

  Value constant(DType dtype, const Shape& shape) {
    return graph_.add_constant(random_tensor({dtype, shape}, random_));
  }

  Value index() { return graph_.add_constant(scalar_tensor(DType::i64, static_cast<int64_t>(pick(-1, 4)))); }

  void add_something() {
    const Op op = static_cast<Op>(pick(0, static_cast<int>(kOpCount) - 1));
    if (op == Op::parameter) return;
    if (op == Op::constant) {
      constant(dtype(), shape());
    } else if (op == Op::iota) {
      const Shape of = {pick(1, 3), pick(1, 4)};
      graph_.add(op, {}, {{Attr::shape, of}, {Attr::axis, int64_t{pick(0, 1)}}, {Attr::dtype, dtype()}});
    } else if (family_of(op) == OpFamily::Elementwise) {
      add_elementwise(op);
    } else if (family_of(op) == OpFamily::View) {
      add_view(op, any_value());
    } else if (family_of(op) == OpFamily::Index) {
      add_index(op, any_value());
    } else if (family_of(op) == OpFamily::Contract) {
      add_product(op, any_value());
    } else {
      add_reduction(op, any_value());
    }
  }

  /// Pairs of axes with equal extents are matched, or summed over, or left alone.
  void add_product(Op op, Value lhs) {
    const TensorType left = graph_.type_of(lhs);
    if (left.elements() > most_elements_ || (options_.exact_only && is_float(left.dtype))) return;
    const Value rhs = companion(lhs);
    const Shape& right = graph_.type_of(rhs).shape;
    Ints lists[4];  // batch and contracted axes of the first, and of the second
    std::vector<bool> taken(right.size(), false);
    for (size_t i = 0; i < left.shape.size(); ++i) {
      const int kind = pick(0, 2);
      for (size_t j = 0; j < right.size() && kind != 2; ++j) {
        if (taken[j] || right[j] != left.shape[i]) continue;
        lists[kind].push_back(static_cast<int64_t>(i));
        lists[2 + kind].push_back(static_cast<int64_t>(j));
        taken[j] = true;
        break;
      }
    }
    graph_.add(op, {lhs, rhs},
               {{Attr::lhs_batch, lists[0]},
                {Attr::rhs_batch, lists[2]},
                {Attr::lhs_contract, lists[1]},
                {Attr::rhs_contract, lists[3]}});
  }

  DType integer_as_large(DType like) {
    for (;;) {
      const DType other = dtype();
      if (is_integer(other) && size_of(other) == size_of(like)) return other;
    }
  }

  void add_elementwise(Op op) {
    const Value first = any_value();
    if (options_.exact_only && op == Op::pow) return;
    if (op == Op::bitcast) {  // of integers: the bits of a NaN are not specified
      if (!is_integer(graph_.type_of(first).dtype)) return;
      graph_.add(op, {first}, {{Attr::dtype, integer_as_large(graph_.type_of(first).dtype)}});
    } else if (op == Op::convert) {
      graph_.add(op, {first}, {{Attr::dtype, dtype()}});
    } else if (op == Op::select) {
      Value condition = any_value();
      if (graph_.type_of(condition).dtype != DType::boolean) condition = constant(DType::boolean, {});
      graph_.add(op, {condition, first, companion(first)});
    } else {
      std::vector<Value> inputs = {first};
      for (int i = 1; i < info(op).arity; ++i) inputs.push_back(companion(first));
      if (inputs.size() == 2 && pick(0, 1) == 0) std::swap(inputs[0], inputs[1]);
      graph_.add(op, inputs);
    }
  }

  void add_view(Op op, Value of) {
    const Shape from = graph_.type_of(of).shape;
    const auto rank = static_cast<int64_t>(from.size());
    if (op == Op::broadcast) {
      Shape to = from;
      for (int64_t& extent : to) extent = extent == 1 ? pick(1, 3) : extent;
      if (rank < 3 && pick(0, 1) == 0) to.insert(to.begin(), pick(1, 2));
      graph_.add(op, {of}, {{Attr::shape, to}});
    } else if (op == Op::reshape) {
      graph_.add(op, {of}, {{Attr::shape, reshaped(from)}});
    } else if (op == Op::transpose) {
      Ints permutation(from.size());
      std::iota(permutation.begin(), permutation.end(), 0);
      std::shuffle(permutation.begin(), permutation.end(), random_);
      graph_.add(op, {of}, {{Attr::permutation, permutation}});
    } else if (op == Op::reverse) {
      graph_.add(op, {of}, {{Attr::axes, some_axes(rank)}});
    } else if (op == Op::window) {
      if (graph_.type_of(of).elements() > most_elements_) return;
      const Ints axes = some_axes(rank);
      Ints sizes, steps, dilations;
      for (size_t i = 0; i < axes.size(); ++i) {
        sizes.push_back(pick(1, 3));
        steps.push_back(pick(1, 2));
        dilations.push_back(pick(1, 2));
      }
      graph_.add(
          op, {of},
          {{Attr::axes, axes}, {Attr::sizes, sizes}, {Attr::steps, steps}, {Attr::dilations, dilations}});
    } else {
      Ints starts, limits, steps;
      for (int64_t extent : from) {
        starts.push_back(pick(0, static_cast<int>(std::min<int64_t>(extent, 2))));
        limits.push_back(pick(static_cast<int>(starts.back()), static_cast<int>(extent)));
        steps.push_back(pick(1, 3));
      }
      graph_.add(op, {of}, {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, steps}});
    }
  }

  Shape reshaped(const Shape& from) {
    Shape to = from;
    switch (pick(0, 3)) {
      case 0:
        return {element_count(from)};
      case 1:
        to.insert(to.begin() + pick(0, static_cast<int>(to.size())), 1);
        return to;
      case 2:
        std::reverse(to.begin(), to.end());
        return to;
      default:
        std::erase(to, 1);
        return to;
    }
  }

  Ints some_axes(int64_t rank) {
    Ints axes;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (pick(0, 1) == 0) axes.push_back(axis);
    }
    return axes;
  }

  void add_index(Op op, Value of) {
    const TensorType type = graph_.type_of(of);
    const int64_t axis = type.rank() == 0 ? 0 : pick(0, static_cast<int>(type.rank()) - 1);
    std::vector<Value> inputs = {of};
    if (op == Op::concatenate) {
      for (int i = pick(0, 2); i > 0; --i) inputs.push_back(pick(0, 1) == 0 ? of : companion(of));
      graph_.add(op, inputs, {{Attr::axis, axis}});
    } else if (op == Op::pad) {
      Ints low, high, interior;
      for (int64_t i = 0; i < type.rank(); ++i) {
        low.push_back(pick(0, 2));
        high.push_back(pick(0, 2));
        interior.push_back(pick(0, 3) == 0 ? 1 : 0);
      }
      if (type.elements() > most_elements_) return;
      graph_.add(op, {of, constant(type.dtype, {})},
                 {{Attr::low, low}, {Attr::high, high}, {Attr::interior, interior}});
    } else if (op == Op::gather) {
      graph_.add(op, {of, index()}, {{Attr::axis, axis}, {Attr::mode, Word::clamp}});
    } else if (op == Op::scatter) {
      if (type.rank() == 0) return;
      Shape updates = type.shape;
      updates.erase(updates.begin() + axis);
      const Word combine[] = {Word::set, Word::min, Word::max};
      graph_.add(op, {of, index(), constant(type.dtype, updates)},
                 {{Attr::axis, axis}, {Attr::mode, Word::clamp}, {Attr::combine, combine[pick(0, 2)]}});
    } else {
      Shape window;
      for (int64_t extent : type.shape) window.push_back(pick(0, static_cast<int>(extent)));
      if (op == Op::dynamic_update_slice) inputs.push_back(constant(type.dtype, window));
      for (int64_t i = 0; i < type.rank(); ++i) inputs.push_back(index());
      Attributes attributes;
      if (op == Op::dynamic_slice) attributes.set(Attr::sizes, window);
      graph_.add(op, inputs, attributes);
    }
  }

  void add_reduction(Op op, Value of) {
    const TensorType& type = graph_.type_of(of);
    const bool folds = op == Op::reduce_sum || op == Op::reduce_prod || op == Op::cumsum || op == Op::cumprod;
    if (options_.exact_only && folds && is_float(type.dtype)) return;
    if (op == Op::argmax || op == Op::argmin || family_of(op) == OpFamily::Cumulative ||
        family_of(op) == OpFamily::Sort) {
      graph_.add(op, {of},
                 {{Attr::axis, int64_t{type.rank() == 0 ? 0 : pick(0, static_cast<int>(type.rank()) - 1)}}});
    } else {
      graph_.add(op, {of}, {{Attr::axes, some_axes(type.rank())}});
    }
  }

  std::mt19937 random_;
  RandomGraphOptions options_;
  int64_t most_elements_ = 64;  ///< of operands that an op may multiply
  Graph graph_;
};

Tensor random_element(DType dtype, std::mt19937& random) {
  const auto pick = [&](int high) { return std::uniform_int_distribution<int>(0, high)(random); };
  if (is_float(dtype)) {
    if (pick(3) == 0) return scalar_tensor(dtype, kSpecials[pick(std::size(kSpecials) - 1)]);
    return scalar_tensor(dtype, std::uniform_real_distribution<double>(-4, 4)(random));
  }
  if (dtype == DType::boolean) return scalar_tensor(dtype, static_cast<int64_t>(pick(1)));
  const auto bits = static_cast<int64_t>(uint64_t{random()} << 32 | random());
  const int64_t top = int64_t{1} << (size_of(dtype) * 8 - 2) << 1;  // the most negative, or the middle
  const int64_t choices[] = {pick(8) - 4, pick(8), pick(2), bits, top, ~top, -1};
  return scalar_tensor(dtype, choices[pick(std::size(choices) - 1)]);
}

/// Bits in the order of the values, so that neighbours differ by one.
int64_t ordered_bits(const Tensor& tensor, int64_t i) {
  const size_t size = size_of(tensor.type().dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + static_cast<size_t>(i) * size, size);
  const uint64_t sign = uint64_t{1} << (size * 8 - 1);
  return (bits & sign) != 0 ? -static_cast<int64_t>(bits ^ sign) : static_cast<int64_t>(bits);
}

bool same_element(const Tensor& a, const Tensor& b, int64_t i, int64_t ulps) {
  const size_t size = size_of(a.type().dtype);
  const size_t offset = static_cast<size_t>(i) * size;
  if (std::memcmp(a.data() + offset, b.data() + offset, size) == 0) return true;
  if (!is_float(a.type().dtype)) return false;
  const double x = element_as_double(a, i);
  const double y = element_as_double(b, i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return ulps != 0 && std::abs(ordered_bits(a, i) - ordered_bits(b, i)) <= ulps;
}

}  // namespace

Graph random_graph(uint32_t seed, const RandomGraphOptions& options) { return Maker(seed, options).run(); }

Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  Tensor tensor(type);
  const size_t size = size_of(type.dtype);
  for (int64_t i = 0; i < type.elements(); ++i) {
    std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size,
                random_element(type.dtype, random).data(), size);
  }
  return tensor;
}

std::vector<Tensor> random_arguments(const Graph& graph, std::mt19937& random) {
  std::vector<Tensor> arguments;
  for (Value parameter : graph.parameters())
    arguments.push_back(random_tensor(graph.type_of(parameter), random));
  return arguments;
}

std::string difference(const Tensor& a, const Tensor& b, int64_t ulps) {
  if (a.type() != b.type()) return to_string(a.type()) + " against " + to_string(b.type());
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    if (same_element(a, b, i, ulps)) continue;
    return "element " + std::to_string(i) + " of " + to_string(a.type()) + " is " +
           std::to_string(element_as_double(a, i)) + " and " + std::to_string(element_as_double(b, i));
  }
  return {};
}

}  // namespace tokamak::testing
