#include "interp/oracle/moves.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "interp/interpreter.h"
#include "ops/contract.h"
#include "ops/record.h"

namespace tokamak {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Half the distance from 1 to the next number.
double unit_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

/// f16 and bf16 are accumulated in f32.
DType accumulator_of(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }
double largest_of(DType accumulator) {
  return accumulator == DType::f64 ? std::numeric_limits<double>::max()
                                   : double{std::numeric_limits<float>::max()};
}
double smallest_of(DType accumulator) { return accumulator == DType::f64 ? 0x1p-1074 : 0x1p-149; }

template <class Function>
Tensor wide(const Tensor& from, Function function) {
  Tensor made(TensorType{DType::f64, from.type().shape});
  const std::span<double> elements = made.as_mutable<double>();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = function(element_as_double(from, static_cast<int64_t>(i)));
  return made;
}

/// The node computed in f64, `function` applied to the elements of its operands first.
template <class Function>
Tensor widely(const Node& node, std::span<const Tensor> operands, Function function) {
  std::vector<Tensor> widened;
  for (const Tensor& operand : operands) widened.push_back(wide(operand, function));
  Node in_f64 = node;
  in_f64.type.dtype = DType::f64;
  return interpret_node(in_f64, widened, false);
}

/// What a view, or a view of one, is of.
Value behind_views(const Graph& graph, Value value) {
  while (family_of(graph[value].op) == OpFamily::View) value = graph[value].inputs[0];
  return value;
}

/// Of one result of a sum or a product.
int64_t terms_of(const Graph& graph, const Node& node) {
  const Attr summed = node.op == Op::dot ? Attr::lhs_contract : Attr::axes;
  return extent_of(graph.type_of(node.inputs[0]).shape, node.attributes.ints(summed));
}

/// Whether a value is read through windows, whose sums may be made of sums of neighbours (Winograd).
bool is_windows(const Graph& graph, Value value) {
  while (family_of(graph[value].op) == OpFamily::View) {
    if (graph[value].op == Op::window) return true;
    value = graph[value].inputs[0];
  }
  return false;
}

/// Whether a value is something divided, as the weights of a softmax are.
bool is_divided(const Graph& graph, Value value) { return graph[behind_views(graph, value)].op == Op::div; }

class Mover {
 public:
  Mover(const Graph& graph, const Node& node, std::span<const Tensor> operands, const Tensor& value,
        std::mt19937& random)
      : graph_(graph),
        node_(node),
        operands_(operands),
        dtype_(node.type.dtype),
        accumulator_(accumulator_of(dtype_)),
        value_(Tensor::copy_of(value.type(), value.data())),
        random_(random),
        for_all_(random() % 2 == 0 ? std::optional(random() % kChoices) : std::nullopt) {}

  void sum() {
    const Tensor exact = widely(node_, operands_, [](double x) { return x; });
    const Tensor magnitudes = widely(node_, operands_, finite_magnitude);
    const double length = terms();
    // As close as a pairwise sum (reference_sums.cpp), on both sides.
    const double accumulating = 2 * unit_of(accumulator_) * (20 + std::log2(std::max(length, 1.0)));
    move_each(exact, magnitudes, accumulating,
              std::vector<double>(static_cast<size_t>(node_.type.elements())));
  }

  void dot() {
    const Tensor exact = widely(node_, operands_, [](double x) { return x; });
    Tensor magnitudes = widely(node_, operands_, finite_magnitude);
    const double length = terms();
    double accumulating = 2 * unit_of(accumulator_) * (4 + length / 4);
    if (dtype_ != accumulator_) accumulating += 2 * unit_of(dtype_);
    if (is_windows(graph_, node_.inputs[0]) || is_windows(graph_, node_.inputs[1])) {
      const double all = length * largest(operands_[0]) * largest(operands_[1]);
      for (double& magnitude : magnitudes.as_mutable<double>()) magnitude = std::max(magnitude, all);
    }
    // Products too small for the format are rounded to multiples of its smallest number.
    const double smallest = length * smallest_of(accumulator_);
    std::vector<double> absolute(static_cast<size_t>(node_.type.elements()), smallest);
    for (size_t operand = 0; operand < operands_.size(); ++operand) {
      if (is_divided(graph_, node_.inputs[operand])) add_late_division(operand, 2 * smallest, absolute);
    }
    move_each(exact, magnitudes, accumulating, absolute);
    for (size_t operand = 0; operand < operands_.size(); ++operand) {
      if (is_divided(graph_, node_.inputs[operand])) lose_weights(operand, exact);
    }
  }

  void product() {
    const Tensor exact = widely(node_, operands_, [](double x) { return x; });
    const Tensor highest = widely(
        node_, operands_, [](double x) { return std::isfinite(x) ? std::max(std::abs(x), 1.0) : 1.0; });
    const Tensor lowest = widely(node_, operands_, [](double x) {
      return std::isfinite(x) && x != 0 ? std::min(std::abs(x), 1.0) : 1.0;
    });
    const double least = accumulator_ == DType::f64 ? 0x1p-1022 : 0x1p-126;
    for (int64_t i = 0; i < node_.type.elements(); ++i) {
      const double want = element_as_double(exact, i);
      const bool open = element_as_double(highest, i) > largest_of(accumulator_) / 2 ||
                        element_as_double(lowest, i) < 2 * least;
      set(i, open ? anything(want) : want * (1 + between() * 2 * unit_of(accumulator_) * terms()));
    }
  }

  void ulps(int64_t most) {
    for (int64_t i = 0; i < node_.type.elements(); ++i) {
      const double want = element_as_double(value_, i);
      if (!std::isfinite(want) || want == 0) continue;
      set(i, want * (1 + between() * 2 * static_cast<double>(most) * unit_of(dtype_)));
    }
  }

  /// The product of a fused multiply-add is not rounded, and may be beyond the largest number.
  void contract() {
    for (int64_t i = 0; i < node_.type.elements(); ++i) {
      if (std::isinf(element_as_double(value_, i))) set(i, anything(element_as_double(value_, i)));
    }
    ulps(1);
  }

  void signs(bool of_zeros) {
    for (int64_t i = 0; i < node_.type.elements(); ++i) {
      const double value = element_as_double(value_, i);
      const bool open = std::isnan(value) || (of_zeros && value == 0);
      if (open && random_() % 2 == 0)
        value_.mutable_data()[static_cast<size_t>(i + 1) * size_of(dtype_) - 1] ^= std::byte{0x80};
    }
  }

  Tensor result() { return std::move(value_); }

 private:
  static constexpr size_t kChoices = 4;

  /// The weights of a softmax, and with them the products, are less by up to twice their number until they
  /// are divided by its sums: so much larger is what the format's smallest number is too large for.
  void add_late_division(size_t operand, double smallest, std::vector<double>& absolute) const {
    std::vector<Tensor> with_ones(operands_.begin(), operands_.end());
    with_ones[operand] = wide(with_ones[operand], [](double) { return 1.0; });
    const Tensor sums = widely(node_, with_ones, finite_magnitude);
    for (size_t i = 0; i < absolute.size(); ++i)
      absolute[i] += smallest * (terms() + element_as_double(sums, static_cast<int64_t>(i)));
  }

  /// Weights that are less until then may become zero: what is infinite with them is NaN then.
  void lose_weights(size_t operand, const Tensor& exact) {
    const double lost = 2 * terms() * smallest_of(accumulator_);
    std::vector<Tensor> fewer(operands_.begin(), operands_.end());
    fewer[operand] = wide(fewer[operand], [&](double x) { return std::abs(x) < lost ? 0.0 : x; });
    const Tensor left = widely(node_, fewer, [](double x) { return x; });
    for (int64_t i = 0; i < node_.type.elements(); ++i) {
      if (!std::isnan(element_as_double(left, i)) || std::isnan(element_as_double(exact, i))) continue;
      if ((for_all_ ? *for_all_ : random_()) % 2 == 0) set(i, kNaN);
    }
  }

  static double finite_magnitude(double x) { return std::isfinite(x) ? std::abs(x) : 0.0; }

  static double largest(const Tensor& tensor) {
    double found = 0;
    for (int64_t i = 0; i < tensor.type().elements(); ++i)
      found = std::max(found, finite_magnitude(element_as_double(tensor, i)));
    return found;
  }

  double terms() const { return static_cast<double>(terms_of(graph_, node_)); }

  double between() { return std::uniform_real_distribution<double>(-1, 1)(random_); }

  /// Elements may be alike: sums of the same terms in the same order all overflow to the same side, which
  /// hardly happens where each is drawn on its own.
  double anything(double want) {
    const double choices[kChoices] = {want, kInfinity, -kInfinity, kNaN};
    return choices[for_all_ ? *for_all_ : random_() % kChoices];
  }

  void set(int64_t i, double value) {
    const size_t size = size_of(dtype_);
    std::memcpy(value_.mutable_data() + static_cast<size_t>(i) * size, scalar_tensor(dtype_, value).data(),
                size);
  }

  void move_each(const Tensor& exact, const Tensor& magnitudes, double relative,
                 const std::vector<double>& absolute) {
    for (int64_t i = 0; i < node_.type.elements(); ++i) {
      const double want = element_as_double(exact, i);
      const double magnitude = element_as_double(magnitudes, i);
      if (!(magnitude < largest_of(accumulator_) / 2)) {
        if (terms() > 1) set(i, anything(want));  // an overflow on the way, or not
      } else if (std::isfinite(want)) {
        set(i, want + between() * (relative * magnitude + absolute[static_cast<size_t>(i)]));
      }
    }
  }

  const Graph& graph_;
  const Node& node_;
  std::span<const Tensor> operands_;
  DType dtype_;
  DType accumulator_;
  Tensor value_;
  std::mt19937& random_;
  std::optional<size_t> for_all_;  ///< what all elements become that may be anything
};

}  // namespace

Tensor moved_result(const Graph& graph, const Node& node, std::span<const Tensor> operands,
                    const Tensor& value, Looseness looseness, std::mt19937& random) {
  // Constants and what is read as it lies have the bits they have.
  const OpFamily family = family_of(node.op);
  if (!is_float(node.type.dtype) || family == OpFamily::Source || family == OpFamily::View) return value;
  Mover mover(graph, node, operands, value, random);
  const bool is_loose_function =
      looseness.functions && family == OpFamily::Elementwise && record_of(node.op).max_ulp > 0;
  if (node.op == Op::reduce_sum) {
    mover.sum();
  } else if (node.op == Op::dot) {
    mover.dot();
  } else if (node.op == Op::reduce_prod) {
    mover.product();
  } else if (node.op == Op::pow) {
    mover.ulps(looseness.functions ? 4 : 2);  // small powers are products
  } else if (is_loose_function) {
    mover.ulps(2 * record_of(node.op).max_ulp);
  }
  mover.signs(node.op == Op::reduce_max || node.op == Op::reduce_min || node.op == Op::dot);
  return mover.result();
}

Tensor moved_factor(const Graph& graph, Value read, const Tensor& value, std::mt19937& random) {
  const Value factor = behind_views(graph, read);
  const Node& node = graph[factor];
  const bool is_wide = node.type.dtype == DType::f32 || node.type.dtype == DType::f64;
  const bool is_product = node.op == Op::mul || (node.op == Op::dot && terms_of(graph, node) == 1);
  if (!is_product || !is_wide) return value;
  Mover mover(graph, graph[read], {}, value, random);
  mover.contract();
  return mover.result();
}

}  // namespace tokamak
