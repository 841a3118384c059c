#pragma once

#include "ops/elementwise/scalar_code.h"
#include "ops/type_rules.h"

namespace tokamak::rules {

inline constexpr OpRecord kArithmetic[] = {
    {.op = Op::neg,
     .dtypes = DTypes::numbers,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       Expr x = scalar::operand(c, 0);
       return is_float(c.operand) ? -x : 0 - x;
     },
     .exact = true},
    {.op = Op::abs,
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       Expr x = scalar::operand(c, 0);
       if (is_float(c.operand)) return abs(x);
       return is_signed_integer(c.operand) ? select(x < 0, 0 - x, x) : x;
     },
     .exact = true},
    {.op = Op::sign,
     .dtypes = DTypes::numbers,
     .type = elementwise_type,
     .scalar = scalar::sign,
     .exact = true},
    {.op = Op::sqrt,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar { return sqrt(scalar::operand(c, 0)); },
     .test = {0, 100}},
    {.op = Op::add,
     .dtypes = DTypes::numbers,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) + scalar::operand(c, 1);
     }},
    {.op = Op::sub,
     .dtypes = DTypes::numbers,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) - scalar::operand(c, 1);
     }},
    {.op = Op::mul,
     .dtypes = DTypes::numbers,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) * scalar::operand(c, 1);
     }},
    {.op = Op::div,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) / scalar::operand(c, 1);
     }},
    {.op = Op::floor_div, .dtypes = DTypes::numbers, .type = elementwise_type, .scalar = scalar::floor_div},
    {.op = Op::mod, .dtypes = DTypes::numbers, .type = elementwise_type, .scalar = scalar::mod},
    {.op = Op::fmod, .dtypes = DTypes::numbers, .type = elementwise_type, .scalar = scalar::fmod},
    {.op = Op::pow,
     .dtypes = DTypes::numbers,
     .type = elementwise_type,
     .scalar = scalar::pow,
     .test = {0, 10},
     .max_ulp = 2},
    {.op = Op::hypot,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = scalar::hypot,
     .max_ulp = 1},
    {.op = Op::max,
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::maximum(c.operand, scalar::operand(c, 0), scalar::operand(c, 1));
     },
     .exact = true},
    {.op = Op::min,
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::minimum(c.operand, scalar::operand(c, 0), scalar::operand(c, 1));
     },
     .exact = true},
    {.op = Op::clamp,  // clamp(low, x, high) = min(max(x, low), high), so high wins over low
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       Expr raised = scalar::maximum(c.operand, scalar::operand(c, 1), scalar::operand(c, 0));
       return scalar::minimum(c.operand, raised, scalar::operand(c, 2));
     },
     .exact = true},
};

}  // namespace tokamak::rules
