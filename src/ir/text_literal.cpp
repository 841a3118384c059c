#include "ir/text_literal.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/text_lexer.h"

namespace tokamak {
namespace {

/// Explicit mantissa bits; the top one of them marks a quiet NaN.
int mantissa_bits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 10;
    case DType::bf16:
      return 7;
    case DType::f32:
      return 23;
    default:
      return 52;
  }
}

uint64_t plain_nan(DType dtype, bool negative) {
  const int width = static_cast<int>(size_of(dtype)) * 8;
  const int mantissa = mantissa_bits(dtype);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t exponent = (sign - 1) & ~((uint64_t{1} << mantissa) - 1);
  return (negative ? sign : 0) | exponent | uint64_t{1} << (mantissa - 1);
}

bool is_nan_bits(DType dtype, uint64_t bits) {
  const int width = static_cast<int>(size_of(dtype)) * 8;
  const uint64_t magnitude = bits & ((uint64_t{1} << (width - 1)) - 1);
  const uint64_t infinity = plain_nan(dtype, false) & ~(uint64_t{1} << (mantissa_bits(dtype) - 1));
  return magnitude > infinity;
}

template <class T>
std::string shortest(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, result.ptr};
}

uint16_t narrow(DType dtype, double value) {
  return dtype == DType::f16 ? f64_to_f16(value) : f64_to_bf16(value);
}

/// The decimal with the fewest digits that rounds to this 16-bit float.
std::string shortest_narrow(DType dtype, uint16_t bits) {
  const double exact = dtype == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  for (int digits = 0; digits < 9; ++digits) {
    char buffer[64];
    const auto text =
        std::to_chars(buffer, buffer + sizeof(buffer), exact, std::chars_format::scientific, digits);
    double rounded = 0;
    std::from_chars(buffer, text.ptr, rounded);
    if (narrow(dtype, rounded) == bits) return shortest(rounded);
  }
  return shortest(exact);
}

std::string format_float(DType dtype, uint64_t bits) {
  if (is_nan_bits(dtype, bits)) {
    if (bits == plain_nan(dtype, false)) return "nan";
    if (bits == plain_nan(dtype, true)) return "-nan";
    char buffer[32];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), bits, 16);
    return "nan(0x" + std::string(buffer, result.ptr) + ")";
  }
  std::string text;
  if (dtype == DType::f64) {
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    text = shortest(value);
  } else if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    text = shortest(value);
  } else {
    text = shortest_narrow(dtype, static_cast<uint16_t>(bits));
  }
  const bool looks_like_an_integer = text.find_first_of(".en") == std::string::npos;
  return looks_like_an_integer ? text + ".0" : text;
}

std::string does_not_fit(std::string_view text, DType dtype) {
  return shown(text) + " does not fit " + std::string(name_of(dtype));
}

std::string is_no(std::string_view text, DType dtype) {
  return shown(text) + " is not a literal of " + std::string(name_of(dtype));
}

/// Whether a decimal whose conversion left the range is too small, rather than too large.
bool is_tiny(std::string_view text) {
  const size_t exponent_at = text.find_first_of("eE");
  if (exponent_at != std::string_view::npos && exponent_at + 1 < text.size()) {
    return text[exponent_at + 1] == '-';
  }
  const size_t first = text.find_first_of("123456789");
  return first == std::string_view::npos || first > text.find('.');
}

template <class T>
std::string parse_float(std::string_view text, DType dtype, T& value) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ptr != digits.data() + digits.size()) return is_no(text, dtype);
  if (result.ec == std::errc::result_out_of_range) {
    if (!is_tiny(text)) return does_not_fit(text, dtype);
    value = text[0] == '-' ? T{-0.0} : T{0.0};
    return {};
  }
  if (result.ec != std::errc{} || std::isnan(value)) return is_no(text, dtype);
  const bool written_infinite = text == "inf" || text == "-inf" || text == "+inf";
  if (std::isinf(value) && !written_infinite) return does_not_fit(text, dtype);
  return {};
}

std::string store_float(const LiteralText& literal, DType dtype, std::byte* out) {
  if (literal.text == "nan" || literal.text == "-nan") {
    const uint64_t bits = literal.nan_bits.value_or(plain_nan(dtype, literal.text[0] == '-'));
    const bool fits = size_of(dtype) == 8 || bits >> (size_of(dtype) * 8) == 0;
    if (!fits || !is_nan_bits(dtype, bits))
      return "these are not the bits of a NaN of " + std::string(name_of(dtype));
    std::memcpy(out, &bits, size_of(dtype));
    return {};
  }
  if (dtype == DType::f32) {
    float value = 0;
    std::string problem = parse_float(literal.text, dtype, value);
    std::memcpy(out, &value, sizeof(value));
    return problem;
  }
  double value = 0;
  std::string problem = parse_float(literal.text, dtype, value);
  if (!problem.empty()) return problem;
  if (dtype == DType::f64) {
    std::memcpy(out, &value, sizeof(value));
    return {};
  }
  const uint16_t bits = narrow(dtype, value);
  const float back = dtype == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  if (std::isinf(back) && !std::isinf(value)) return does_not_fit(literal.text, dtype);
  std::memcpy(out, &bits, sizeof(bits));
  return {};
}

template <class T>
std::string store_integer(std::string_view text, DType dtype, std::byte* out) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  const bool negative = !digits.empty() && digits[0] == '-';
  T value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec == std::errc::result_out_of_range) return does_not_fit(text, dtype);
  if (negative && std::is_unsigned_v<T>) return does_not_fit(text, dtype);
  if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size()) return is_no(text, dtype);
  std::memcpy(out, &value, sizeof(value));
  return {};
}

std::string store_bool(const LiteralText& literal, std::byte* out) {
  if (literal.text != "true" && literal.text != "false") return is_no(literal.text, DType::boolean);
  *out = std::byte{literal.text == "true"};
  return {};
}

}  // namespace

std::string format_element(const Tensor& tensor, int64_t i) {
  const DType dtype = tensor.type().dtype;
  if (is_float(dtype)) {
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.data() + static_cast<size_t>(i) * size_of(dtype), size_of(dtype));
    return format_float(dtype, bits);
  }
  const int64_t value = element_as_int(tensor, i);
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  return dtype == DType::u64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

std::string store_literal(const LiteralText& literal, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::boolean:
      return store_bool(literal, out);
    case DType::i8:
      return store_integer<int8_t>(literal.text, dtype, out);
    case DType::i16:
      return store_integer<int16_t>(literal.text, dtype, out);
    case DType::i32:
      return store_integer<int32_t>(literal.text, dtype, out);
    case DType::i64:
      return store_integer<int64_t>(literal.text, dtype, out);
    case DType::u8:
      return store_integer<uint8_t>(literal.text, dtype, out);
    case DType::u16:
      return store_integer<uint16_t>(literal.text, dtype, out);
    case DType::u32:
      return store_integer<uint32_t>(literal.text, dtype, out);
    case DType::u64:
      return store_integer<uint64_t>(literal.text, dtype, out);
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return store_float(literal, dtype, out);
  }
  return "no such dtype";
}

std::optional<DType> own_dtype(const LiteralText& literal) {
  if (literal.text == "true" || literal.text == "false") return DType::boolean;
  return std::nullopt;
}

DTypeGroup dtype_group(Op op, size_t operand) {
  if (op == Op::select && operand == 0) return DTypeGroup::boolean;
  const bool is_index = (op == Op::gather && operand == 1) || (op == Op::scatter && operand == 1) ||
                        (op == Op::dynamic_slice && operand >= 1) ||
                        (op == Op::dynamic_update_slice && operand >= 2);
  return is_index ? DTypeGroup::alone : DTypeGroup::common;
}

}  // namespace tokamak
