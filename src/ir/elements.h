#pragma once

// Elements of tensors, compared and shown.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "ir/tensor.h"

namespace tokamak {

inline uint64_t bits_of(const Tensor& tensor, int64_t i) {
  const size_t size = size_of(tensor.type().dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + static_cast<size_t>(i) * size, size);
  return bits;
}

inline bool is_nan(const Tensor& tensor, int64_t i) {
  return is_float(tensor.type().dtype) && std::isnan(element_as_double(tensor, i));
}

/// Bit by bit, but all NaNs are alike.
inline bool is_same(const Tensor& a, const Tensor& b, int64_t i) {
  return bits_of(a, i) == bits_of(b, i) || (is_nan(a, i) && is_nan(b, i));
}

inline std::string element_text(const Tensor& tensor, int64_t i) {
  char text[80];
  std::snprintf(text, sizeof text, "%.17g (0x%0*llx)", element_as_double(tensor, i),
                static_cast<int>(2 * size_of(tensor.type().dtype)),
                static_cast<unsigned long long>(bits_of(tensor, i)));
  return text;
}

}  // namespace tokamak
