#pragma once

// Vector math: the transcendental functions as straight-line code over a ScalarBuilder.
//
// Every function takes and gives f32 or f64 lanes (f16 and bf16 elements are computed on f32 lanes by the
// caller). What holds for all of them, with and without fused multiply-add:
//   - the error is at most 2 ULP, and at most 1 ULP for exp, log, sin, cos and rsqrt on f32 lanes;
//   - special values are those of C99 Annex F: NaN propagates, infinities and signed zeros are exact;
//   - subnormal arguments and results are computed, not flushed;
//   - no branches and no tables; the few cases that need the C library sit behind ScalarBuilder::unlikely.

#include "ops/scalar_builder.h"

namespace tokamak::math {

Scalar exp(ScalarBuilder& s, Scalar x);
Scalar exp2(ScalarBuilder& s, Scalar x);
Scalar expm1(ScalarBuilder& s, Scalar x);
Scalar sigmoid(ScalarBuilder& s, Scalar x);  ///< 1 / (1 + exp(-x))

Scalar log(ScalarBuilder& s, Scalar x);
Scalar log2(ScalarBuilder& s, Scalar x);
Scalar log10(ScalarBuilder& s, Scalar x);
Scalar log1p(ScalarBuilder& s, Scalar x);

Scalar sin(ScalarBuilder& s, Scalar x);
Scalar cos(ScalarBuilder& s, Scalar x);
Scalar tan(ScalarBuilder& s, Scalar x);

Scalar asin(ScalarBuilder& s, Scalar x);
Scalar acos(ScalarBuilder& s, Scalar x);
Scalar atan(ScalarBuilder& s, Scalar x);
Scalar atan2(ScalarBuilder& s, Scalar y, Scalar x);  ///< the angle of the point (x, y)

Scalar sinh(ScalarBuilder& s, Scalar x);
Scalar cosh(ScalarBuilder& s, Scalar x);
Scalar tanh(ScalarBuilder& s, Scalar x);
Scalar asinh(ScalarBuilder& s, Scalar x);
Scalar acosh(ScalarBuilder& s, Scalar x);
Scalar atanh(ScalarBuilder& s, Scalar x);

Scalar erf(ScalarBuilder& s, Scalar x);
Scalar erfc(ScalarBuilder& s, Scalar x);

Scalar pow(ScalarBuilder& s, Scalar x, Scalar y);
Scalar cbrt(ScalarBuilder& s, Scalar x);
Scalar hypot(ScalarBuilder& s, Scalar x, Scalar y);
Scalar rsqrt(ScalarBuilder& s, Scalar x);  ///< 1 / sqrt(x)

}  // namespace tokamak::math
