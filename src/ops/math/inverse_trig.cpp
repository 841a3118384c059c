#include <limits>

#include "ops/math/double_double.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// pi/2 in two pieces.
double half_pi_high(Expr x) { return by_format(x, 0x1.921fb6p+0, 0x1.921fb54442d18p+0); }
double half_pi_low(Expr x) { return by_format(x, -0x1.777a5cp-25, 0x1.1a62633145c07p-54); }

/// atan(t) - t for |t| <= 1: t z P(z), z = t^2; relative error of atan 2^-28.5 (f32), 2^-54.7 (f64).
Expr atan_minus_linear(Expr t) {
  Expr z = square(t);
  Expr p =
      t.is_f32()
          ? horner(z, {-0x1.55553ep-2, 0x1.9991e4p-3, -0x1.2420a8p-3, 0x1.c08ffep-4, -0x1.581c06p-4,
                       0x1.da881p-5, -0x1.fe7266p-6, 0x1.6564dap-7, -0x1.d5f60cp-10})
          : horner(z,
                   {-0x1.555555555544cp-2, 0x1.999999998411cp-3, -0x1.2492491fa2454p-3, 0x1.c71c709e2444dp-4,
                    -0x1.745d023199442p-4, 0x1.3b12b2ee2293ap-4, -0x1.11089d2504892p-4, 0x1.e1781894ec929p-5,
                    -0x1.ad32c02462d10p-5, 0x1.7ee40a94466fep-5, -0x1.4f455aa212b3bp-5, 0x1.171655f013b41p-5,
                    -0x1.a7283e384d68dp-6, 0x1.162e322166570p-6, -0x1.2cfaf8f35f7aep-7, 0x1.f975f5808a4a3p-9,
                    -0x1.31323c7da6a26p-10, 0x1.d3cbd81c721f5p-13, -0x1.53f5d5fdb108ep-16});
  return t * z * p;
}

/// asin(t) - t for |t| <= 1/2, given z = t^2: t z P(z); relative error of asin 2^-27.6 (f32), 2^-55.9 (f64).
Expr asin_minus_linear(Expr t, Expr z) {
  Expr p = t.is_f32()
               ? polynomial(z, {0x1.5555c8p-3, 0x1.330204p-4, 0x1.747bb8p-5, 0x1.8c3e4cp-6, 0x1.595c66p-5})
               : polynomial(z, {0x1.555555555539p-3, 0x1.333333336e84p-4, 0x1.6db6db4277079p-5,
                                0x1.f1c72c3a59c07p-6, 0x1.6e89f4196af58p-6, 0x1.1c6be435cde1cp-6,
                                0x1.c6fd8a80cb55p-7, 0x1.8ec47f937e85cp-7, 0x1.abc19edd9c2dap-8,
                                0x1.3ffe6b725411fp-6, -0x1.09e2e404ca434p-6, 0x1.0572ec795c0ffp-5});
  return t * z * p;
}

/// The argument of the polynomial for asin and acos: |x| up to 1/2, and sqrt((1 - |x|) / 2) beyond, where
/// asin|x| = pi/2 - 2 asin of it. Beyond 1 it is NaN.
struct AsinReduction {
  Expr is_small;
  Expr t;
  Expr rest;  ///< asin(t) - t
};

AsinReduction reduce_asin(Expr a) {
  Expr is_small = a < 0.5;
  Expr half_gap = mul_add(a, -0.5, 0.5);
  Expr z = select(is_small, square(a), half_gap);
  Expr t = select(is_small, a, sqrt(half_gap));
  return {is_small, t, asin_minus_linear(t, z)};
}

/// x with its sign flipped where `sign` is negative (as its sign bit says).
Expr flip_sign(Expr x, Expr sign) {
  int64_t sign_bit = x.is_f32() ? int64_t{0x80000000} : std::numeric_limits<int64_t>::min();
  return from_bits(bits(x) ^ (bits(sign) & sign_bit));
}

}  // namespace

Scalar asin(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  AsinReduction reduced = reduce_asin(abs(x));
  Expr low = mul_add(reduced.rest, -2.0, half_pi_low(x));
  Pair linear = fast_two_sum(constant(x, half_pi_high(x)), reduced.t * -2.0);
  return copysign(select(reduced.is_small, reduced.t + reduced.rest, linear.high + (linear.low + low)), x);
}

// Up to 1/2 it is pi/2 - asin(x); beyond, 2 asin(t) on the right and pi - 2 asin(t) on the left.
Scalar acos(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  AsinReduction reduced = reduce_asin(abs(x));
  Expr t = flip_sign(reduced.t, x);
  Expr rest = flip_sign(reduced.rest, x);
  Expr inner = half_pi_high(x) - (t - (half_pi_low(x) - rest));
  Expr is_left = x < 0.0;
  Expr outer = select(is_left, constant(x, half_pi_high(x)), 0.0) +
               (t + (rest + select(is_left, constant(x, half_pi_low(x)), 0.0)));
  return select(reduced.is_small, inner, outer + outer);
}

// Beyond 1, atan(a) = pi/2 + atan(-1 / a).
Scalar atan(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr a = abs(x);
  Expr is_large = a > 1.0;
  Expr t = select(is_large, -1.0, a) / select(is_large, a, 1.0);
  Expr low = atan_minus_linear(t) + select(is_large, constant(x, half_pi_low(x)), 0.0);
  return copysign(select(is_large, constant(x, half_pi_high(x)), 0.0) + (t + low), x);
}

// The smaller coordinate over the larger one gives an angle up to pi/4, to be taken from or added to 0, pi/2
// or pi.
Scalar atan2(ScalarBuilder& s, Scalar value_y, Scalar value_x) {
  Expr y{&s, value_y};
  Expr x{&s, value_x};
  Expr is_left = bits(x) < 0;
  Expr is_steep = abs(y) > abs(x);
  Expr smaller = select(is_steep, abs(x), abs(y));
  Expr larger = select(is_steep, abs(y), abs(x));
  // Equal ones give 1, at infinity too, and 0 at the origin.
  Expr of_equals = select(smaller == 0.0, smaller, 1.0);
  Expr ratio = select(smaller == larger, of_equals, smaller / larger);
  Expr t = flip_sign(select(is_steep, -ratio, ratio), x);
  auto from_axis = [&](double half_pi) {
    return select(is_steep, half_pi, select(is_left, constant(x, 2 * half_pi), 0.0));
  };
  Expr low = atan_minus_linear(t) + from_axis(half_pi_low(x));
  return copysign(from_axis(half_pi_high(x)) + (t + low), y);
}

}  // namespace tokamak::math
