#pragma once

#include <cstdint>

#include "library/kernels.h"
#include "library/product.h"

namespace tokamak {

/// Where panels go: `lines` lines each, of elements of `element_bytes`, `panel_bytes` from one to the next.
struct PanelLayout {
  int lines;
  int element_bytes;
  int64_t panel_bytes;
};

/// Packs panels [first, last) of an operand, zeros where lines end or a bound forbids.
void pack_panels(const ProductOperand& operand, const PackKernels& kernels, const PanelLayout& layout,
                 int64_t first, int64_t last, void* packed);

/// How elements of a dtype lie in memory.
Stored stored_as(DType dtype);

}  // namespace tokamak
