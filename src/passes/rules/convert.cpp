// Conversions.

#include "passes/rules/rules.h"

namespace tokamak {
namespace {

/// Bits of integers a dtype holds without loss, the sign not counted.
int magnitude_bits(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 1;
    case DType::i8:
      return 7;
    case DType::i16:
      return 15;
    case DType::i32:
      return 31;
    case DType::i64:
      return 63;
    case DType::u8:
      return 8;
    case DType::u16:
      return 16;
    case DType::u32:
      return 32;
    case DType::u64:
      return 64;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    case DType::f32:
      return 24;
    case DType::f64:
      return 53;
  }
  return 0;
}

bool has_sign(DType dtype) { return is_signed_integer(dtype) || is_float(dtype); }

/// Whether every value of `from` is a value of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to) return true;
  if (is_float(from)) {
    const bool from_narrow = from == DType::f16 || from == DType::bf16;
    return to == DType::f64 || (to == DType::f32 && from_narrow);
  }
  if (to == DType::boolean || (has_sign(from) && !has_sign(to))) return false;
  return magnitude_bits(from) <= magnitude_bits(to);
}

bool is_same_dtype(const Bindings& bound) { return bound.dtype == *bound.dtypes[0]; }

/// x -> A -> B is x -> B when A keeps the value, unless floats turn to integers: what is out of range then
/// becomes something that a conversion between integers does not make of it.
bool first_step_is_free(const Bindings& bound) {
  const DType a = *bound.dtypes[0];
  const DType b = *bound.dtypes[1];
  if (!is_lossless(bound.dtype, a)) return false;
  return b == bound.dtype || is_float(bound.dtype) || !is_float(a) || !is_integer(b);
}

/// Integers wrap: the bits that A drops are dropped by B as well.
bool both_wrap(const Bindings& bound) {
  const DType a = *bound.dtypes[0];
  const DType b = *bound.dtypes[1];
  return is_integer(bound.dtype) && is_integer(a) && is_integer(b) && size_of(b) <= size_of(a);
}

}  // namespace

std::vector<Rule> convert_rules() {
  const Term x = variable(0), p = condition(0), c = constant(0), d = constant(1);
  return {
      {convert_to(0, x), x, DTypes::any, is_same_dtype},
      {convert_to(1, convert_to(0, x)), convert_to(1, x), DTypes::any, first_step_is_free},
      {convert_to(1, convert_to(0, x)), convert_to(1, x), DTypes::integers, both_wrap},
      // Numbers are converted when the program is compiled: a mask made of them takes no more than a choice.
      {convert_to(0, select(p, c, d)), select(p, convert_to(0, c), convert_to(0, d))},
  };
}

}  // namespace tokamak
