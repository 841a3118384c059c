#include "ops/math/double_double.h"
#include "ops/math/exp.h"
#include "ops/math/libm.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

/// erf(x) / x - 1 for |x| <= 1, in z = x^2; relative error of erf 2^-29.4 (f32), 2^-56.3 (f64).
Expr erf_slope(Expr z) {
  if (z.is_f32()) {
    return polynomial(z, {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2ce6p-4, -0x1.b7f71ap-6, 0x1.53f224p-8,
                          -0x1.a3515ep-11, 0x1.4771fep-14});
  }
  return polynomial(
      z, {0x1.06eba8214db69p-3, -0x1.812746b037a25p-2, 0x1.ce2f21a0458d7p-4, -0x1.b82ce31354c47p-6,
          0x1.565bcd2c60765p-8, -0x1.c02db93279bd6p-11, 0x1.f9a3b93bc55b2p-14, -0x1.f4dcef3ea8931p-17,
          0x1.ba68f5c5feebbp-20, -0x1.638fa4601d7bap-23, 0x1.131a124b9ab94p-26, -0x1.c48e8d4351f95p-30,
          0x1.3b62ab0688cdfp-33});
}

/// log2(1 - erf(a)) for a in [1, 3.95] (f32) or [1, 5.95] (f64); error of erf 2^-29.8 (f32), 2^-57 (f64).
Expr log2_erfc(Expr a) {
  if (a.is_f32()) {
    return polynomial(a, {-0x1.0262ccp-11, -0x1.a04484p+0, -0x1.d75f58p-1, -0x1.30a444p-3, 0x1.021768p-5,
                          -0x1.16b0e8p-8, 0x1.19f10ep-12});
  }
  return polynomial(
      a, {-0x1.85c7c48ae2b42p-21, -0x1.a0be08db6950bp+0, -0x1.d6435ae4ddcb7p-1, -0x1.2f7395d662b26p-3,
          0x1.c0df0308050a8p-6, 0x1.36ad69d3965b7p-11, -0x1.6a521402ce779p-9, 0x1.237cbcd42a31bp-10,
          -0x1.98c6e10793a89p-13, -0x1.e9d894d15179ap-16, 0x1.1410e8e97a8ecp-15, -0x1.a3663a0a0146cp-17,
          0x1.9d61f72d4006dp-19, -0x1.2105e46177629p-21, 0x1.1f87852b7b705p-24, -0x1.85de86b12d07cp-28,
          0x1.44395ee788639p-32, -0x1.f4170a14dc721p-38});
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

Scalar erfc(ScalarBuilder& s, Scalar x) { return libm::erfc(Expr{&s, x}); }

}  // namespace tokamak::math
