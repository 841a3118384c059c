#pragma once

#include "ops/elementwise/scalar_code.h"
#include "ops/type_rules.h"

namespace tokamak::rules {

/// select(bool, x, x): the branches share a dtype, all three broadcast.
TensorType select_type(const TypeContext& context);

inline constexpr OpRecord kComparisons[] = {
    {.op = Op::eq,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) == scalar::operand(c, 1);
     }},
    {.op = Op::ne,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) != scalar::operand(c, 1);
     }},
    {.op = Op::lt,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::less(c.operand, scalar::operand(c, 0), scalar::operand(c, 1));
     }},
    {.op = Op::le,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::less_equal(c.operand, scalar::operand(c, 0), scalar::operand(c, 1));
     }},
    {.op = Op::gt,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::less(c.operand, scalar::operand(c, 1), scalar::operand(c, 0));
     }},
    {.op = Op::ge,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::less_equal(c.operand, scalar::operand(c, 1), scalar::operand(c, 0));
     }},
    {.op = Op::select,
     .dtypes = DTypes::any,
     .type = select_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return select(scalar::operand(c, 0), scalar::operand(c, 1), scalar::operand(c, 2));
     },
     .exact = true},
};

}  // namespace tokamak::rules
