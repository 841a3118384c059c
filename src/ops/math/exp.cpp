#include "ops/math/exp.h"

#include "ops/math/double_double.h"
#include "ops/math/math.h"

namespace tokamak::math {

/// Error of 1 + r q against 2^r: 2^-28.3 (f32), 2^-57.7 (f64).
Expr exp2_slope(Expr r) {
  if (r.is_f32()) {
    return polynomial_in_pairs(
        r, {0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2dd8p-7, 0x1.5f096ep-10, 0x1.417456p-13});
  }
  return polynomial_in_fours(
      r, {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c59dp-3, 0x1.c6b08d704a0ddp-5, 0x1.3b2ab6fba100cp-7,
          0x1.5d87fe78b2121p-10, 0x1.4309130c54111p-13, 0x1.ffcbfbffe5a90p-17, 0x1.62bfcd206a44ap-20,
          0x1.b52600372b496p-24, 0x1.e612d7fce558bp-28, 0x1.e821a7bc244b6p-32});
}

Expr exp_in_range(Expr x) {
  Rounded n = round_scaled_to_exponent(x, kLog2E);
  Expr r = mul_add(n.number, -ln2_low(x), mul_add(n.number, -ln2_high(x), x));
  Expr q = exp_remainder(r);
  // Both are 1 + r + r^2 q. The first is more exact with fma, the second without it.
  Expr p = x.has_fma() ? mul_add(r, mul_add(r, q, 1.0), 1.0) : 1.0 + (r + square(r) * q);
  return times_power_of_two(p, n);
}

UnscaledExp exp_of_pair(Pair x) {
  ExpReduction e = reduce_exp(x.high, round_scaled_to_exponent(x.high, kLog2E));
  Expr r_low = e.r_low + x.low;
  Expr r = e.r_high + r_low;
  Expr above_one = e.r_high + mul_add(square(r), exp_remainder(r), r_low);
  return {fast_two_sum(constant(r, 1.0), above_one), e.n};
}

Scalar exp(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  // Beyond these the result is 0 or infinity, which the scaling gives.
  return exp_in_range(limit_exponent(x, by_format(x, -105, -746.5), by_format(x, 89, 710)));
}

Scalar exp2(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  x = limit_exponent(x, exponent_of_zero(x), by_format(x, 129, 1025));
  Rounded n = round_scaled_to_exponent(x, 1.0);
  Expr r = x - n.number;
  return times_power_of_two(mul_add(r, exp2_slope(r), 1.0), n);
}

// exp(x) - 1 = 2 (h (r + r^2 q) + (h - 1/2)) with h = 2^(n-1). The leading part of r goes in exactly, so that
// little is lost where h r and h - 1/2 cancel. Halving keeps h finite for every finite result.
Scalar expm1(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr limited = clamp(x, by_format(x, -20, -40), by_format(x, 89, 710));
  ExpReduction e = reduce_exp(limited, format_of(x).exponent_bias - 1);
  Expr h = power_of_two(x, e.n.bits);
  Expr small = mul_add(square(e.r), expm1_remainder(e.r), e.r_low);
  Expr half = mul_add(small, h, mul_add(e.r_high, h, h - 0.5));
  // Tiny x stand for themselves: -0 keeps its sign, subnormals their last bit.
  return select(abs(x) < by_format(x, 0x1p-25, 0x1p-54), x, half + half);
}

// With e = exp(-|x|): 1 / (1 + e) to the right of 0, e / (1 + e) to the left; e underflows gradually.
Scalar sigmoid(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr e = exp_in_range(limit_exponent(-abs(x), by_format(x, -105, -746.5)));
  Pair denominator = fast_two_sum(constant(x, 1.0), e);
  Pair numerator{select(x < 0.0, e, 1.0), constant(x, 0.0)};
  return divide_to_float(numerator, denominator, 1.0 / denominator.high);
}

}  // namespace tokamak::math
