#pragma once

#include "ops/math/math.h"
#include "ops/record.h"
#include "ops/type_rules.h"

namespace tokamak::rules {

template <auto kFunction>
Scalar unary_math(const ScalarContext& c) {
  return kFunction(c.s, c.x[0]);
}

template <auto kFunction>
constexpr OpRecord unary_math_record(Op op, TestRange range) {
  return {.op = op,
          .dtypes = DTypes::floats,
          .type = elementwise_type,
          .scalar = unary_math<kFunction>,
          .test = range,
          .max_ulp = 2};
}

inline constexpr OpRecord kTranscendental[] = {
    unary_math_record<math::rsqrt>(Op::rsqrt, {0.001, 100}),
    unary_math_record<math::cbrt>(Op::cbrt, {-100, 100}),
    unary_math_record<math::exp>(Op::exp, {-10, 10}),
    unary_math_record<math::exp2>(Op::exp2, {-10, 10}),
    unary_math_record<math::expm1>(Op::expm1, {-10, 10}),
    unary_math_record<math::log>(Op::log, {0.001, 100}),
    unary_math_record<math::log2>(Op::log2, {0.001, 100}),
    unary_math_record<math::log10>(Op::log10, {0.001, 100}),
    unary_math_record<math::log1p>(Op::log1p, {-0.9, 10}),
    unary_math_record<math::sin>(Op::sin, {-100, 100}),
    unary_math_record<math::cos>(Op::cos, {-100, 100}),
    unary_math_record<math::tan>(Op::tan, {-100, 100}),
    unary_math_record<math::asin>(Op::asin, {-1, 1}),
    unary_math_record<math::acos>(Op::acos, {-1, 1}),
    unary_math_record<math::atan>(Op::atan, {-10, 10}),
    unary_math_record<math::sinh>(Op::sinh, {-10, 10}),
    unary_math_record<math::cosh>(Op::cosh, {-10, 10}),
    unary_math_record<math::tanh>(Op::tanh, {-10, 10}),
    unary_math_record<math::asinh>(Op::asinh, {-10, 10}),
    unary_math_record<math::acosh>(Op::acosh, {1, 100}),
    unary_math_record<math::atanh>(Op::atanh, {-0.99, 0.99}),
    unary_math_record<math::erf>(Op::erf, {-5, 5}),
    unary_math_record<math::erfc>(Op::erfc, {-5, 10}),
    unary_math_record<math::sigmoid>(Op::sigmoid, {-20, 20}),
    {.op = Op::atan2,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) { return math::atan2(c.s, c.x[0], c.x[1]); },
     .max_ulp = 2},
};

}  // namespace tokamak::rules
