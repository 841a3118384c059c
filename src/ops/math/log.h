#pragma once

// What the functions built on log share.

#include "ops/math/double_double.h"
#include "ops/math/exp.h"

namespace tokamak::math {

/// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
struct LogReduction {
  Expr exponent;  ///< as a float
  Expr f;         ///< exact
};

/// Of a positive normal number.
LogReduction reduce_log(Expr x);

/// Of any positive number, subnormal ones included.
LogReduction reduce_log_gradual(Expr x);

/// log(1 + f) - f, for 1 + f in [sqrt(1/2), sqrt(2)).
Expr log1p_minus_linear(Expr f);

/// exponent * ln 2 + f + small, where f + small = log(1 + f).
Expr assemble_log(Expr exponent, Expr f, Expr small);

/// The public log1p.
Expr log1p(Expr x);

/// Where log x is no number, or none of arithmetic: infinity at infinity, -infinity at 0, NaN below it and
/// for NaN.
Expr log_special_cases(Expr x, Expr y);

}  // namespace tokamak::math
