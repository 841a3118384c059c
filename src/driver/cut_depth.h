#pragma once

#include "driver/product_kernel.h"

namespace tokamak {

/// Lets a deep product whose sums are its result, or may lie there, be packed and multiplied a part of k at a
/// time: one after the other where the operands are too large for the last cache, or what is packed ahead for
/// the second; and in chunks that threads sum side by side where the result is small beside them. All depend
/// on nothing but the shape and the processor.
void cut_depth(CompiledProduct& product, bool sums_fit_result, const Cpu& cpu);

}  // namespace tokamak
