#include <limits>

#include "ops/math/log.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// exp(a) / 2 and exp(-a) / 2 share their parts: with a = n ln 2 + r they are 2^(n-1) (C + S) and 2^(-n-1) (C
/// - S) for C = cosh(r) and S = sinh(r). All is halved once more, to keep the powers finite where the result
/// is.
struct HyperbolicParts {
  Expr large;       ///< 2^n / 4
  Expr small;       ///< 2^-n / 4
  Expr sum;         ///< large + small
  Expr difference;  ///< large - small
  Expr cosh_rest;   ///< C - 1
  Expr sinh_high;   ///< exact
  Expr sinh_low;    ///< S - sinh_high
};

HyperbolicParts hyperbolic_parts(Expr a) {
  int bias = format_of(a).exponent_bias;
  Expr limited = min_or_second(constant(a, by_format(a, 89.5, 710.5)), a);
  ExpReduction e = reduce_exp(limited, bias - 2);
  Expr large = power_of_two(a, e.n.bits);
  // 2^(-n-2); far out it would leave the range of exponents, but no longer counts.
  Expr small = select(a < 40.0, power_of_two(a, 2 * bias - 4 - e.n.bits), 0.0);
  Expr z = square(e.r);
  // sinh(r) = r + r z P(z), cosh(r) = 1 + z Q(z) for |r| <= ln 2 / 2; relative errors 2^-34.3 and 2^-33.3
  // (f32), 2^-61.7 and 2^-70 (f64).
  Expr p = a.is_f32() ? polynomial(z, {0x1.555556p-3, 0x1.110fbep-7, 0x1.a2e30cp-13})
                      : polynomial(z, {0x1.5555555555559p-3, 0x1.111111110f624p-7, 0x1.a01a01b024facp-13,
                                       0x1.71ddf79e78e56p-19, 0x1.af601b6fd77d5p-26});
  Expr q = a.is_f32() ? polynomial(z, {0x1p-1, 0x1.5554e6p-5, 0x1.6d4f3cp-10})
                      : polynomial(z, {0x1p-1, 0x1.5555555555558p-5, 0x1.6c16c16c14ff1p-10,
                                       0x1.a01a01ad86be9p-16, 0x1.27e4cbf6bf964p-22, 0x1.1f8c143d4d6a8p-29});
  return {large, small, large + small, large - small, z * q, e.r_high, mul_add(e.r * z, p, e.r_low)};
}

/// log(u) + extra_exponent * ln 2, for a pair u >= 1/2.
Expr log_of_pair(Pair u, Expr extra_exponent) {
  LogReduction reduced = reduce_log(u.high);
  Rounded n = round_scaled(reduced.exponent, -1.0, format_of(u.high).exponent_bias);
  Pair f = fast_two_sum(reduced.f, u.low * power_of_two(u.high, n.bits));
  // The derivative of log(1 + f) is 1 - f and so on: f.low is so small that two terms do.
  Expr small = log1p_minus_linear(f.high) + mul_add(-f.high, f.low, f.low);
  return assemble_log(reduced.exponent + extra_exponent, f.high, small);
}

/// log(1 + t) for a pair t >= 0, or log(2 a) where is_large. Halving a keeps its exponent below the largest.
Expr log1p_of_pair(Pair t, Expr is_large, Expr a) {
  Pair one_more = two_sum(constant(a, 1.0), t.high);
  Pair u{select(is_large, a * 0.5, one_more.high), select(is_large, 0.0, one_more.low + t.low)};
  return log_of_pair(u, select(is_large, constant(a, 2.0), 0.0));
}

/// A function on f32 lanes, computed in f64, where roundings and squares do no harm.
template <typename Function>
Scalar in_f64(Expr x, Function function) {
  return cast(Cast::fptrunc, function(cast(Cast::fpext, x, Lane::f64)), Lane::f32);
}

/// tanh on f32 lanes: (1 - s) / (1 + s) with s = exp(-2 |x|) = h (1 + m), h = 2^n. Both parts are rounded
/// once, from the same m, so that neither inherits an error of the other; 1 + s is a little below 2 where the
/// quotient is small and its relative error counts most.
Expr tanh_f32(Expr x) {
  // From 9.5 on the result rounds to 1.
  Expr a = abs(x);
  Expr y = min_or_second(constant(x, 9.5), a);
  Rounded n = round_scaled(y, -2 * kLog2E, format_of(x).exponent_bias);
  // |n| is so small that with fma one piece of ln 2 is enough.
  Expr minus_two_y = -(y + y);
  Expr r = x.has_fma() ? mul_add(n.number, -0x1.62e43p-1, minus_two_y)
                       : (minus_two_y - n.number * ln2_high(x)) - n.number * ln2_low(x);
  // expm1(r) = r + r^2 q: relative error 2^-26.
  Expr q =
      polynomial_in_pairs(r, {0x1.fffffep-2, 0x1.5554aap-3, 0x1.55579cp-5, 0x1.122c3ap-7, 0x1.6ab78p-10});
  Expr m = mul_add(square(r), q, r);
  Expr h = power_of_two(x, n.bits);
  Expr quotient = mul_add(-h, m, 1.0 - h) / mul_add(h, m, 1.0 + h);
  // The quotient is positive: the sign of -0 is lost in it.
  return from_bits(bits(quotient) | (bits(x) ^ bits(a)));
}

constexpr double kLarge = 0x1p30;  // x^2 + 1 and x^2 - 1 are x^2 from here on
constexpr double kTiny = 0x1p-28;  // x^3 does not count up to here

}  // namespace

// 2 (difference * C + sum * S).
Scalar sinh(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr a = abs(x);
  HyperbolicParts h = hyperbolic_parts(a);
  Expr leading = mul_add(h.sum, h.sinh_high, h.difference);
  Expr half = leading + mul_add(h.sum, h.sinh_low, h.difference * h.cosh_rest);
  // Halving would cost subnormals their last bit.
  return copysign(select(a < by_format(x, 0x1p-14, kTiny), a, half + half), x);
}

// 2 (sum * C + difference * S). Of the sum, the small part joins the other small ones: it may be too small
// for the large.
Scalar cosh(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  HyperbolicParts h = hyperbolic_parts(abs(x));
  Expr leading = mul_add(h.difference, h.sinh_high, h.large);
  Expr half = leading + (h.small + mul_add(h.difference, h.sinh_low, h.sum * h.cosh_rest));
  return half + half;
}

// With |x| = n ln 2 / 2 + r, p = 2^n and T = tanh(r):  tanh|x| = ((p - 1) + (p + 1) T) / ((p + 1) + (p - 1)
// T).
Scalar tanh(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) return tanh_f32(x);
  // From here on the result rounds to 1.
  Expr a = min_or_second(constant(x, 19.5), abs(x));
  Rounded n = round_scaled(a, 2 * kLog2E, format_of(x).exponent_bias);
  Expr r_high = mul_add(n.number, -0.5 * ln2_high(x), a);
  Expr r_low = n.number * (-0.5 * ln2_low(x));
  Expr r = r_high + r_low;
  Expr z = square(r);
  // tanh(r) = r + r z P(z) for |r| <= ln 2 / 4; relative error 2^-57.7.
  Expr p = polynomial(z, {-0x1.55555555554bbp-2, 0x1.11111110e0505p-3, -0x1.ba1ba115f39f2p-5,
                          0x1.664ec9588e615p-6, -0x1.223c51d38c561p-7, 0x1.c37d193d725edp-9});
  Expr tanh_low = mul_add(r * z, p, r_low);
  Expr power = power_of_two(x, n.bits);
  Expr above = power + 1.0;
  Expr below = power - 1.0;
  // a + b (r_high + tanh_low), as a pair.
  auto combine = [&](Expr a, Expr b) {
    if (x.has_fma()) {
      Expr high = mul_add(b, r_high, a);
      return Pair{high, mul_add(b, tanh_low, mul_add(b, r_high, a - high))};
    }
    Pair product = two_product(b, r_high);
    Pair sum = fast_two_sum(a, product.high);
    return Pair{sum.high, sum.low + (product.low + b * tanh_low)};
  };
  Pair denominator = combine(above, below);
  Expr inverse = 1.0 / (denominator.high + denominator.low);
  return copysign(divide_to_float(combine(below, above), denominator, inverse), x);
}

// log(1 + a + (sqrt(1 + a^2) - 1)), in f64 with the difference written without cancellation.
Scalar asinh(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) {
    return in_f64(x, [](Expr x) {
      Expr a = abs(x);
      return copysign(log1p(a + (sqrt(mul_add(a, a, 1.0)) - 1.0)), x);
    });
  }
  Expr a = abs(x);
  Expr limited = min_or_second(constant(a, kLarge), a);
  Expr a2 = square(limited);
  Pair t = fast_two_sum(limited, a2 / (sqrt(a2 + 1.0) + 1.0));
  Expr y = log1p_of_pair(t, a > kLarge, a);
  // Infinity and NaN stand for themselves, as do tiny x.
  y = select(a < kInfinity, y, a);
  return copysign(select(a < kTiny, a, y), x);
}

// log(1 + t + sqrt(2 t + t^2)) with t = x - 1.
Scalar acosh(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) {
    return in_f64(x, [](Expr x) {
      Expr t = x - 1.0;
      return select(t >= 0.0, log1p(t + sqrt(mul_add(t, t, t + t))), kNaN);
    });
  }
  Expr t = min_or_second(constant(x, kLarge), x) - 1.0;
  Pair sum = two_sum(t, sqrt(mul_add(t, t, t + t)));
  Expr y = log1p_of_pair(sum, x > kLarge, x);
  return select(x == kInfinity, x, select(x >= 1.0, y, kNaN));
}

// log(1 + 2 a / (1 - a)) / 2.
Scalar atanh(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) {
    return in_f64(x, [](Expr x) {
      Expr a = abs(x);
      return copysign(log1p((a + a) / (1.0 - a)) * 0.5, x);
    });
  }
  Expr a = abs(x);
  Expr zero = constant(a, 0.0);
  Pair ratio = divide({a + a, zero}, two_sum(constant(a, 1.0), -a));
  Pair one_more = two_sum(constant(a, 1.0), ratio.high);
  Expr y = log_of_pair({one_more.high, one_more.low + ratio.low}, zero) * 0.5;
  y = select(a < 1.0, y, select(a == 1.0, kInfinity, constant(a, kNaN)));
  return copysign(select(a < kTiny, a, y), x);
}

}  // namespace tokamak::math
