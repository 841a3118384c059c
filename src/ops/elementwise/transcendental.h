#pragma once

#include "ops/math/libm.h"
#include "ops/math/math.h"
#include "ops/record.h"
#include "ops/type_rules.h"
#include "support/parts.h"

namespace tokamak::rules {

/// `kPlain` is the function of the C library, for when there is to be no vector math.
template <auto kFunction, auto kPlain>
Scalar unary_math(const ScalarContext& c) {
  return is_enabled(Part::vector_math) ? kFunction(c.s, c.x[0]) : kPlain(Expr{&c.s, c.x[0]});
}

template <auto kFunction, auto kPlain>
constexpr OpRecord unary_math_record(Op op, TestRange range) {
  return {.op = op,
          .dtypes = DTypes::floats,
          .type = elementwise_type,
          .scalar = unary_math<kFunction, kPlain>,
          .test = range,
          .max_ulp = 2};
}

inline constexpr OpRecord kTranscendental[] = {
    unary_math_record<math::rsqrt, math::libm::rsqrt>(Op::rsqrt, {0.001, 100}),
    unary_math_record<math::cbrt, math::libm::cbrt>(Op::cbrt, {-100, 100}),
    unary_math_record<math::exp, math::libm::exp>(Op::exp, {-10, 10}),
    unary_math_record<math::exp2, math::libm::exp2>(Op::exp2, {-10, 10}),
    unary_math_record<math::expm1, math::libm::expm1>(Op::expm1, {-10, 10}),
    unary_math_record<math::log, math::libm::log>(Op::log, {0.001, 100}),
    unary_math_record<math::log2, math::libm::log2>(Op::log2, {0.001, 100}),
    unary_math_record<math::log10, math::libm::log10>(Op::log10, {0.001, 100}),
    unary_math_record<math::log1p, math::libm::log1p>(Op::log1p, {-0.9, 10}),
    unary_math_record<math::sin, math::libm::sin>(Op::sin, {-100, 100}),
    unary_math_record<math::cos, math::libm::cos>(Op::cos, {-100, 100}),
    unary_math_record<math::tan, math::libm::tan>(Op::tan, {-100, 100}),
    unary_math_record<math::asin, math::libm::asin>(Op::asin, {-1, 1}),
    unary_math_record<math::acos, math::libm::acos>(Op::acos, {-1, 1}),
    unary_math_record<math::atan, math::libm::atan>(Op::atan, {-10, 10}),
    unary_math_record<math::sinh, math::libm::sinh>(Op::sinh, {-10, 10}),
    unary_math_record<math::cosh, math::libm::cosh>(Op::cosh, {-10, 10}),
    unary_math_record<math::tanh, math::libm::tanh>(Op::tanh, {-10, 10}),
    unary_math_record<math::asinh, math::libm::asinh>(Op::asinh, {-10, 10}),
    unary_math_record<math::acosh, math::libm::acosh>(Op::acosh, {1, 100}),
    unary_math_record<math::atanh, math::libm::atanh>(Op::atanh, {-0.99, 0.99}),
    unary_math_record<math::erf, math::libm::erf>(Op::erf, {-5, 5}),
    unary_math_record<math::erfc, math::libm::erfc>(Op::erfc, {-5, 10}),
    unary_math_record<math::sigmoid, math::libm::sigmoid>(Op::sigmoid, {-20, 20}),
    {.op = Op::atan2,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) { return math::atan2(c.s, c.x[0], c.x[1]); },
     .max_ulp = 2},
};

}  // namespace tokamak::rules
