#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "interp/evaluate.h"
#include "interp/positions.h"
#include "ops/sort.h"

namespace tokamak::interp {
namespace {

/// Whether element `a` comes before element `b`; NaNs come last. `sort` has -0 before +0, for `argsort` they
/// are equal.
bool comes_before(const Tensor& tensor, int64_t a, int64_t b, bool zeros_differ) {
  const DType dtype = tensor.type().dtype;
  if (dtype == DType::u64)
    return static_cast<uint64_t>(element_as_int(tensor, a)) <
           static_cast<uint64_t>(element_as_int(tensor, b));
  if (!is_float(dtype)) return element_as_int(tensor, a) < element_as_int(tensor, b);
  const double x = element_as_double(tensor, a);
  const double y = element_as_double(tensor, b);
  if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
  if (zeros_differ && x == 0 && y == 0) return std::signbit(x) && !std::signbit(y);
  return x < y;
}

}  // namespace

Tensor sorted(const Node& node, const Tensor& operand) {
  const bool wants_values = node.op == Op::sort;
  const Shape& shape = operand.type().shape;
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const std::vector<int64_t> strides = dense_strides(shape);
  Shape lines = shape;
  lines[axis] = std::min<int64_t>(lines[axis], 1);
  const size_t width = size_of(node.type.dtype);
  const SortRange range = range_of_sort(node.attributes, shape[axis]);
  const std::vector<int64_t> result_strides = dense_strides(node.type.shape);
  Tensor result(node.type);
  if (range.first == range.last) return result;
  const Positions result_lines = strided_positions(lines, result_strides);
  auto line = result_lines.begin();
  std::vector<int64_t> order(static_cast<size_t>(shape[axis]));
  for (int64_t first : strided_positions(lines, strides)) {
    auto place = [&](int64_t i) { return first + i * strides[axis]; };
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return comes_before(operand, place(a), place(b), wants_values);
    });
    for (int64_t i = range.first; i < range.last; ++i) {
      const int64_t& at = order[static_cast<size_t>(i)];
      const auto* from = wants_values ? operand.data() + static_cast<size_t>(place(at)) * width
                                      : reinterpret_cast<const std::byte*>(&at);
      const int64_t to = *line + (i - range.first) * result_strides[axis];
      std::memcpy(result.mutable_data() + static_cast<size_t>(to) * width, from, width);
    }
    ++line;
  }
  return result;
}

}  // namespace tokamak::interp
