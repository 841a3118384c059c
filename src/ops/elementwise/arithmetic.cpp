#include "ops/elementwise/arithmetic.h"

#include <cmath>
#include <limits>

#include "ops/math/libm.h"
#include "ops/math/math.h"

namespace tokamak::scalar {
namespace {

/// a - trunc(a / b) * b, without rounding. The quotient is whole and has few enough bits to be exact, but may
/// have been rounded up to a whole number: then the difference, which a fused step gives exactly, has the
/// wrong sign, and one b less is taken away. Quotients of more bits, zero, infinity and NaN are left to the C
/// library.
Expr exact_fmod(Expr a, Expr b) {
  if (!a.has_fma()) return math::libm::fmod(a, b);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Expr ratio = a / b;
  Expr is_rare = (abs(ratio) >= (a.is_f32() ? 0x1p22 : 0x1p51)) | is_nan(ratio) | (abs(b) == kInfinity);
  Expr difference = mul_add(-trunc(ratio), b, a);
  Expr is_beyond = (difference != 0.0) & ((difference < 0.0) ^ (a < 0.0));
  Expr remainder = select(is_beyond, difference + copysign(b, a), difference);
  return unlikely(is_rare, copysign(remainder, a), [&] { return math::libm::fmod(a, b); });
}

struct IntegerDivision {
  Expr by_zero;
  Expr quotient;   ///< truncated; unspecified where by_zero
  Expr remainder;  ///< of the sign of the dividend; unspecified where by_zero
  Expr divisor;    ///< 1 where the machine could not divide
};

IntegerDivision divide_integers(DType dtype, Expr a, Expr b) {
  Expr by_zero = b == 0;
  if (!is_signed_integer(dtype)) {
    Expr divisor = select(by_zero, 1, b);
    Expr quotient = expr_detail::apply(Prim::udiv, a, divisor);
    return {by_zero, quotient, a - quotient * divisor, divisor};
  }
  // Dividing by 1 instead of -1 leaves the most negative number as it is, which is what wrapping gives.
  Expr lowest = constant(a, 1) << (bits_of(a.lane()) - 1);
  Expr overflows = (a == lowest) & (b == -1);
  Expr divisor = select(by_zero | overflows, 1, b);
  Expr quotient = expr_detail::apply(Prim::sdiv, a, divisor);
  return {by_zero, quotient, a - quotient * divisor, divisor};
}

/// Where truncation went up and flooring goes down: the remainder is not 0 and its sign is not the divisor's.
Expr floors_lower(const IntegerDivision& d) { return (d.remainder != 0) & ((d.remainder ^ d.divisor) < 0); }

struct FloatDivision {
  Expr quotient;
  Expr remainder;
};

/// Python's divmod: the remainder has the sign of the divisor, the quotient is the whole number nearest to (a
/// - mod) / b.
FloatDivision divide_floats(Expr a, Expr b) {
  Expr truncated = exact_fmod(a, b);
  Expr inexact = truncated != 0.0;
  Expr lower = inexact & ((b < 0.0) ^ (truncated < 0.0));
  Expr remainder = select(inexact, select(lower, truncated + b, truncated), copysign(constant(b, 0.0), b));
  Expr ratio = (a - truncated) / b;
  ratio = select(lower, ratio - 1.0, ratio);
  Expr whole = floor(ratio);
  whole = select(ratio - whole > 0.5, whole + 1.0, whole);
  Expr plain = a / b;
  Expr quotient = select(ratio == 0.0, copysign(constant(a, 0.0), plain), whole);
  return {select(b == 0.0, plain, quotient), remainder};
}

/// By squaring. A negative exponent gives the whole part of the fraction: 0 but for the bases 1 and -1.
Expr integer_pow(DType dtype, Expr base, Expr exponent) {
  const bool is_signed = is_signed_integer(dtype);
  const int exponent_bits = bits_of(base.lane()) - (is_signed ? 1 : 0);
  Expr result = constant(base, 1);
  Expr square = base;
  for (int i = 0; i < exponent_bits; ++i) {
    Expr is_set = ((exponent >> i) & 1) != 0;
    result = select(is_set, result * square, result);
    if (i + 1 != exponent_bits) square = square * square;
  }
  if (!is_signed) return result;
  Expr odd = (exponent & 1) != 0;
  Expr minus_one = constant(base, -1);
  Expr fraction = select(base == -1, select(odd, minus_one, 1), 0);
  fraction = select(base == 1, 1, fraction);
  return select(exponent < 0, fraction, result);
}

}  // namespace

Scalar floor_div(const ScalarContext& c) {
  Expr a = operand(c, 0);
  Expr b = operand(c, 1);
  if (is_float(c.operand)) return divide_floats(a, b).quotient;
  IntegerDivision d = divide_integers(c.operand, a, b);
  Expr floored = d.quotient;
  if (is_signed_integer(c.operand)) floored = select(floors_lower(d), floored - 1, floored);
  return select(d.by_zero, 0, floored);
}

Scalar mod(const ScalarContext& c) {
  Expr a = operand(c, 0);
  Expr b = operand(c, 1);
  if (is_float(c.operand)) return divide_floats(a, b).remainder;
  IntegerDivision d = divide_integers(c.operand, a, b);
  Expr remainder = d.remainder;
  if (is_signed_integer(c.operand)) remainder = select(floors_lower(d), remainder + d.divisor, remainder);
  return select(d.by_zero, 0, remainder);
}

Scalar fmod(const ScalarContext& c) {
  Expr a = operand(c, 0);
  Expr b = operand(c, 1);
  if (is_float(c.operand)) return exact_fmod(a, b);
  IntegerDivision d = divide_integers(c.operand, a, b);
  return select(d.by_zero, 0, d.remainder);
}

/// NaN for NaN. The sign of -0 is 0, but for bf16, where ml_dtypes keeps it -0.
Scalar sign(const ScalarContext& c) {
  Expr x = operand(c, 0);
  if (is_unsigned(c.operand)) return select(x != 0, constant(x, 1), 0);
  Expr one = select(x > 0, constant(x, 1), constant(x, -1));
  if (!is_float(c.operand)) return select(x == 0, 0, one);
  Expr zero = c.operand == DType::bf16 ? x : constant(x, 0.0);
  return select(is_nan(x), x, select(x == 0.0, zero, one));
}

Scalar pow(const ScalarContext& c) {
  if (is_float(c.operand)) return math::pow(c.s, c.x[0], c.x[1]);
  return integer_pow(c.operand, operand(c, 0), operand(c, 1));
}

Scalar hypot(const ScalarContext& c) { return math::hypot(c.s, c.x[0], c.x[1]); }

}  // namespace tokamak::scalar
