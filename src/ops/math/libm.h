#pragma once

// The C library, one call per lane: for arguments too rare to deserve vector code.

#include "ops/math/expr.h"

namespace tokamak::math::libm {

#define TOKAMAK_LIBM_UNARY(FUNCTION)                                                                      \
  FUNCTION(exp)                                                                                           \
  FUNCTION(exp2)                                                                                          \
  FUNCTION(expm1)                                                                                         \
  FUNCTION(log)                                                                                           \
  FUNCTION(log2) FUNCTION(log10) FUNCTION(log1p) FUNCTION(sin) FUNCTION(cos) FUNCTION(tan) FUNCTION(asin) \
      FUNCTION(acos) FUNCTION(atan) FUNCTION(sinh) FUNCTION(cosh) FUNCTION(tanh) FUNCTION(asinh)          \
          FUNCTION(acosh) FUNCTION(atanh) FUNCTION(erf) FUNCTION(erfc) FUNCTION(cbrt)

#define FUNCTION(name) Expr name(Expr x);
TOKAMAK_LIBM_UNARY(FUNCTION)
#undef FUNCTION
Expr pow(Expr x, Expr y);
Expr atan2(Expr y, Expr x);

}  // namespace tokamak::math::libm
