#pragma once

#include <memory>

#include "library/product.h"

namespace tokamak {

/// Products of a vector and a matrix of floats, which is read once, where it lies.
std::unique_ptr<ProductMethod> vector_method(ProductType type, int64_t k, const Cpu& cpu);

}  // namespace tokamak
