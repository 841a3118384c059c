#include "trace/promotion.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ops/record.h"
#include "trace/array_impl.h"
#include "trace/location.h"
#include "trace/trace.h"

namespace tokamak {
namespace {

/// Kinds in the order in which a number of one widens an array of another.
enum class Kind : uint8_t { boolean, integer, floating };

Kind kind_of(DType dtype) {
  if (dtype == DType::boolean) return Kind::boolean;
  return is_float(dtype) ? Kind::floating : Kind::integer;
}

Kind kind_of(const Operand::Number& number) {
  if (std::holds_alternative<bool>(number)) return Kind::boolean;
  return std::holds_alternative<double>(number) ? Kind::floating : Kind::integer;
}

DType signed_of(size_t bytes) {
  if (bytes == 1) return DType::i8;
  if (bytes == 2) return DType::i16;
  return bytes == 4 ? DType::i32 : DType::i64;
}

DType promote_integers(DType a, DType b) {
  const size_t size_a = size_of(a);
  const size_t size_b = size_of(b);
  if (is_signed_integer(a) == is_signed_integer(b)) return size_a >= size_b ? a : b;
  const auto [with_sign, without] =
      is_signed_integer(a) ? std::pair(size_a, size_b) : std::pair(size_b, size_a);
  if (with_sign > without) return signed_of(with_sign);
  return without == 8 ? DType::f64 : signed_of(2 * without);
}

DType promote_integer_and_float(DType integer, DType floating) {
  const size_t bytes = size_of(integer);
  if (size_of(floating) > bytes) return floating;  // f16 holds 8 bits, f32 16, f64 whatever there is
  return bytes <= 2 ? DType::f32 : DType::f64;
}

std::string spell(const Operand::Number& number) {
  return std::visit(
      [](auto value) {
        if constexpr (std::is_same_v<decltype(value), bool>) return std::string(value ? "true" : "false");
        return std::to_string(value);
      },
      number);
}

Tensor tensor_of_number(const Operand::Number& number, DType dtype) {
  if (const auto* value = std::get_if<double>(&number)) return scalar_tensor(dtype, *value);
  if (const auto* value = std::get_if<uint64_t>(&number)) {
    return is_float(dtype) ? scalar_tensor(dtype, static_cast<double>(*value))
                           : scalar_tensor(dtype, static_cast<int64_t>(*value));
  }
  if (const auto* value = std::get_if<int64_t>(&number)) return scalar_tensor(dtype, *value);
  return scalar_tensor(dtype, int64_t{std::get<bool>(number)});
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (is_float(a) && is_float(b)) {
    if (size_of(a) == size_of(b)) return DType::f32;  // f16 and bf16: neither holds the other
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_float(a)) return promote_integer_and_float(b, a);
  if (is_float(b)) return promote_integer_and_float(a, b);
  return promote_integers(a, b);
}

DType default_dtype(const Operand::Number& number) {
  if (std::holds_alternative<bool>(number)) return DType::boolean;
  if (std::holds_alternative<double>(number)) return DType::f64;
  const auto* value = std::get_if<uint64_t>(&number);
  return value != nullptr && *value > uint64_t{std::numeric_limits<int64_t>::max()} ? DType::u64 : DType::i64;
}

DType common_dtype(std::span<const Operand> operands) {
  std::optional<DType> arrays;
  for (const Operand& operand : operands) {
    if (const Array* array = operand.array()) {
      const DType dtype = array->type(operand.where()).dtype;
      arrays = arrays ? promote(*arrays, dtype) : dtype;
    }
  }
  std::optional<DType> result = arrays;
  for (const Operand& operand : operands) {
    const Operand::Number* number = operand.number();
    if (number == nullptr) continue;
    if (!result) {
      result = default_dtype(*number);
    } else if (kind_of(*number) > kind_of(*result) || !arrays) {
      result = promote(*result, default_dtype(*number));
    }
  }
  return *result;
}

DType float_for(DType dtype) {
  if (is_float(dtype)) return dtype;
  if (size_of(dtype) == 1) return DType::f16;
  return size_of(dtype) == 2 ? DType::f32 : DType::f64;
}

DType sum_dtype(DType dtype) {
  if (is_float(dtype)) return dtype;
  return is_unsigned_integer(dtype) ? DType::u64 : DType::i64;
}

DType compute_dtype(Op op, DType common) {
  const bool needs_float = record_of(op).dtypes == DTypes::floats;
  if (needs_float && !is_float(common)) return op == Op::div ? DType::f64 : float_for(common);
  const bool counts = op == Op::floor_div || op == Op::mod || op == Op::fmod || op == Op::pow ||
                      op == Op::shift_left || op == Op::shift_right;
  return counts && common == DType::boolean ? DType::i8 : common;
}

bool fits(const Operand::Number& number, DType dtype) {
  if (!is_integer(dtype) || std::holds_alternative<double>(number) || std::holds_alternative<bool>(number))
    return true;
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  if (const auto* value = std::get_if<uint64_t>(&number)) {
    const int value_bits = is_signed_integer(dtype) ? bits - 1 : bits;
    return value_bits == 64 || (*value >> value_bits) == 0;
  }
  const int64_t value = std::get<int64_t>(number);
  if (is_signed_integer(dtype)) return value >> (bits - 1) == 0 || value >> (bits - 1) == -1;
  return value >= 0 && (bits == 64 || (value >> bits) == 0);
}

Array number_array(const Operand::Number& number, DType dtype, Trace* trace, std::string_view op,
                   const std::source_location& where) {
  if (!fits(number, dtype)) {
    throw UserError(std::string(op) + ": the integer " + spell(number) + " does not fit in " +
                        std::string(name_of(dtype)),
                    user_line(where));
  }
  Tensor tensor = tensor_of_number(number, dtype);
  return trace != nullptr ? trace->constant(std::move(tensor), user_line(where), op) : array_of(tensor);
}

}  // namespace tokamak
