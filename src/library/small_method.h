#pragma once

#include <memory>

#include "library/product.h"

namespace tokamak {

/// Small products, of operands that stay in the first cache: see ProductMethod::multiply_batch.
std::unique_ptr<ProductMethod> small_method(ProductType type, const Cpu& cpu);

}  // namespace tokamak
