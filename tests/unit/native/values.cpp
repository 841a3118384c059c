#include "native/values.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tokamak::testing {
namespace {

std::vector<double> special_floats(DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  double largest = std::numeric_limits<double>::max();
  double smallest = std::numeric_limits<double>::min();
  double subnormal = std::numeric_limits<double>::denorm_min();
  if (dtype == DType::f32 || dtype == DType::bf16) {
    largest = dtype == DType::f32 ? double{std::numeric_limits<float>::max()} : 0x1.fep127;
    smallest = std::numeric_limits<float>::min();
    subnormal = dtype == DType::f32 ? 0x1p-149 : 0x1p-133;
  } else if (dtype == DType::f16) {
    largest = 65504;
    smallest = 0x1p-14;
    subnormal = 0x1p-24;
  }
  std::vector<double> values = {std::numeric_limits<double>::quiet_NaN()};
  for (double magnitude : {0.0,   1.0,    0.5,    1.5,    2.0,    2.5, 3.0,     127.0,    128.0,     255.0,
                           256.0, 0x1p31, 0x1p32, 0x1p63, 0x1p64, 1e5, largest, smallest, subnormal, inf}) {
    values.push_back(magnitude);
    values.push_back(-magnitude);
  }
  return values;
}

std::vector<int64_t> special_integers(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  std::vector<int64_t> values = {0, 1, -1, 2, -2, 3, 7, 8, 10, 31, 32, 63, 64, -7, 85};
  const int64_t top = int64_t{1} << (size_of(dtype) * 8 - 2) << 1;  // the most negative, or the middle
  for (int64_t value : {top, ~top, top + 1, top / 2}) values.push_back(value);
  return values;
}

void put(Tensor& tensor, int64_t i, const Tensor& scalar) {
  const size_t size = size_of(tensor.type().dtype);
  std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size, scalar.data(), size);
}

Tensor drawn(DType dtype, TestRange range, std::mt19937& random) {
  if (dtype == DType::boolean) return scalar_tensor(dtype, static_cast<int64_t>(random() % 2));
  const double value = std::uniform_real_distribution<double>(range.low, range.high)(random);
  if (is_float(dtype)) return scalar_tensor(dtype, value);
  return scalar_tensor(dtype, static_cast<int64_t>(std::floor(value)));
}

}  // namespace

std::vector<Tensor> special_values(DType dtype) {
  std::vector<Tensor> values;
  if (is_float(dtype)) {
    for (double value : special_floats(dtype)) values.push_back(scalar_tensor(dtype, value));
  } else {
    for (int64_t value : special_integers(dtype)) values.push_back(scalar_tensor(dtype, value));
  }
  return values;
}

Tensor plain_tensor(const TensorType& type, TestRange range, std::mt19937& random) {
  Tensor tensor(type);
  for (int64_t i = 0; i < type.elements(); ++i) put(tensor, i, drawn(type.dtype, range, random));
  return tensor;
}

Tensor mixed_tensor(const TensorType& type, TestRange range, std::mt19937& random) {
  const std::vector<Tensor> specials = special_values(type.dtype);
  Tensor tensor(type);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const bool special = random() % 4 == 0;
    put(tensor, i, special ? specials[random() % specials.size()] : drawn(type.dtype, range, random));
  }
  return tensor;
}

Tensor index_tensor(const TensorType& type, int64_t low, int64_t high, std::mt19937& random) {
  Tensor tensor(type);
  std::uniform_int_distribution<int64_t> distribution(low, high);
  for (int64_t i = 0; i < type.elements(); ++i)
    put(tensor, i, scalar_tensor(type.dtype, distribution(random)));
  return tensor;
}

Tensor all_values(DType dtype) {
  const int64_t count = dtype == DType::boolean ? 2 : int64_t{1} << (8 * size_of(dtype));
  Tensor tensor(TensorType{dtype, {count}});
  for (int64_t i = 0; i < count; ++i) {  // little-endian: the low bytes of i
    std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size_of(dtype), &i, size_of(dtype));
  }
  return tensor;
}

std::vector<Tensor> meeting_values(DType dtype, size_t operands) {
  std::vector<Tensor> values;
  if (operands <= 2 && size_of(dtype) == 1) {
    const Tensor all = all_values(dtype);
    for (int64_t i = 0; i < all.type().elements(); ++i)
      values.push_back(Tensor::copy_of({dtype, {}}, all.data() + i));
  } else {
    values = special_values(dtype);
    if (operands > 2) {  // every third will do: triples are many
      std::vector<Tensor> fewer;
      for (size_t i = 0; i<values.size(); i += values.size()> 6 ? 3 : 1) fewer.push_back(values[i]);
      values = fewer;
    }
  }
  const auto count = static_cast<int64_t>(values.size());
  int64_t meetings = 1;
  for (size_t k = 0; k < operands; ++k) meetings *= count;
  std::vector<Tensor> met;
  int64_t period = 1;
  for (size_t k = 0; k < operands; ++k, period *= count) {
    Tensor tensor(TensorType{dtype, {meetings}});
    for (int64_t i = 0; i < meetings; ++i) put(tensor, i, values[static_cast<size_t>(i / period % count)]);
    met.push_back(tensor);
  }
  return met;
}

}  // namespace tokamak::testing
