#pragma once

// Results against true values, block by block.

#include <span>

#include "math/ulp.h"

namespace tokamak::exhaustive {

/// The errors of results of a format with at most 32 bits, as test::ulp_error has them, where the true values
/// are known as doubles; and the largest of them.
double errors_in_ulp(const test::FloatShape& shape, std::span<const double> results,
                     std::span<const double> wanted, std::span<double> errors);

/// How many results differ. All NaNs are alike, zeros of different signs are not.
size_t count_different(std::span<const double> results, std::span<const double> wanted);
bool is_different(double result, double wanted);

}  // namespace tokamak::exhaustive
