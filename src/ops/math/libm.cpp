#include "ops/math/libm.h"

#include <math.h>

namespace tokamak::math::libm {

namespace {

template <typename F32, typename F64>
Expr call(const char* name32, F32 f32, const char* name64, F64 f64, std::initializer_list<Expr> operands) {
  const Expr& first = *operands.begin();
  Scalar handles[2];
  int arity = 0;
  for (const Expr& operand : operands) handles[arity++] = operand.value;
  LibmFunction function = first.lane() == Lane::f32
                              ? LibmFunction{name32, Lane::f32, arity, reinterpret_cast<void*>(f32)}
                              : LibmFunction{name64, Lane::f64, arity, reinterpret_cast<void*>(f64)};
  return {first.builder, first.builder->call(function, std::span<const Scalar>(handles, arity))};
}

}  // namespace

#define FUNCTION(name)                                                                                   \
  Expr name(Expr x) {                                                                                    \
    return call(#name "f", static_cast<Libm1F32>(::name##f), #name, static_cast<Libm1F64>(::name), {x}); \
  }
TOKAMAK_LIBM_UNARY(FUNCTION)
#undef FUNCTION

Expr pow(Expr x, Expr y) {
  return call("powf", static_cast<Libm2F32>(::powf), "pow", static_cast<Libm2F64>(::pow), {x, y});
}

Expr atan2(Expr y, Expr x) {
  return call("atan2f", static_cast<Libm2F32>(::atan2f), "atan2", static_cast<Libm2F64>(::atan2), {y, x});
}

}  // namespace tokamak::math::libm
