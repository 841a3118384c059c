#include <limits>

#include "ops/math/log.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// log(x) for a positive x of f64 lanes, to about 2^-68.
Pair log_to_pair(Expr x) {
  LogReduction reduced = reduce_log_gradual(x);
  Expr zero = constant(x, 0.0);
  // log(1 + f) = 2 s + s z (2/3 + z P(z)) for s = f / (2 + f), z = s^2; the polynomial's error is 2^-73.5.
  Pair s = divide({reduced.f, zero}, fast_two_sum(constant(x, 2.0), reduced.f));
  Pair z = s * s;
  Expr p = polynomial(
      z.high, {0x1.9999999999996p-2, 0x1.2492492492f52p-2, 0x1.c71c71c59653ep-3, 0x1.745d18297fb86p-3,
               0x1.3b1364bb5b88bp-3, 0x1.112071a9426bbp-3, 0x1.de3cfe0604844p-4, 0x1.eac9ddd75e337p-4});
  Pair cubic = fast_two_sum(constant(x, 0x1.5555555555555p-1), z.high * p);
  cubic.low = cubic.low + mul_add(z.low, 0.4, 0x1.5555555555555p-55);
  Pair rest = s * z * cubic;
  Pair linear{s.high + s.high, s.low + s.low};
  Pair sum = add_smaller(linear, rest);
  Pair exponent{reduced.exponent * ln2_high(x), reduced.exponent * ln2_low(x)};
  return add_smaller(exponent, sum);
}

/// a^y for positive finite a and limited y.
Expr positive_power(Expr a, Expr y) {
  Pair product = log_to_pair(a) * y;
  Expr is_far = abs(product.high) > 1000.0;
  UnscaledExp e = exp_of_pair({clamp(product.high, -746.5, 720.0), select(is_far, 0.0, product.low)});
  return times_power_of_two(e.mantissa.high, e.exponent);
}

/// The same on f32 lanes. In f64 a logarithm and a power good to 2^-34 suffice, and subnormals come out of
/// the conversion.
Expr positive_power_f32(Expr narrow_a, Expr narrow_y) {
  Expr a = cast(Cast::fpext, narrow_a, Lane::f64);
  Expr y = cast(Cast::fpext, narrow_y, Lane::f64);
  LogReduction reduced = reduce_log(a);
  Expr s = reduced.f / (reduced.f + 2.0);
  // log2(1 + f) = s R(s^2): relative error 2^-37.8.
  Expr r = polynomial(square(s), {0x1.71547652bee4p+1, 0x1.ec709d12702d4p-1, 0x1.27778033419d7p-1,
                                  0x1.a58d640a6cd99p-2, 0x1.5ceb1a2ca3d6p-2});
  Expr log2 = clamp(y * mul_add(s, r, reduced.exponent), -160.0, 140.0);
  Rounded n = round_scaled(log2, 1.0, format_of(a).exponent_bias);
  Expr fraction = log2 - n.number;
  // 2^fraction = 1 + fraction * q: error 2^-34.3.
  Expr q = polynomial(fraction,
                      {0x1.62e42ff0e3f1p-1, 0x1.ebfbe078462dap-3, 0x1.c6b08abca8f2dp-5, 0x1.3b29f2d9898b3p-7,
                       0x1.5d8a883db823ap-10, 0x1.445d2e66cdf08p-13, 0x1.fde56089a995bp-17});
  return cast(Cast::fptrunc, mul_add(fraction, q, 1.0) * power_of_two(a, n.bits), Lane::f32);
}

/// What C99 says of x^y where it is not |x|^y: signs, and zeros, infinities and NaNs on either side.
Expr pow_special_cases(Expr x, Expr y, Expr power) {
  Expr a = abs(x);
  Expr is_negative_y = y < 0.0;
  power = select(a == 0.0, select(is_negative_y, kInfinity, constant(x, 0.0)), power);
  power = select(a < kInfinity, power, select(is_negative_y, constant(x, 0.0), a));
  power = select(is_nan(x), x, power);
  // From `whole` on all numbers are integers, from twice that all are even. Below it, adding it puts the
  // integer part into the low bits.
  double whole = by_format(x, 0x1p23, 0x1p52);
  Expr b = abs(y);
  Expr has_fraction_bits = b < whole;
  Expr shifted = select(has_fraction_bits, b + whole, b);
  Expr is_whole = select(has_fraction_bits, shifted - whole, b) == b;
  Expr odd_bit = select(b < 2 * whole, bits(shifted), constant(bits(shifted), 0)) & 1;
  Expr odd_sign = from_bits(odd_bit << (bits_of(odd_bit.lane()) - 1));  // -0 where y is an odd integer
  Expr sign_of_x = bits(copysign(constant(x, 0.0), x));
  Expr when_whole = from_bits(bits(power) ^ (bits(odd_sign) & sign_of_x));
  // A negative finite number to a fraction is NaN; -0 and -infinity are not affected.
  Expr negative = select(a == 0.0, power, select(a == kInfinity, power, constant(x, kNaN)));
  Expr when_fraction = select(x < 0.0, negative, power);
  power = select(is_whole, when_whole, select(is_nan(y), y, when_fraction));
  return select(x == 1.0, 1.0, select(y == 0.0, 1.0, power));
}

}  // namespace

Scalar pow(ScalarBuilder& s, Scalar value_x, Scalar value_y) {
  Expr x{&s, value_x};
  Expr y{&s, value_y};
  // A larger exponent takes every x other than 1 out of range just as well, and infinity with it.
  Expr limited_y = clamp(y, -0x1p66, 0x1p66);
  Expr power = x.is_f32() ? positive_power_f32(abs(x), limited_y) : positive_power(abs(x), limited_y);
  return pow_special_cases(x, y, power);
}

// One step of Newton's method on 1 - x y^2 = 0, from a y that the root and the quotient have rounded twice.
Scalar rsqrt(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr y = 1.0 / sqrt(x);
  Expr missing = division_rest({constant(x, 1.0), constant(x, 0.0)}, two_product(x, y), y);
  // It is NaN where y is 0, infinity or NaN.
  return select(is_nan(missing), y, mul_add(y * 0.5, missing, y));
}

// |x| = 2^(3k) m with m in [1/sqrt(8), sqrt(8)); y approaches m^(-1/3), and m y^2 is the root but for a last
// correction.
Scalar cbrt(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr a = abs(x);
  int bias = format_of(x).exponent_bias;
  LogReduction reduced = reduce_log_gradual(a);
  Rounded third = round_scaled(reduced.exponent, 1.0 / 3.0, bias);
  Rounded left = round_scaled(mul_add(third.number, -3.0, reduced.exponent), 1.0, bias);  // -1, 0 or 1
  Expr m = (reduced.f + 1.0) * power_of_two(x, left.bits);
  // m^(-1/3) to 2^-9.6; each step y (1 + h/3 + 2 h^2/9) with h = 1 - m y^3 triples that.
  Expr y = polynomial(m, {0x1.10090ap+1, -0x1.86eee4p+1, 0x1.e5b094p+1, -0x1.691c46p+1, 0x1.335dc0p+0,
                          -0x1.13daf0p-2, 0x1.93fdecp-6});
  for (int step = 0; step < (x.is_f32() ? 1 : 2); ++step) {
    Expr h = mul_add(m * y, -(y * y), constant(x, 1.0));
    y = mul_add(y * h, mul_add(h, 2.0 / 9.0, 1.0 / 3.0), y);
  }
  // One step of Newton's method on root^3 = m, with the cube to twice the precision.
  Expr root = m * y * y;
  Pair squared = two_product(root, root);
  Pair cube = squared * root;
  Expr missing = (m - cube.high) - cube.low;
  root = mul_add(missing, square(y) * (1.0 / 3.0), root);
  root = copysign(root * power_of_two(x, third.bits), x);
  return select(a < kInfinity, select(a == 0.0, x, root), x);
}

/// Scaled by a power of two where a square would leave the range, or lose its last places at the lower end of
/// it.
Scalar hypot(ScalarBuilder& s, Scalar left, Scalar right) {
  Expr a = abs(Expr{&s, left});
  Expr b = abs(Expr{&s, right});
  Expr swapped = a < b;
  Expr large = select(swapped, b, a);  // of which one is not a number, so is the result
  Expr small = select(swapped, a, b);
  const bool is_f32 = a.is_f32();
  const double high = is_f32 ? 0x1p60 : 0x1p500, down = is_f32 ? 0x1p-80 : 0x1p-600;
  const double low = is_f32 ? 0x1p-40 : 0x1p-450, up = is_f32 ? 0x1p90 : 0x1p600;
  Expr is_high = large > high;
  Expr is_low = large < low;
  Expr one = constant(a, 1.0);
  Expr scale = select(is_high, constant(a, down), select(is_low, constant(a, up), one));
  Expr back = select(is_high, constant(a, 1 / down), select(is_low, constant(a, 1 / up), one));
  large = large * scale;
  small = small * scale;
  Expr length = sqrt(mul_add(small, small, large * large)) * back;
  Expr infinity = constant(a, kInfinity);
  return select(a == infinity, infinity, select(b == infinity, infinity, length));
}

}  // namespace tokamak::math
