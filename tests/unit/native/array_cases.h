#pragma once

#include <random>
#include <vector>

#include "native/check.h"

namespace tokamak::testing {

/// Applications of an op that is not element-wise to elements of `dtype`: every kind of shape and attribute
/// it has. The first one is the plainest.
std::vector<Case> array_cases(Op op, DType dtype, std::mt19937& random);

}  // namespace tokamak::testing
