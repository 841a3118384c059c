#pragma once

#include <string>

#include "ir/attributes.h"
#include "ir/op.h"
#include "ir/tensor.h"

namespace tokamak::testing {

/// Says which element of a float reduce_sum or reduce_prod is farther from the exact result than pairwise
/// summation (for products: any order of multiplying) may be, or nothing. NaNs and infinities must be those
/// of the exact result.
std::string compare_fold(const Tensor& found, const Tensor& operand, Op op, const Ints& axes);

}  // namespace tokamak::testing
