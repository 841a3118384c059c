#include "ops/math/double_double.h"
#include "ops/math/libm.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

/// x = n pi/2 + r - r_error, |r| <= pi/4 and a little.
struct TrigReduction {
  Expr n;  ///< in the low bits of an integer lane
  Expr r;
  Expr r_error;  ///< less than an ULP of r
};

/// Up to here products with n are exact; beyond, angles are reduced one by one.
double reduction_limit(Expr x) {
  if (x.has_fma()) return by_format(x, 12288, 0x1p24);
  return by_format(x, 12288, 0x1p22);
}

/// x - n pi/2 in pieces of pi/2 whose products with n are exact, and cancel exactly, but for the last. All
/// are positive, so that -0 stays what it is. They miss pi/2 by 2^-63.4 (f32) and 2^-141.8 (f64): enough
/// where x is nearest to n pi/2.
TrigReduction reduce_trig(Expr x) {
  Rounded n = round_scaled(x, kTwoOverPi);
  double third = by_format(x, 0x1.444p-24, 0x1.1a62633p-54);
  double fourth = by_format(x, 0x1.68c234p-39, 0x1.45c06e0e68948p-86);
  if (x.has_fma()) {
    double first_two = by_format(x, 0x1.921fb4p+0, 0x1.921fb54442d18p+0);
    Expr a = mul_add(n.number, -first_two, x);
    Expr r = mul_add(n.number, -third, a);
    return {n.bits, r, mul_add(n.number, fourth, mul_add(n.number, third, r - a))};
  }
  double first = by_format(x, 0x1.92p+0, 0x1.921fb544p+0);
  double second = by_format(x, 0x1.fb4p-12, 0x1.0b46p-34);
  Expr a = (x - n.number * first) - n.number * second;
  Expr b = n.number * third;
  Expr r = a - b;
  return {n.bits, r, ((r - a) + b) + n.number * fourth};
}

/// r - sin(r), without r_error: sin(r) = r + r z P(z), z = r^2; relative error 2^-27.8 (f32), 2^-57.9 (f64).
/// Signs are such that sin(-0) comes out as -0.
Expr sine_deficit(Expr r, Expr z, Expr r_error) {
  Expr p = r.is_f32()
               ? polynomial(z, {0x1.555544p-3, -0x1.1106c6p-7, 0x1.991c36p-13})
               : polynomial(z, {0x1.5555555555548p-3, -0x1.111111110f724p-7, 0x1.a01a019be6c7cp-13,
                                -0x1.71de3552a49ffp-19, 0x1.ae5e4942212e4p-26, -0x1.5d8a9decb2a4dp-33});
  return mul_add(r * z, p, r_error);
}

/// (cos(r) - 1 + z/2) / z^2, z = r^2; error of cos 2^-32.9 (f32), 2^-63.8 (f64).
Expr cosine_rest(Expr z) {
  return z.is_f32() ? polynomial(z, {0x1.55554ap-5, -0x1.6c0c24p-10, 0x1.99e62p-16})
                    : polynomial(z, {0x1.555555555554ap-5, -0x1.6c16c16c14e00p-10, 0x1.a01a019c5c384p-16,
                                     -0x1.27e4f7cd30194p-22, 0x1.1ee9c333e88efp-29, -0x1.8f99ca67e7da4p-37});
}

/// (r - r_error)^2: fma takes the error in for free, and without it the cosine does so.
Expr squared(const TrigReduction& reduced) {
  Expr r = reduced.r;
  return r.has_fma() ? mul_add(r, r, -(r * (reduced.r_error + reduced.r_error))) : r * r;
}

/// cos(r - r_error).
Expr cosine(const TrigReduction& reduced, Expr z) {
  if (z.has_fma()) return mul_add(z, mul_add(z, cosine_rest(z), -0.5), 1.0);
  Expr half_z = z * 0.5;
  Expr near = 1.0 - half_z;
  Expr lost = (1.0 - near) - half_z;
  return near + (lost + (square(z) * cosine_rest(z) + reduced.r * reduced.r_error));
}

/// Whether n is odd.
Expr is_odd(Expr n) { return (n << (bits_of(n.lane()) - 1)) < 0; }

/// -x where the second lowest bit of n is set.
Expr flip_sign(Expr x, Expr n) {
  int64_t sign = x.is_f32() ? int64_t{0x80000000} : INT64_MIN;
  return from_bits(bits(x) ^ ((n << (bits_of(n.lane()) - 2)) & sign));
}

/// sin(x + quarter_turns * pi/2) for moderate x.
Expr sine_of_sum(Expr x, int quarter_turns) {
  TrigReduction reduced = reduce_trig(x);
  Expr z = squared(reduced);
  Expr sin_r = reduced.r - sine_deficit(reduced.r, z, reduced.r_error);
  Expr cos_r = cosine(reduced, z);
  if (quarter_turns == 0) return flip_sign(select(is_odd(reduced.n), cos_r, sin_r), reduced.n);
  return flip_sign(select(is_odd(reduced.n), sin_r, cos_r), reduced.n + quarter_turns);
}

/// tan(x) for moderate x: the sine and cosine of r as pairs, and one corrected quotient.
Expr moderate_tan(Expr x) {
  TrigReduction reduced = reduce_trig(x);
  Expr z = squared(reduced);
  Pair sine = fast_two_sum(reduced.r, -sine_deficit(reduced.r, z, reduced.r_error));
  Expr drop = z * mul_add(z, cosine_rest(z), -0.5);
  if (!x.has_fma()) drop = drop + reduced.r * reduced.r_error;
  Pair cosine = fast_two_sum(constant(x, 1.0), drop);
  Expr odd = is_odd(reduced.n);
  Pair above{select(odd, cosine.high, sine.high), select(odd, cosine.low, sine.low)};
  Pair below{select(odd, -sine.high, cosine.high), select(odd, -sine.low, cosine.low)};
  // The correction would turn -0 into 0.
  return select(reduced.r == 0.0, above.high / below.high, divide_to_float(above, below, 1.0 / below.high));
}

}  // namespace

Scalar sin(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  return unlikely(abs(x) > reduction_limit(x), sine_of_sum(x, 0), [&] { return libm::large_sin(x); });
}

Scalar cos(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  return unlikely(abs(x) > reduction_limit(x), sine_of_sum(x, 1), [&] { return libm::large_cos(x); });
}

Scalar tan(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  return unlikely(abs(x) > reduction_limit(x), moderate_tan(x), [&] { return libm::large_tan(x); });
}

}  // namespace tokamak::math
