#pragma once

#include "ops/record.h"

namespace tokamak::rules {

TensorType parameter(const TypeContext& context);
TensorType constant(const TypeContext& context);
TensorType iota(const TypeContext& context);

inline constexpr OpRecord kSources[] = {
    {.op = Op::parameter, .dtypes = DTypes::any, .type = parameter},
    {.op = Op::constant, .dtypes = DTypes::any, .type = constant, .attributes = attr_set({Attr::value})},
    {.op = Op::iota,
     .dtypes = DTypes::numbers,
     .type = iota,
     .attributes = attr_set({Attr::axis, Attr::dtype, Attr::shape})},
};

}  // namespace tokamak::rules
