#pragma once

// The C library, one call per lane: for arguments too rare to deserve vector code, and for all where vector
// math is turned off.

#include "ops/math/expr.h"

namespace tokamak::math::libm {

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
Expr rsqrt(Expr x);    ///< 1 / sqrt(x), which C does not have
Expr sigmoid(Expr x);  ///< nor this, 1 / (1 + exp(-x))

}  // namespace tokamak::math::libm
