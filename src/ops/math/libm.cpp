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

Expr exp(Expr x) { return call(x, "expf", ::expf, "exp", ::exp); }
Expr exp2(Expr x) { return call(x, "exp2f", ::exp2f, "exp2", ::exp2); }
Expr expm1(Expr x) { return call(x, "expm1f", ::expm1f, "expm1", ::expm1); }
Expr log(Expr x) { return call(x, "logf", ::logf, "log", ::log); }
Expr log2(Expr x) { return call(x, "log2f", ::log2f, "log2", ::log2); }
Expr log10(Expr x) { return call(x, "log10f", ::log10f, "log10", ::log10); }
Expr log1p(Expr x) { return call(x, "log1pf", ::log1pf, "log1p", ::log1p); }
Expr sin(Expr x) { return call(x, "sinf", ::sinf, "sin", ::sin); }
Expr cos(Expr x) { return call(x, "cosf", ::cosf, "cos", ::cos); }
Expr tan(Expr x) { return call(x, "tanf", ::tanf, "tan", ::tan); }
Expr asin(Expr x) { return call(x, "asinf", ::asinf, "asin", ::asin); }
Expr acos(Expr x) { return call(x, "acosf", ::acosf, "acos", ::acos); }
Expr atan(Expr x) { return call(x, "atanf", ::atanf, "atan", ::atan); }
Expr sinh(Expr x) { return call(x, "sinhf", ::sinhf, "sinh", ::sinh); }
Expr cosh(Expr x) { return call(x, "coshf", ::coshf, "cosh", ::cosh); }
Expr tanh(Expr x) { return call(x, "tanhf", ::tanhf, "tanh", ::tanh); }
Expr asinh(Expr x) { return call(x, "asinhf", ::asinhf, "asinh", ::asinh); }
Expr acosh(Expr x) { return call(x, "acoshf", ::acoshf, "acosh", ::acosh); }
Expr atanh(Expr x) { return call(x, "atanhf", ::atanhf, "atanh", ::atanh); }
Expr erf(Expr x) { return call(x, "erff", ::erff, "erf", ::erf); }
Expr erfc(Expr x) { return call(x, "erfcf", ::erfcf, "erfc", ::erfc); }
Expr cbrt(Expr x) { return call(x, "cbrtf", ::cbrtf, "cbrt", ::cbrt); }

Expr rsqrt(Expr x) { return 1.0 / sqrt(x); }
Expr sigmoid(Expr x) { return 1.0 / (1.0 + exp(-x)); }

}  // namespace tokamak::math::libm
