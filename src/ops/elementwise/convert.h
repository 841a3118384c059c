#pragma once

#include "ops/elementwise/scalar_code.h"

namespace tokamak::rules {

TensorType convert_type(const TypeContext& context);
TensorType bitcast_type(const TypeContext& context);

inline constexpr OpRecord kConversions[] = {
    {.op = Op::convert,
     .dtypes = DTypes::any,
     .type = convert_type,
     .scalar = scalar::convert,
     .attributes = attr_set({Attr::dtype}),
     .exact = true},     // rounds by itself, once
    {.op = Op::bitcast,  // the same bits as another dtype
     .dtypes = DTypes::any,
     .type = bitcast_type,
     .scalar = scalar::bitcast,
     .attributes = attr_set({Attr::dtype}),
     .exact = true},
};

}  // namespace tokamak::rules
