#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokamak/export.h"

namespace TOKAMAK_API tokamak {

/// Element types. The order is the order of ir text, tables and tests; nothing depends on the numbers.
enum class DType : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };

inline constexpr DType kAllDTypes[] = {DType::boolean, DType::i8,  DType::i16, DType::i32, DType::i64,
                                       DType::u8,      DType::u16, DType::u32, DType::u64, DType::f16,
                                       DType::bf16,    DType::f32, DType::f64};

/// Bytes of one element in memory; a bool is one byte, 0 or 1.
size_t size_of(DType dtype);
bool is_float(DType dtype);
bool is_signed_integer(DType dtype);
bool is_unsigned_integer(DType dtype);
bool is_integer(DType dtype);  ///< signed or unsigned, not bool

/// "bool", "i32", "bf16", ...
std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

using Shape = std::vector<int64_t>;

/// Number of elements. Shapes are checked for overflow where they enter, so the product is exact.
int64_t element_count(std::span<const int64_t> shape);

/// What a value is: element type and shape. Rank 0 is a scalar.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const { return element_count(shape); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// "f32[4,8]"; a scalar is "f32[]".
std::string to_string(const TensorType& type);
std::string to_string(std::span<const int64_t> shape);  ///< "[4,8]"

}  // namespace tokamak
