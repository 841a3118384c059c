#pragma once

// The C library, one call per lane: for arguments too rare to deserve vector code.

#include "ops/math/expr.h"

namespace tokamak::math::libm {

Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);

}  // namespace tokamak::math::libm
