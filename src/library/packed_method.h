#pragma once

#include <memory>

#include "library/kernels.h"
#include "library/product.h"

namespace tokamak {

/// The loops for a processor.
const ProductKernels& kernels_for(ProductType type, const Cpu& cpu);

/// How many elements of k are summed before they are added to the sum of those before.
int64_t k_block_for(int64_t k, const ProductKernels& kernels, const Cpu& cpu);

/// Products by the loops of kernels.h, for any type, shape and processor.
std::unique_ptr<ProductMethod> packed_method(ProductType type, int64_t rows, int64_t columns, int64_t k,
                                             const Cpu& cpu);

}  // namespace tokamak
