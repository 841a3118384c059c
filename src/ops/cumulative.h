#pragma once

#include "ops/record.h"

namespace tokamak::rules {

TensorType cumulative(const TypeContext& context);

inline constexpr AttrSet kAxis = attr_set({Attr::axis});

inline constexpr OpRecord kCumulative[] = {
    {.op = Op::cumsum, .dtypes = DTypes::numbers, .type = cumulative, .attributes = kAxis},
    {.op = Op::cumprod,
     .dtypes = DTypes::numbers,
     .type = cumulative,
     .test = {0.5, 1.5},
     .attributes = kAxis},
    {.op = Op::cummax, .dtypes = DTypes::any, .type = cumulative, .attributes = kAxis, .exact = true},
    {.op = Op::cummin, .dtypes = DTypes::any, .type = cumulative, .attributes = kAxis, .exact = true},
};

}  // namespace tokamak::rules
