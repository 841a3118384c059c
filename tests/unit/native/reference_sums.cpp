#include "native/reference_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace tokamak::testing {
namespace {

/// A fold in 64-bit-mantissa precision, and what its error is measured against.
struct Fold {
  long double value;
  long double magnitude;  ///< sum of absolute values; for a product its own
};

std::vector<Fold> exact_fold(const Tensor& operand, Op op, const Ints& axes, int64_t results) {
  const bool sums = op == Op::reduce_sum;
  std::vector<Fold> folds(static_cast<size_t>(results), sums ? Fold{0, 0} : Fold{1, 1});
  const Shape& shape = operand.type().shape;
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < operand.type().elements(); ++i) {
    int64_t to = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
      if (!reduced) to = to * shape[axis] + index[axis];
    }
    const long double element = element_as_double(operand, i);
    Fold& fold = folds[static_cast<size_t>(to)];
    fold.value = sums ? fold.value + element : fold.value * element;
    fold.magnitude = sums ? fold.magnitude + std::abs(element) : std::abs(fold.value);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return folds;
}

/// The smallest number of the format.
long double smallest_of(DType dtype) {
  if (dtype == DType::f64) return std::ldexp(1.0L, -1074);
  if (dtype == DType::f16) return std::ldexp(1.0L, -24);
  if (dtype == DType::bf16) return std::ldexp(1.0L, -133);
  return std::ldexp(1.0L, -149);
}

/// Half the distance from 1 to the next number of the format.
long double unit_of(DType dtype) {
  if (dtype == DType::f64) return std::ldexp(1.0L, -53);
  if (dtype == DType::f16) return std::ldexp(1.0L, -11);
  if (dtype == DType::bf16) return std::ldexp(1.0L, -8);
  return std::ldexp(1.0L, -24);
}

}  // namespace

std::string compare_fold(const Tensor& found, const Tensor& operand, Op op, const Ints& axes) {
  const DType dtype = operand.type().dtype;
  if (found.type().dtype != dtype) return "a result of another dtype: " + to_string(found.type());
  const int64_t results = found.type().elements();
  const auto length = static_cast<long double>(results == 0 ? 0 : operand.type().elements() / results);
  // NumPy's pairwise sum adds 128 elements in 8 lanes before it pairs: 16 + 3 additions, then the tree.
  const long double steps = op == Op::reduce_sum ? 19 + std::log2(std::max(length, 1.0L)) : length;
  const long double accumulating = unit_of(dtype == DType::f64 ? DType::f64 : DType::f32) * steps;
  const std::vector<Fold> folds = exact_fold(operand, op, axes, results);
  for (int64_t i = 0; i < results; ++i) {
    const Fold& fold = folds[static_cast<size_t>(i)];
    const long double value = element_as_double(found, i);
    const long double allowed =
        accumulating * fold.magnitude + 2 * unit_of(dtype) * std::abs(fold.value) + smallest_of(dtype);
    const bool same_class = std::isnan(fold.value) ? std::isnan(value) : value == fold.value;
    if (same_class || (std::isfinite(fold.value) && std::abs(value - fold.value) <= allowed)) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %lld is %.17Lg, the exact result %.17Lg, allowed error %.3Lg",
                  static_cast<long long>(i), value, fold.value, allowed);
    return text;
  }
  return {};
}

}  // namespace tokamak::testing
