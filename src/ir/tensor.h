#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "tokamak/types.h"

namespace tokamak {

/// Dense row-major elements in host memory: what constants hold and the interpreter computes with.
/// Copies share the bytes; a Tensor is written only between its making and its first copy.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled.
  explicit Tensor(TensorType type);
  static Tensor copy_of(TensorType type, const void* bytes);

  const TensorType& type() const { return type_; }
  const std::byte* data() const { return bytes_.get(); }
  std::byte* mutable_data() { return bytes_.get(); }
  size_t byte_size() const { return static_cast<size_t>(type_.bytes()); }

  /// T is the storage type: bool as uint8_t, f16 and bf16 as uint16_t.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.get()), static_cast<size_t>(type_.elements())};
  }
  template <class T>
  std::span<T> as_mutable() {
    return {reinterpret_cast<T*>(bytes_.get()), static_cast<size_t>(type_.elements())};
  }

  /// Same type and same bits.
  friend bool operator==(const Tensor& a, const Tensor& b) {
    return a.type_ == b.type_ &&
           (a.bytes_ == b.bytes_ || std::memcmp(a.data(), b.data(), a.byte_size()) == 0);
  }

 private:
  TensorType type_;
  std::shared_ptr<std::byte[]> bytes_;
};

/// A rank-0 tensor holding `value` converted to `dtype` (floats round to nearest even, integers wrap).
Tensor scalar_tensor(DType dtype, double value);
Tensor scalar_tensor(DType dtype, int64_t value);

/// Element `i` widened; exact for every dtype but i64/u64 beyond 2^53.
double element_as_double(const Tensor& tensor, int64_t i);
/// Element `i` of a bool or integer tensor; u64 keeps its bits.
int64_t element_as_int(const Tensor& tensor, int64_t i);

// Conversions of the 16-bit float formats, round to nearest even, NaN kept a (quiet) NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
uint16_t f64_to_f16(double value);  ///< one rounding, not two
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
uint16_t f64_to_bf16(double value);

}  // namespace tokamak
