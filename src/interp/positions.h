#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tokamak/types.h"

namespace tokamak {

using Positions = std::vector<int64_t>;

/// Row-major strides of a dense array, in elements.
std::vector<int64_t> dense_strides(std::span<const int64_t> shape);

/// base + sum of index[i] * strides[i], for all indices of `shape` in row-major order.
Positions strided_positions(std::span<const int64_t> shape, std::span<const int64_t> strides,
                            int64_t base = 0);

/// Where each element of `result` comes from in a dense array of `shape` that is broadcast to it.
Positions broadcast_positions(std::span<const int64_t> shape, std::span<const int64_t> result);

}  // namespace tokamak
