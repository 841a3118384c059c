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

namespace {

/// 2^(i/8), and what is missing from it.
constexpr LookupTable kPowers = {1.0,
                                 0x1.172b83c7d517bp+0,
                                 0x1.306fe0a31b715p+0,
                                 0x1.4bfdad5362a27p+0,
                                 0x1.6a09e667f3bcdp+0,
                                 0x1.8ace5422aa0dbp+0,
                                 0x1.ae89f995ad3adp+0,
                                 0x1.d5818dcfba487p+0};
constexpr LookupTable kRestOfPowers = {0.0,
                                       -0x1.19041b9d78a76p-55,
                                       0x1.6f46ad23182e4p-55,
                                       0x1.d4397afec42e2p-56,
                                       -0x1.bdd3413b26456p-54,
                                       0x1.6e9f156864b27p-54,
                                       0x1.7a1cd345dcc81p-54,
                                       0x1.2ed02d75b3707p-55};
constexpr int kBitsOfEighths = 3;

/// exp(x) of an f64. With x = n ln 2 + r for an n in eighths, |r| <= ln 2 / 16, it is 2^n exp(r).
Expr exp_by_table(Expr x) {
  Rounded n = round_scaled_to_exponent(x, kLog2E, kBitsOfEighths);
  // The product of the first piece of ln 2 with any n is exact, with or without fma.
  Expr r = mul_add(n.number, 0x1.8432a1b0e2634p-43, mul_add(n.number, -0x1.62e42fefa4p-1, x));
  // (exp(r) - 1 - r) / r^2; error of 1 + r + r^2 q against exp 2^-58.2.
  Expr q = polynomial_in_pairs(r, {0x1.000000000010ep-1, 0x1.5555555555660p-3, 0x1.55555547f9dc8p-5,
                                   0x1.11111107cfe0cp-7, 0x1.6c1cc100b2848p-10, 0x1.a0207817a5ec5p-13});
  Expr above_one = mul_add(square(r), q, r);
  Expr power = lookup(kPowers, n.bits);
  Expr p = power + mul_add(power, above_one, lookup(kRestOfPowers, n.bits));
  return times_power_of_two(p, {n.number, n.bits >> kBitsOfEighths});
}

}  // namespace

Expr exp_in_range(Expr x) { return x.is_f32() ? exp_by_polynomial(x) : exp_by_table(x); }

Expr exp_by_polynomial(Expr x) {
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
