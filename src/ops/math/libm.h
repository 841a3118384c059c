#pragma once

// The C library, one call per lane: for arguments too rare to deserve vector code, and for all where vector
// math is turned off.

#include <string_view>

#include "ops/math/expr.h"

namespace tokamak::math::libm {

/// Of those below, the function of C that a name such as "sinf" stands for; null if none does.
const LibmFunction* function_named(std::string_view name);

Expr exp(Expr x);
Expr exp2(Expr x);
Expr expm1(Expr x);
Expr log(Expr x);
Expr log2(Expr x);
Expr log10(Expr x);
Expr log1p(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);
Expr asin(Expr x);
Expr acos(Expr x);
Expr atan(Expr x);
Expr sinh(Expr x);
Expr cosh(Expr x);
Expr tanh(Expr x);
Expr asinh(Expr x);
Expr acosh(Expr x);
Expr atanh(Expr x);
Expr erf(Expr x);
Expr erfc(Expr x);
Expr cbrt(Expr x);
Expr fmod(Expr x, Expr y);
// Of angles of at least 1: for f64 those of large_angles.h, which are more exact than C's.
Expr large_sin(Expr x);
Expr large_cos(Expr x);
Expr large_tan(Expr x);
Expr rsqrt(Expr x);    ///< 1 / sqrt(x), which C does not have
Expr sigmoid(Expr x);  ///< nor this, 1 / (1 + exp(-x))

}  // namespace tokamak::math::libm
