#pragma once

// How an operand of a product lies in memory, as far as that decides how it is read.

#include "driver/product_kernel.h"

namespace tokamak {

/// Whether an operand needs no conversion to what is computed in, and has one axis of lines and one of k at
/// most.
bool is_matrix(const CompiledOperand& operand, DType computed_in);

/// Whether neighbours along the one of these axes that moves are neighbours in memory. The operand reads an
/// array of the type and the layout.
bool are_neighbours(const std::vector<OperandRead::Axis>& axes, const TensorType& type, const Layout& layout);

}  // namespace tokamak
