#pragma once

// Rounding, classification and the sign of floats.

#include <limits>

#include "ops/elementwise/scalar_code.h"
#include "ops/type_rules.h"

namespace tokamak::rules {

/// Integers and bools are whole already.
template <Prim kPrim>
Scalar round_with(const ScalarContext& c) {
  return is_float(c.operand) ? c.s.prim(kPrim, {c.x[0]}) : c.x[0];
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline constexpr OpRecord kFloatParts[] = {
    {.op = Op::floor,
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = round_with<Prim::ffloor>,
     .exact = true},
    {.op = Op::ceil,
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = round_with<Prim::fceil>,
     .exact = true},
    {.op = Op::trunc,
     .dtypes = DTypes::any,
     .type = elementwise_type,
     .scalar = round_with<Prim::ftrunc>,
     .exact = true},
    {.op = Op::round,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = round_with<Prim::fround_even>,
     .exact = true},
    {.op = Op::is_nan,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       if (!is_float(c.operand)) return c.s.constant_bits(Lane::i1, 0);
       return is_nan(scalar::operand(c, 0));
     }},
    {.op = Op::is_inf,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       if (!is_float(c.operand)) return c.s.constant_bits(Lane::i1, 0);
       return abs(scalar::operand(c, 0)) == kInfinity;
     }},
    {.op = Op::is_finite,
     .dtypes = DTypes::any,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       if (!is_float(c.operand)) return c.s.constant_bits(Lane::i1, 1);
       return abs(scalar::operand(c, 0)) < kInfinity;
     }},
    {.op = Op::sign_bit,
     .dtypes = DTypes::floats,
     .type = predicate_type,
     .scalar = [](const ScalarContext& c) -> Scalar { return bits(scalar::operand(c, 0)) < 0; }},
    {.op = Op::copysign,
     .dtypes = DTypes::floats,
     .type = elementwise_type,
     .scalar = [](const ScalarContext& c) -> Scalar {
       return copysign(scalar::operand(c, 0), scalar::operand(c, 1));
     },
     .exact = true},
    // Not exact: the step above the largest f16 is an f32 that rounds to infinity.
    {.op = Op::nextafter, .dtypes = DTypes::floats, .type = elementwise_type, .scalar = scalar::nextafter},
};

}  // namespace tokamak::rules
