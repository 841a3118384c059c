#pragma once

// Operands of products that are windows over an array, which methods can read better than one by one.

#include <optional>

#include "fusion/product.h"
#include "library/product.h"

namespace tokamak {

/// Whether an operand is windows that slide over an array, in runs of multiples of `unit`: lines and what is
/// contracted share an axis of it.
bool are_windows(const OperandRead& read, int64_t unit);

/// Windows of 3x3 that slide in steps of one over rows and columns of a picture with channels, padded or not.
///   lines [56, 56], contracted [64, 3, 3], position of row y and window i in bounds and memory: y + i
///   =>  height 56, width 56, 64 channels
std::optional<WindowedPicture> windowed_picture(const OperandRead& read);

}  // namespace tokamak
