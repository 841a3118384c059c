#include "ops/elementwise/bits.h"

namespace tokamak::rules {

TensorType popcount_type(const TypeContext& context) { return {DType::u8, elementwise_type(context).shape}; }

}  // namespace tokamak::rules
