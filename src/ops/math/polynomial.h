#pragma once

// Polynomials, and what is particular to the two float formats.

#include <cmath>
#include <initializer_list>
#include <span>

#include "ops/math/expr.h"

namespace tokamak::math {

/// Every stride-th term from c[first] on, by Horner's rule; `power` is x^stride.
inline Expr every_term(Expr power, std::span<const double> c, size_t first, size_t stride) {
  size_t next = first + (c.size() - 1 - first) / stride * stride;
  Expr sum = constant(power, c[next]);
  while (next > first) sum = mul_add(sum, power, c[next -= stride]);
  return sum;
}

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule: the fewest instructions and the smallest error.
inline Expr horner(Expr x, std::initializer_list<double> c) {
  return every_term(x, std::span(c.begin(), c.size()), 0, 1);
}

/// The same, but in a long polynomial what is behind c[0] is two or four shorter ones, in x^2 or x^4, side by
/// side: steps of Horner's rule wait for each other.
inline Expr polynomial(Expr x, std::initializer_list<double> coefficients) {
  if (coefficients.size() < 8) return horner(x, coefficients);
  double first = *coefficients.begin();
  std::span<const double> c(coefficients.begin() + 1, coefficients.size() - 1);
  Expr x2 = x * x;
  if (c.size() < 15) {
    return mul_add(mul_add(every_term(x2, c, 1, 2), x, every_term(x2, c, 0, 2)), x, first);
  }
  Expr x4 = x2 * x2;
  Expr low = mul_add(every_term(x4, c, 1, 4), x, every_term(x4, c, 0, 4));
  Expr high = mul_add(every_term(x4, c, 3, 4), x, every_term(x4, c, 2, 4));
  return mul_add(mul_add(high, x2, low), x, first);
}

/// c[i] + c[i+1] x, or c[i] where that is the last.
inline Expr pair_of_terms(Expr x, std::span<const double> c, size_t i) {
  return i + 1 < c.size() ? mul_add(x, c[i + 1], c[i]) : constant(x, c[i]);
}

/// The same in pairs of terms, by Horner's rule in x^2: the shortest chain of steps for 5 to 7 terms. c[0] +
/// c[1] x is rounded once more, so it is for what counts less than the rest of a sum.
inline Expr polynomial_in_pairs(Expr x, std::initializer_list<double> coefficients) {
  std::span<const double> c(coefficients.begin(), coefficients.size());
  Expr x2 = x * x;
  size_t next = (c.size() - 1) / 2 * 2;
  Expr sum = pair_of_terms(x, c, next);
  while (next > 0) sum = mul_add(sum, x2, pair_of_terms(x, c, next -= 2));
  return sum;
}

/// And in fours, by Horner's rule in x^4, for 8 terms and more.
inline Expr polynomial_in_fours(Expr x, std::initializer_list<double> coefficients) {
  std::span<const double> c(coefficients.begin(), coefficients.size());
  Expr x2 = x * x;
  Expr x4 = x2 * x2;
  auto four_from = [&](size_t i) {
    Expr low = pair_of_terms(x, c, i);
    return i + 2 < c.size() ? mul_add(pair_of_terms(x, c, i + 2), x2, low) : low;
  };
  size_t next = (c.size() - 1) / 4 * 4;
  Expr sum = four_from(next);
  while (next > 0) sum = mul_add(sum, x4, four_from(next -= 4));
  return sum;
}

/// The number that fits the lane of x.
inline double by_format(Expr x, double f32, double f64) { return x.is_f32() ? f32 : f64; }

struct FloatFormat {
  int mantissa_bits;        ///< stored ones
  int exponent_bias;        ///< biased exponent of 1.0
  double round_to_integer;  ///< 1.5 * 2^mantissa_bits: added to a small number, it leaves that as an integer
                            ///< in the low bits
  int64_t exponent_mask;    ///< bits of the exponent
  int64_t mantissa_mask;    ///< bits of the mantissa
};

inline FloatFormat format_of(Expr x) {
  if (x.is_f32()) return {23, 127, 0x1.8p23, 0x7f800000, 0x007fffff};
  return {52, 1023, 0x1.8p52, 0x7ff0000000000000, 0x000fffffffffffff};
}

/// An integer as a float, and (plus an offset) in the low bits of an integer lane.
struct Rounded {
  Expr number;
  Expr bits;
};

/// The integer nearest to x * scale, which must be far below 2^mantissa_bits. The low bits hold it plus
/// `offset`. With `fraction_bits`, the nearest multiple of 2^-fraction_bits, and in the low bits as many
/// times that.
inline Rounded round_scaled(Expr x, double scale, int offset = 0, int fraction_bits = 0) {
  double shift = std::ldexp(format_of(x).round_to_integer, -fraction_bits) + offset;
  Expr shifted = scale == 1 ? x + shift : scale == -1 ? shift - x : mul_add(x, scale, shift);
  return {shifted - shift, bits(shifted)};
}

/// 2^n, where the low bits of `biased` hold n + exponent_bias, the biased exponent of a normal number.
inline Expr power_of_two(Expr like, Expr biased) {
  return from_bits(biased << format_of(like).mantissa_bits);
}

/// An n for which p * 2^n rounds to 0 for every |p| < 2, and the largest that is odd: what `round_scaled`
/// adds for it is then even, which leaves the direction in which ties go.
inline int exponent_of_zero(Expr x) { return x.is_f32() ? -151 : -1077; }

/// The integer nearest to x * scale, for `times_power_of_two`, or with `fraction_bits` what that takes the
/// floor of.
inline Rounded round_scaled_to_exponent(Expr x, double scale, int fraction_bits = 0) {
  return round_scaled(x, scale, x.has_scale() ? 0 : 1 - exponent_of_zero(x), fraction_bits);
}

/// p * 2^floor(n) for |p| < 2, with one rounding, overflow to infinity and gradual underflow; n is of
/// `round_scaled_to_exponent`, and as `limit_exponent` limits it. What is zero in any case is not left to the
/// multiplication, which takes processors of Intel some hundred cycles where it underflows.
inline Expr times_power_of_two(Expr p, Rounded n) {
  if (p.has_scale())
    return select(n.number <= exponent_of_zero(p), 0.0, expr_detail::apply(Prim::fscale, p, n.number));
  FloatFormat format = format_of(p);
  Expr half = (n.bits << (format.mantissa_bits - 1)) & format.exponent_mask;  // 0 for exponent_of_zero
  const int64_t biases = 2 * format.exponent_bias - (1 - exponent_of_zero(p));
  Expr rest = (n.bits << format.mantissa_bits) + (biases << format.mantissa_bits) - half;
  return p * from_bits(rest) * from_bits(half);
}

inline Expr square(Expr x) { return x * x; }

/// Limits to [low, high]; NaN stays.
inline Expr clamp(Expr x, double low, double high) {
  return min_or_second(constant(x, high), max_or_second(constant(x, low), x));
}

/// The same for what `round_scaled_to_exponent` is given: at `low`, its n is exponent_of_zero.
inline Expr limit_exponent(Expr x, double low) {
  return x.has_scale() ? x : max_or_second(constant(x, low), x);
}
inline Expr limit_exponent(Expr x, double low, double high) {
  return min_or_second(constant(x, high), limit_exponent(x, low));
}

}  // namespace tokamak::math
