#pragma once

#include "ops/record.h"

namespace tokamak::rules {

TensorType reduce(const TypeContext& context);
/// The same for reductions without a neutral element: fails when there is nothing to reduce.
TensorType reduce_nonempty(const TypeContext& context);
TensorType arg_reduce(const TypeContext& context);

inline constexpr AttrSet kAxes = attr_set({Attr::axes});

inline constexpr OpRecord kReductions[] = {
    {.op = Op::reduce_sum, .dtypes = DTypes::numbers, .type = reduce, .attributes = kAxes},
    {.op = Op::reduce_prod,
     .dtypes = DTypes::numbers,
     .type = reduce,
     .test = {0.5, 1.5},
     .attributes = kAxes},
    {.op = Op::reduce_max,
     .dtypes = DTypes::any,
     .type = reduce_nonempty,
     .attributes = kAxes,
     .exact = true},
    {.op = Op::reduce_min,
     .dtypes = DTypes::any,
     .type = reduce_nonempty,
     .attributes = kAxes,
     .exact = true},
    {.op = Op::reduce_any, .dtypes = DTypes::boolean, .type = reduce, .attributes = kAxes, .exact = true},
    {.op = Op::reduce_all, .dtypes = DTypes::boolean, .type = reduce, .attributes = kAxes, .exact = true},
    {.op = Op::argmax,
     .dtypes = DTypes::any,
     .type = arg_reduce,
     .attributes = attr_set({Attr::axis}),
     .exact = true},
    {.op = Op::argmin,
     .dtypes = DTypes::any,
     .type = arg_reduce,
     .attributes = attr_set({Attr::axis}),
     .exact = true},
};

}  // namespace tokamak::rules
