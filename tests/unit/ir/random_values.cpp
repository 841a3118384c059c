#include <cmath>
#include <cstring>
#include <limits>

#include "ir/elements.h"
#include "ir/random_graph.h"

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

Tensor random_element(DType dtype, std::mt19937& random, Numbers numbers) {
  const auto pick = [&](int high) { return std::uniform_int_distribution<int>(0, high)(random); };
  if (is_float(dtype)) {
    if (numbers == Numbers::whole) return scalar_tensor(dtype, static_cast<double>(pick(8) - 4));
    if (numbers == Numbers::special && pick(3) == 0)
      return scalar_tensor(dtype, kSpecials[pick(std::size(kSpecials) - 1)]);
    return scalar_tensor(dtype, std::uniform_real_distribution<double>(-4, 4)(random));
  }
  if (dtype == DType::boolean) return scalar_tensor(dtype, static_cast<int64_t>(pick(1)));
  if (numbers != Numbers::special) {
    const int64_t low = is_signed_integer(dtype) ? -9 : 0;
    return scalar_tensor(dtype, low + pick(18));
  }
  const auto bits = static_cast<int64_t>(uint64_t{random()} << 32 | random());
  const int64_t top = int64_t{1} << (size_of(dtype) * 8 - 2) << 1;  // the most negative, or the middle
  const int64_t choices[] = {pick(8) - 4, pick(8), pick(2), bits, top, ~top, -1};
  return scalar_tensor(dtype, choices[pick(std::size(choices) - 1)]);
}

/// Bits in the order of the values, so that neighbours differ by one.
int64_t ordered_bits(const Tensor& tensor, int64_t i) {
  const uint64_t bits = bits_of(tensor, i);
  const uint64_t sign = uint64_t{1} << (size_of(tensor.type().dtype) * 8 - 1);
  return (bits & sign) != 0 ? -static_cast<int64_t>(bits ^ sign) : static_cast<int64_t>(bits);
}

bool same_element(const Tensor& a, const Tensor& b, int64_t i, int64_t ulps) {
  if (is_same(a, b, i)) return true;
  if (ulps == 0 || !is_float(a.type().dtype) || is_nan(a, i) || is_nan(b, i)) return false;
  return std::abs(ordered_bits(a, i) - ordered_bits(b, i)) <= ulps;
}

}  // namespace

Tensor random_tensor(const TensorType& type, std::mt19937& random, Numbers numbers) {
  Tensor tensor(type);
  const size_t size = size_of(type.dtype);
  for (int64_t i = 0; i < type.elements(); ++i) {
    std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size,
                random_element(type.dtype, random, numbers).data(), size);
  }
  return tensor;
}

std::vector<Tensor> random_arguments(const Graph& graph, std::mt19937& random, Numbers numbers) {
  std::vector<Tensor> arguments;
  for (Value parameter : graph.parameters())
    arguments.push_back(random_tensor(graph.type_of(parameter), random, numbers));
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
