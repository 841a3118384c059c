#pragma once

#include "ir/graph.h"
#include "ops/contract.h"

namespace tokamak {

/// The product of two operands in the other order than `attributes` are for.
Value add_swapped_dot(Graph& graph, Value lhs, Value rhs, const Attributes& attributes,
                      const SourceLocation& where);

/// The permutation that takes the result of a product with these axes to that of the swapped one.
Ints to_swapped(const DotAxes& axes);
/// And back.
Ints from_swapped(const DotAxes& axes);

}  // namespace tokamak
