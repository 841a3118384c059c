#pragma once

#include "ops/record.h"

namespace tokamak::rules {

TensorType sort(const TypeContext& context);
TensorType argsort(const TypeContext& context);

inline constexpr OpRecord kSorting[] = {
    {.op = Op::sort,
     .dtypes = DTypes::any,
     .type = sort,
     .attributes = attr_set({Attr::axis}),
     .exact = true},
    {.op = Op::argsort, .dtypes = DTypes::any, .type = argsort, .attributes = attr_set({Attr::axis})},
};

}  // namespace tokamak::rules
