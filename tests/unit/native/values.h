#pragma once

// What the elements of test arguments are.

#include <cstdint>
#include <random>
#include <vector>

#include "ir/tensor.h"
#include "ops/record.h"

namespace tokamak::testing {

/// Numbers where things go wrong: zeros, ones, extremes, what borders on them, and for floats infinities,
/// NaN, subnormals, ties and large whole numbers.
std::vector<Tensor> special_values(DType dtype);

/// Drawn from the range, a quarter of them special.
Tensor mixed_tensor(const TensorType& type, TestRange range, std::mt19937& random);
/// Drawn from the range.
Tensor plain_tensor(const TensorType& type, TestRange range, std::mt19937& random);
/// Integers from low to high.
Tensor index_tensor(const TensorType& type, int64_t low, int64_t high, std::mt19937& random);

/// Every value of a dtype of one or two bytes.
Tensor all_values(DType dtype);
/// Operands that meet in every pair (or triple) of special values; for dtypes of one byte and two operands,
/// in every pair of values.
std::vector<Tensor> meeting_values(DType dtype, size_t operands);

}  // namespace tokamak::testing
