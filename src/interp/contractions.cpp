#include <cstring>

#include "interp/evaluate.h"
#include "interp/positions.h"
#include "ops/contract.h"

namespace tokamak::interp {
namespace {

/// Positions of an operand's elements, [batch, free, contract].
Positions arranged(const TensorType& type, const Ints& batch, const Ints& free, const Ints& contract) {
  const std::vector<int64_t> dense = dense_strides(type.shape);
  Shape shape;
  std::vector<int64_t> strides;
  for (const Ints* axes : {&batch, &free, &contract}) {
    for (int64_t axis : *axes) {
      shape.push_back(type.shape[static_cast<size_t>(axis)]);
      strides.push_back(dense[static_cast<size_t>(axis)]);
    }
  }
  return strided_positions(shape, strides);
}

template <class Number>
void set_element(Tensor& to, int64_t i, Number value) {
  const Tensor element = scalar_tensor(to.type().dtype, value);
  const size_t width = size_of(to.type().dtype);
  std::memcpy(to.mutable_data() + static_cast<size_t>(i) * width, element.data(), width);
}

template <class Sum>
Tensor sums_of_products(const Node& node, const Tensor& lhs, const Tensor& rhs,
                        Sum (*element)(const Tensor&, int64_t), void (*store)(Tensor&, int64_t, Sum)) {
  const DotAxes axes = dot_axes(node.attributes, lhs.type().rank(), rhs.type().rank());
  const Positions left = arranged(lhs.type(), axes.lhs_batch, axes.lhs_free, axes.lhs_contract);
  const Positions right = arranged(rhs.type(), axes.rhs_batch, axes.rhs_free, axes.rhs_contract);
  const int64_t batch = extent_of(lhs.type().shape, axes.lhs_batch);
  const int64_t rows = extent_of(lhs.type().shape, axes.lhs_free);
  const int64_t columns = extent_of(rhs.type().shape, axes.rhs_free);
  const int64_t length = extent_of(lhs.type().shape, axes.lhs_contract);
  Tensor result(node.type);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        Sum sum = 0;
        for (int64_t k = 0; k < length; ++k) {
          sum += element(lhs, left[static_cast<size_t>((b * rows + i) * length + k)]) *
                 element(rhs, right[static_cast<size_t>((b * columns + j) * length + k)]);
        }
        store(result, (b * rows + i) * columns + j, sum);
      }
    }
  }
  return result;
}

double float_element(const Tensor& tensor, int64_t i) { return element_as_double(tensor, i); }
uint64_t integer_element(const Tensor& tensor, int64_t i) {
  return static_cast<uint64_t>(element_as_int(tensor, i));
}

}  // namespace

Tensor dot(const Node& node, const Tensor& lhs, const Tensor& rhs) {
  if (is_float(node.type.dtype)) {
    return sums_of_products<double>(node, lhs, rhs, float_element,
                                    [](Tensor& to, int64_t i, double sum) { set_element(to, i, sum); });
  }
  return sums_of_products<uint64_t>(node, lhs, rhs, integer_element, [](Tensor& to, int64_t i, uint64_t sum) {
    // Narrower integers keep the low bits; a bool says whether any product was true.
    const bool is_bool = to.type().dtype == DType::boolean;
    set_element(to, i, is_bool ? int64_t{sum != 0} : static_cast<int64_t>(sum));
  });
}

}  // namespace tokamak::interp
