#include "ops/math/libm.h"

#include <math.h>

namespace tokamak::math::libm {

namespace {

Expr call(Expr x, const char* name32, Libm1F32 f32, const char* name64, Libm1F64 f64) {
  LibmFunction function = x.is_f32() ? LibmFunction{name32, Lane::f32, 1, reinterpret_cast<void*>(f32)}
                                     : LibmFunction{name64, Lane::f64, 1, reinterpret_cast<void*>(f64)};
  return {x.builder, x.builder->call(function, std::span<const Scalar>(&x.value, 1))};
}

}  // namespace

Expr sin(Expr x) { return call(x, "sinf", ::sinf, "sin", ::sin); }
Expr cos(Expr x) { return call(x, "cosf", ::cosf, "cos", ::cos); }
Expr tan(Expr x) { return call(x, "tanf", ::tanf, "tan", ::tan); }

}  // namespace tokamak::math::libm
