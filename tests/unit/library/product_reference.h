#pragma once

// Products the slow way, and operands to multiply.

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "library/product.h"

namespace tokamak::testing {

/// An element of any type: exact in the one of the two that its type calls for.
struct Number {
  double real = 0;
  uint64_t integer = 0;
};

inline double f16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class T>
T read_as(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline Number read(DType dtype, const void* from) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return {.integer = read_as<uint8_t>(from)};
    case DType::u16:
      return {.integer = read_as<uint16_t>(from)};
    case DType::u32:
      return {.integer = read_as<uint32_t>(from)};
    case DType::u64:
      return {.integer = read_as<uint64_t>(from)};
    case DType::i8:
      return {.integer = static_cast<uint64_t>(read_as<int8_t>(from))};
    case DType::i16:
      return {.integer = static_cast<uint64_t>(read_as<int16_t>(from))};
    case DType::i32:
      return {.integer = static_cast<uint64_t>(read_as<int32_t>(from))};
    case DType::i64:
      return {.integer = read_as<uint64_t>(from)};
    case DType::f16:
      return {.real = f16_value(read_as<uint16_t>(from))};
    case DType::bf16: {
      const uint32_t bits = uint32_t{read_as<uint16_t>(from)} << 16;
      return {.real = read_as<float>(&bits)};
    }
    case DType::f32:
      return {.real = read_as<float>(from)};
    case DType::f64:
      return {.real = read_as<double>(from)};
  }
  return {};
}

/// Random bytes that are elements of the type: reals below 4 in size, any integers.
inline void fill(DType dtype, void* to, int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<double> reals(-2, 2);
  auto* bytes = static_cast<unsigned char*>(to);
  for (int64_t i = 0; i < count; ++i, bytes += size_of(dtype)) {
    const uint64_t bits = uint64_t{random()} << 32 | random();
    switch (dtype) {
      case DType::boolean:
        *bytes = bits & 1;
        break;
      case DType::f16: {
        const auto value =
            static_cast<uint16_t>((bits & 0x83ff) | (bits >> 16 & 15) << 10);  // subnormals too
        std::memcpy(bytes, &value, 2);
        break;
      }
      case DType::bf16: {
        const auto value = static_cast<float>(reals(random));
        std::memcpy(bytes, reinterpret_cast<const unsigned char*>(&value) + 2, 2);
        break;
      }
      case DType::f32: {
        const auto value = static_cast<float>(reals(random));
        std::memcpy(bytes, &value, 4);
        break;
      }
      case DType::f64: {
        const double value = reals(random);
        std::memcpy(bytes, &value, 8);
        break;
      }
      case DType::i8:
      case DType::i16:
      case DType::i32:
      case DType::i64:
      case DType::u8:
      case DType::u16:
      case DType::u32:
      case DType::u64:
        std::memcpy(bytes, &bits, size_of(dtype));
        break;
    }
  }
}

inline int64_t elements_of(const std::vector<ProductAxis>& axes) {
  int64_t count = 1;
  for (const ProductAxis& axis : axes) count *= axis.extent;
  return count;
}

/// An operand as a dense matrix, line by line, read element by element.
inline std::vector<Number> dense(const ProductOperand& operand) {
  std::vector<ProductAxis> axes = operand.lines;
  axes.insert(axes.end(), operand.contracted.begin(), operand.contracted.end());
  std::vector<int64_t> position(axes.size(), 0);
  std::vector<Number> values(static_cast<size_t>(elements_of(axes)));
  for (Number& value : values) {
    bool there = true;
    for (const ProductBound& bound : operand.bounds) {
      int64_t at = bound.offset;
      for (size_t i = 0; i < axes.size(); ++i) at += bound.coefficients[i] * position[i];
      there = there && at >= 0 && at < bound.extent;
    }
    if (there) {
      int64_t offset = 0;
      for (size_t i = 0; i < axes.size(); ++i) offset += axes[i].stride * position[i];
      value = read(operand.dtype, static_cast<const unsigned char*>(operand.data) + offset);
    }
    for (size_t i = axes.size(); i-- > 0;) {
      if (++position[i] < axes[i].extent) break;
      position[i] = 0;
    }
  }
  return values;
}

}  // namespace tokamak::testing
