#pragma once

#include "driver/product_kernel.h"

namespace tokamak {

/// Lets a deep product whose sums are its result be packed and multiplied a part of k at a time: one after
/// the other where the operands are too large for the last cache, and in chunks that threads sum side by side
/// where the result is small beside them. Both depend on nothing but the shape and the processor.
void cut_depth(CompiledProduct& product, const Cpu& cpu);

}  // namespace tokamak
