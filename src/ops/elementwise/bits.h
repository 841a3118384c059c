#pragma once

#include "ops/elementwise/scalar_code.h"
#include "ops/type_rules.h"

namespace tokamak::rules {

TensorType popcount_type(const TypeContext& context);

inline constexpr OpRecord kBits[] = {
    {.op = Op::bit_not,
     .dtypes = DTypes::integers_and_bool,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar { return scalar::operand(c, 0) ^ -1; }},
    {.op = Op::bit_and,
     .dtypes = DTypes::integers_and_bool,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) & scalar::operand(c, 1);
     }},
    {.op = Op::bit_or,
     .dtypes = DTypes::integers_and_bool,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) | scalar::operand(c, 1);
     }},
    {.op = Op::bit_xor,
     .dtypes = DTypes::integers_and_bool,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return scalar::operand(c, 0) ^ scalar::operand(c, 1);
     }},
    // A shift by the width or more, or by a negative amount, shifts everything out.
    {.op = Op::shift_left,
     .dtypes = DTypes::integers,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       Expr x = scalar::operand(c, 0);
       Expr amount = scalar::operand(c, 1);
       Expr fits = expr_detail::apply(Prim::ult, amount, constant(amount, bits_of(amount.lane())));
       return select(fits, x << select(fits, amount, 0), 0);
     },
     .test = {0, 10}},
    {.op = Op::shift_right,
     .dtypes = DTypes::integers,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       Expr x = scalar::operand(c, 0);
       Expr amount = scalar::operand(c, 1);
       const int width = bits_of(amount.lane());
       Expr fits = expr_detail::apply(Prim::ult, amount, constant(amount, width));
       Expr safe = select(fits, amount, width - 1);
       if (is_signed_integer(c.operand)) return expr_detail::apply(Prim::iashr, x, safe);
       return select(fits, x >> safe, 0);
     },
     .test = {0, 10}},
    // NumPy counts the bits of the absolute value.
    {.op = Op::popcount,
     .dtypes = DTypes::integers_and_bool,
     .type = popcount_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       Expr x = scalar::operand(c, 0);
       if (c.operand == DType::boolean) return cast(Cast::zext, x, Lane::i8);
       if (is_signed_integer(c.operand)) x = select(x < 0, 0 - x, x);
       Expr count = expr_detail::apply(Prim::popcount, x);
       return count.lane() == Lane::i8 ? count : cast(Cast::trunc, count, Lane::i8);
     }},
};

}  // namespace tokamak::rules
