#pragma once

#include "ops/record.h"

namespace tokamak::rules {

TensorType broadcast(const TypeContext& context);
TensorType reshape(const TypeContext& context);
TensorType transpose(const TypeContext& context);
TensorType slice(const TypeContext& context);
TensorType reverse(const TypeContext& context);
TensorType window(const TypeContext& context);

inline constexpr OpRecord kViews[] = {
    {.op = Op::broadcast, .dtypes = DTypes::any, .type = broadcast, .attributes = attr_set({Attr::shape})},
    {.op = Op::reshape, .dtypes = DTypes::any, .type = reshape, .attributes = attr_set({Attr::shape})},
    {.op = Op::transpose,
     .dtypes = DTypes::any,
     .type = transpose,
     .attributes = attr_set({Attr::permutation})},
    {.op = Op::slice,
     .dtypes = DTypes::any,
     .type = slice,
     .attributes = attr_set({Attr::starts, Attr::limits, Attr::steps})},
    {.op = Op::reverse, .dtypes = DTypes::any, .type = reverse, .attributes = attr_set({Attr::axes})},
    {.op = Op::window,
     .dtypes = DTypes::any,
     .type = window,
     .attributes = attr_set({Attr::axes, Attr::sizes, Attr::steps, Attr::dilations})},
};

}  // namespace tokamak::rules
