#include "ops/math/libm.h"

#include <math.h>

#include <algorithm>

#include "ops/math/large_angles.h"

namespace tokamak::math::libm {

namespace {

/// What C declares as NAMEf for floats and as NAME for doubles.
#define TOKAMAK_FUNCTIONS_OF_ONE(F)                                                                     \
  F(exp)                                                                                                \
  F(exp2)                                                                                               \
  F(expm1)                                                                                              \
  F(log) F(log2) F(log10) F(log1p) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) \
      F(asinh) F(acosh) F(atanh) F(erf) F(erfc) F(cbrt)
#define TOKAMAK_FUNCTIONS_OF_TWO(F) F(fmod)

#define TOKAMAK_ONE(name)                                                                \
  {#name "f", Lane::f32, 1, reinterpret_cast<void*>(static_cast<Libm1F32>(&::name##f))}, \
      {#name, Lane::f64, 1, reinterpret_cast<void*>(static_cast<Libm1F64>(&::name))},
#define TOKAMAK_TWO(name)                                                                \
  {#name "f", Lane::f32, 2, reinterpret_cast<void*>(static_cast<Libm2F32>(&::name##f))}, \
      {#name, Lane::f64, 2, reinterpret_cast<void*>(static_cast<Libm2F64>(&::name))},

#define TOKAMAK_OF_LARGE(name) \
  {"large_" #name, Lane::f64, 1, reinterpret_cast<void*>(static_cast<Libm1F64>(&math::large_##name))},

const LibmFunction kFunctions[] = {TOKAMAK_FUNCTIONS_OF_ONE(TOKAMAK_ONE)
                                       TOKAMAK_FUNCTIONS_OF_TWO(TOKAMAK_TWO)  //
                                   TOKAMAK_OF_LARGE(sin) TOKAMAK_OF_LARGE(cos) TOKAMAK_OF_LARGE(tan)};

Expr call(std::string_view name32, std::string_view name64, Expr x, std::span<const Scalar> operands) {
  return {x.builder, x.builder->call(*function_named(x.is_f32() ? name32 : name64), operands)};
}

}  // namespace

const LibmFunction* function_named(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &LibmFunction::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

#define TOKAMAK_CALL_ONE(name) \
  Expr name(Expr x) { return call(#name "f", #name, x, std::span<const Scalar>(&x.value, 1)); }
#define TOKAMAK_CALL_TWO(name)                    \
  Expr name(Expr x, Expr y) {                     \
    const Scalar operands[] = {x.value, y.value}; \
    return call(#name "f", #name, x, operands);   \
  }
TOKAMAK_FUNCTIONS_OF_ONE(TOKAMAK_CALL_ONE)
TOKAMAK_FUNCTIONS_OF_TWO(TOKAMAK_CALL_TWO)

#define TOKAMAK_CALL_LARGE(name)                                                     \
  Expr large_##name(Expr x) {                                                        \
    return call(#name "f", "large_" #name, x, std::span<const Scalar>(&x.value, 1)); \
  }
TOKAMAK_CALL_LARGE(sin)
TOKAMAK_CALL_LARGE(cos)
TOKAMAK_CALL_LARGE(tan)

Expr rsqrt(Expr x) { return 1.0 / sqrt(x); }
Expr sigmoid(Expr x) { return 1.0 / (1.0 + exp(-x)); }

}  // namespace tokamak::math::libm
