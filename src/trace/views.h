#pragma once

#include <optional>
#include <vector>

#include "ir/attributes.h"
#include "ir/op.h"
#include "tokamak/array.h"
#include "trace/array_impl.h"

namespace tokamak {

/// The result of a view op (broadcast, reshape, transpose, slice, reverse, window) of type `result` over the
/// same memory. A reshape that strides cannot express is made over a dense copy.
Array view_of(Op op, const Array& operand, const Attributes& attributes, TensorType result);

/// The byte strides that show `from` as `to`; nullopt when only a copy can.
std::optional<std::vector<int64_t>> reshaped_strides(const TensorType& from,
                                                     const std::vector<int64_t>& strides,
                                                     const TensorType& to);

}  // namespace tokamak
