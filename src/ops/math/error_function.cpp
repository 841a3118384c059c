#include "ops/math/exp.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

/// erf(x) / x - 1 for |x| <= 1, in z = x^2; relative error of erf 2^-29.4 (f32), 2^-56.3 (f64).
Expr erf_slope(Expr z) {
  if (z.is_f32()) {
    return polynomial_in_pairs(z, {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2ce6p-4, -0x1.b7f71ap-6,
                                   0x1.53f224p-8, -0x1.a3515ep-11, 0x1.4771fep-14});
  }
  return polynomial_in_fours(
      z, {0x1.06eba8214db69p-3, -0x1.812746b037a25p-2, 0x1.ce2f21a0458d7p-4, -0x1.b82ce31354c47p-6,
          0x1.565bcd2c60765p-8, -0x1.c02db93279bd6p-11, 0x1.f9a3b93bc55b2p-14, -0x1.f4dcef3ea8931p-17,
          0x1.ba68f5c5feebbp-20, -0x1.638fa4601d7bap-23, 0x1.131a124b9ab94p-26, -0x1.c48e8d4351f95p-30,
          0x1.3b62ab0688cdfp-33});
}

/// log2(1 - erf(a)) for a in [1, 3.95] (f32) or [1, 5.95] (f64); error of erf 2^-29.8 (f32), 2^-57 (f64).
Expr log2_erfc(Expr a) {
  if (a.is_f32()) {
    return polynomial_in_pairs(a, {-0x1.0262ccp-11, -0x1.a04484p+0, -0x1.d75f58p-1, -0x1.30a444p-3,
                                   0x1.021768p-5, -0x1.16b0e8p-8, 0x1.19f10ep-12});
  }
  return polynomial(
      a, {-0x1.85c7c48ae2b42p-21, -0x1.a0be08db6950bp+0, -0x1.d6435ae4ddcb7p-1, -0x1.2f7395d662b26p-3,
          0x1.c0df0308050a8p-6, 0x1.36ad69d3965b7p-11, -0x1.6a521402ce779p-9, 0x1.237cbcd42a31bp-10,
          -0x1.98c6e10793a89p-13, -0x1.e9d894d15179ap-16, 0x1.1410e8e97a8ecp-15, -0x1.a3663a0a0146cp-17,
          0x1.9d61f72d4006dp-19, -0x1.2105e46177629p-21, 0x1.1f87852b7b705p-24, -0x1.85de86b12d07cp-28,
          0x1.44395ee788639p-32, -0x1.f4170a14dc721p-38});
}

/// exp(a^2) erfc(a) for a in [0, 10.2], in t = (a - 4) / (a + 4); relative error 2^-32.2.
Expr scaled_erfc_for_f32(Expr t) {
  return polynomial(
      t, {0x1.18932bf03bb0ep-3, -0x1.0949227babdb0p-2, 0x1.bff01ab6cb9d4p-3, -0x1.50666321dd21bp-3,
          0x1.be50165b73ff1p-4, -0x1.027de1dc70c8bp-4, 0x1.00686fa0d2203p-5, -0x1.a4bba833b55bfp-7,
          0x1.09fdc523facf3p-8, -0x1.ab58b3ad0312bp-11, -0x1.d9eef310991e8p-16, 0x1.a9c59daf2b1ffp-14});
}

/// (1 + 2 a) exp(a^2) erfc(a) for a in [0, 27.3], in t = (a - 3) / (a + 3); relative error 2^-54.4.
Pair scaled_erfc(Expr t) {
  Expr rest = polynomial(
      t, {-0x1.15c084bb9e8f2p-3,  -0x1.85a15c58a9eaap-5,  0x1.098366a5b464dp-3,  -0x1.e88b803a53bb0p-4,
          0x1.17ca2877f2dcep-4,   -0x1.8574c408cd418p-6,  0x1.4b884e40c50a0p-9,  0x1.ef1bdb8c11f7ep-10,
          -0x1.98db5097cfa40p-11, -0x1.b911e2acc1240p-14, 0x1.065a2a66e5cc4p-13, 0x1.4c07f57dd0566p-18,
          -0x1.51396aa0954dep-16, -0x1.86989a5d7c477p-21, 0x1.d1d65f8bd4841p-19, 0x1.78fa37de7a0f4p-22,
          -0x1.48fa734f399a5p-21, -0x1.2358320a3e9d3p-23, 0x1.9e2b437d28da7p-24, 0x1.3e7bd7aedb92bp-25,
          -0x1.3a3970af1da91p-27, -0x1.85cf8a5f54ae0p-28, -0x1.932f15114536cp-32});
  return fast_two_sum(constant(t, 0x1.40c522d7e4987p+0), rest * t);
}

/// erfc(a) for a >= 0 on f64 lanes: exp(-a^2) times a slowly falling factor, put together before they
/// underflow.
Expr erfc_of_positive(Expr a) {
  a = min_or_second(constant(a, 27.3), a);  // 0 from here on
  Pair minus_square = two_product(-a, a);
  UnscaledExp e = exp_of_pair(minus_square);
  Pair numerator = e.mantissa * scaled_erfc((a - 3.0) / (a + 3.0));
  Pair denominator = two_sum(constant(a, 1.0), a + a);
  Expr mantissa = divide_to_float(numerator, denominator, 1.0 / denominator.high);
  return times_power_of_two(mantissa, e.exponent);
}

/// The same for f32: f64 lanes have bits and exponents to spare.
Expr erfc_of_positive_f32(Expr narrow) {
  Expr a = cast(Cast::fpext, narrow, Lane::f64);
  a = min_or_second(constant(a, 10.2), a);  // 0 from here on
  return exp_by_polynomial(-square(a)) * scaled_erfc_for_f32((a - 4.0) / (a + 4.0));
}

}  // namespace

// x + x P(x^2) up to 1; beyond it 1 - 2^(a polynomial), which is soon so close to 1 that the power need not
// be exact.
Scalar erf(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  Expr near = mul_add(x, erf_slope(square(x)), x);
  Expr a = abs(x);
  // From here on the result rounds to 1.
  Expr log2 = log2_erfc(min_or_second(constant(x, by_format(x, 3.95, 5.95)), a));
  Rounded n = round_scaled(log2, 1.0, format_of(x).exponent_bias);
  Expr r = log2 - n.number;
  Expr power = mul_add(r, exp2_slope(r), 1.0);
  Expr far = mul_add(-power, power_of_two(x, n.bits), 1.0);
  return select(a < 1.0, near, copysign(far, x));
}

Scalar erfc(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) {
    Expr y = erfc_of_positive_f32(abs(x));
    return cast(Cast::fptrunc, select(cast(Cast::fpext, x, Lane::f64) < 0.0, 2.0 - y, y), Lane::f32);
  }
  Expr y = erfc_of_positive(abs(x));
  // Near 0, where erfc is close to 1, its distance from 1 is the better known.
  Expr near = 1.0 - mul_add(x, erf_slope(square(x)), x);
  return select(abs(x) < 0.5, near, select(x < 0.0, 2.0 - y, y));
}

}  // namespace tokamak::math
