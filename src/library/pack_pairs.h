#pragma once

#include "library/pack.h"

namespace tokamak {

/// As pack_panels, of an operand of bf16 whose steps of k are pairs of elements: see PairKernels.
void pack_pairs(const ProductOperand& operand, const ProductKernels& kernels, const PanelLayout& layout,
                int64_t first, int64_t last, void* packed);

}  // namespace tokamak
