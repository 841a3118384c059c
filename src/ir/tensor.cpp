#include "ir/tensor.h"

#include <bit>
#include <cmath>
#include <new>

#include "tokamak/errors.h"

namespace tokamak {

namespace {

/// What is packed into a tensor begins where a cache line does, and is to lie the same in every copy of it.
constexpr std::align_val_t kAlignment{64};

std::shared_ptr<std::byte[]> zeros(size_t bytes) {
  auto* const memory = new (kAlignment) std::byte[bytes]();
  return {memory, [](std::byte* data) { operator delete[](data, kAlignment); }};
}

}  // namespace

Tensor::Tensor(TensorType type) : type_(std::move(type)), bytes_(zeros(byte_size())) {}

Tensor Tensor::copy_of(TensorType type, const void* bytes) {
  Tensor tensor(std::move(type));
  if (tensor.byte_size() != 0) std::memcpy(tensor.mutable_data(), bytes, tensor.byte_size());
  return tensor;
}

namespace {

template <class T>
void put(Tensor& tensor, T value) {
  std::memcpy(tensor.mutable_data(), &value, sizeof(T));
}

template <class T>
T take(const Tensor& tensor, int64_t i) {
  T value;
  std::memcpy(&value, tensor.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// The float with `kMantissa` explicit mantissa bits and exponent bias `kBias` nearest to `value`, ties to
/// even.
template <int kMantissa, int kBias>
uint16_t narrow(double value) {
  constexpr int kExponentMax = 2 * kBias + 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const auto infinity = static_cast<uint16_t>(kExponentMax << kMantissa);
  if (std::isnan(value)) return sign | infinity | static_cast<uint16_t>(1 << (kMantissa - 1));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - kBias) exponent = 1 - kBias;  // subnormal: the smallest exponent, fewer bits
  const double scaled = std::nearbyint(std::scalbn(magnitude, kMantissa - exponent));
  const auto units =
      static_cast<uint32_t>(scaled);  // 2^kMantissa has the hidden bit; a carry steps the exponent
  const uint32_t bits = (static_cast<uint32_t>(exponent + kBias - 1) << kMantissa) + units;
  return sign | (bits >= infinity ? infinity : static_cast<uint16_t>(bits));
}

}  // namespace

Tensor scalar_tensor(DType dtype, double value) {
  Tensor tensor(TensorType{dtype, {}});
  switch (dtype) {
    case DType::f16:
      put(tensor, f64_to_f16(value));
      break;
    case DType::bf16:
      put(tensor, f64_to_bf16(value));
      break;
    case DType::f32:
      put(tensor, static_cast<float>(value));
      break;
    case DType::f64:
      put(tensor, value);
      break;
    default:
      return scalar_tensor(dtype, static_cast<int64_t>(value));
  }
  return tensor;
}

Tensor scalar_tensor(DType dtype, int64_t value) {
  if (is_float(dtype)) return scalar_tensor(dtype, static_cast<double>(value));
  Tensor tensor(TensorType{dtype, {}});
  if (dtype == DType::boolean) value = value != 0;
  std::memcpy(tensor.mutable_data(), &value,
              size_of(dtype));  // little-endian: the low bytes are the wrapped value
  return tensor;
}

int64_t element_as_int(const Tensor& tensor, int64_t i) {
  switch (tensor.type().dtype) {
    case DType::boolean:
    case DType::u8:
      return take<uint8_t>(tensor, i);
    case DType::u16:
      return take<uint16_t>(tensor, i);
    case DType::u32:
      return take<uint32_t>(tensor, i);
    case DType::u64:
    case DType::i64:
      return take<int64_t>(tensor, i);
    case DType::i8:
      return take<int8_t>(tensor, i);
    case DType::i16:
      return take<int16_t>(tensor, i);
    case DType::i32:
      return take<int32_t>(tensor, i);
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      break;
  }
  throw InternalError("element_as_int of " + to_string(tensor.type()));
}

double element_as_double(const Tensor& tensor, int64_t i) {
  switch (tensor.type().dtype) {
    case DType::f16:
      return f16_to_f32(take<uint16_t>(tensor, i));
    case DType::bf16:
      return bf16_to_f32(take<uint16_t>(tensor, i));
    case DType::f32:
      return take<float>(tensor, i);
    case DType::f64:
      return take<double>(tensor, i);
    case DType::u64:
      return static_cast<double>(take<uint64_t>(tensor, i));
    default:
      return static_cast<double>(element_as_int(tensor, i));
  }
}

float f16_to_f32(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) {
    const uint32_t wide = (uint32_t{bits} & 0x8000) << 16 | 0x7f800000 |
                          static_cast<uint32_t>(mantissa) << 13 | (mantissa != 0 ? 0x00400000 : 0);
    return std::bit_cast<float>(wide);
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

uint16_t f64_to_f16(double value) { return narrow<10, 15>(value); }
uint16_t f32_to_f16(float value) { return narrow<10, 15>(value); }
float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
uint16_t f64_to_bf16(double value) { return narrow<7, 127>(value); }
uint16_t f32_to_bf16(float value) { return narrow<7, 127>(value); }

}  // namespace tokamak
