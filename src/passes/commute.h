#pragma once

#include "ir/op.h"
#include "tokamak/types.h"

namespace tokamak {

/// Whether swapping the two operands gives the same bits (a NaN may carry another payload).
/// max and min of floats do not commute: of 0.0 and -0.0, which are equal, they take one by its place.
bool commutes(Op op, DType operand);

}  // namespace tokamak
