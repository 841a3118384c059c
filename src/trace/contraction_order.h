#pragma once

#include <bitset>
#include <cstddef>
#include <utility>
#include <vector>

namespace tokamak {

/// The most names an einsum can have: 52 letters and the axes of an ellipsis.
constexpr size_t kMaxNames = 128;
using NameSet = std::bitset<kMaxNames>;

/// In which order to multiply more than two operands. Step i multiplies two operands that are still there and
/// makes operand `operands.size() + i`, which keeps the names that `kept` or another operand has.
///
/// The order with the fewest multiplications for up to eight operands; beyond, each step is the one that
/// shrinks the operands most.
std::vector<std::pair<size_t, size_t>> contraction_order(const std::vector<NameSet>& operands,
                                                         const NameSet& kept,
                                                         const std::vector<int64_t>& extents);

}  // namespace tokamak
