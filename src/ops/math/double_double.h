#pragma once

// Unevaluated sums of two floats, for what one float cannot hold.

#include "ops/math/polynomial.h"

namespace tokamak::math {

/// high + low, where low is at most about an ULP of high.
struct Pair {
  Expr high;
  Expr low;
};

/// a + b exactly, where |a| >= |b| or a = 0.
inline Pair fast_two_sum(Expr a, Expr b) {
  Expr sum = a + b;
  return {sum, (a - sum) + b};
}

/// a + b exactly.
inline Pair two_sum(Expr a, Expr b) {
  Expr sum = a + b;
  Expr b_seen = sum - a;
  return {sum, (a - (sum - b_seen)) + (b - b_seen)};
}

/// The upper half of the bits of a.
inline Expr upper_half(Expr a) {
  return from_bits(bits(a) & (a.is_f32() ? ~int64_t{0xfff} : ~int64_t{0x7ffffff}));
}

/// a * b, exactly with fma, else up to a rounding of the low part. Neither underflow nor overflow may occur.
inline Pair two_product(Expr a, Expr b) {
  Expr product = a * b;
  if (a.has_fma()) return {product, mul_add(a, b, -product)};
  Expr a_high = upper_half(a);
  Expr b_high = upper_half(b);
  Expr a_low = a - a_high;
  Expr b_low = b - b_high;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

inline Pair operator*(Pair a, Expr b) {
  Pair product = two_product(a.high, b);
  return fast_two_sum(product.high, mul_add(a.low, b, product.low));
}

inline Pair operator*(Pair a, Pair b) {
  Pair product = two_product(a.high, b.high);
  return fast_two_sum(product.high, mul_add(a.high, b.low, mul_add(a.low, b.high, product.low)));
}

/// Where |a| >= |b|.
inline Pair add_smaller(Pair a, Pair b) {
  Pair sum = fast_two_sum(a.high, b.high);
  return fast_two_sum(sum.high, sum.low + (a.low + b.low));
}

/// a - quotient * b, where quotient is a / b but for a few roundings: what little is left.
inline Expr division_rest(Pair a, Pair b, Expr quotient) {
  Expr low_rest = mul_add(-quotient, b.low, a.low);
  if (quotient.has_fma()) return mul_add(-quotient, b.high, a.high) + low_rest;
  Pair back = two_product(quotient, b.high);
  return ((a.high - back.high) - back.low) + low_rest;
}

/// a / b to about twice the precision of a float.
inline Pair divide(Pair a, Pair b) {
  Expr inverse = 1.0 / b.high;
  Expr quotient = a.high * inverse;
  return fast_two_sum(quotient, division_rest(a, b, quotient) * inverse);
}

/// a / b, rounded once or nearly so; `inverse` is 1 / b. Low parts may be large enough to count in it.
inline Expr divide_to_float(Pair a, Pair b, Expr inverse) {
  Expr quotient = a.high * inverse;
  return mul_add(division_rest(a, b, quotient), inverse, quotient);
}

}  // namespace tokamak::math
