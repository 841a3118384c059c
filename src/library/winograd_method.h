#pragma once

#include <memory>

#include "library/product.h"

namespace tokamak {

/// Convolution with windows of 3x3 by Winograd's minimal filtering F(2x2, 3x3): four neighbouring results at
/// a time, from 16 products of every channel instead of 36.
///
/// In one dimension, two sums y of three weights w over four numbers d:
///   m0 = (d0 - d2) * w0                    y0 = m0 + (m1 + m2) / 2 = d0 w0 + d1 w1 + d2 w2
///   m1 = (d1 + d2) * (w0 + w1 + w2)        y1 = (m1 - m2) / 2 - m3 = d1 w0 + d2 w1 + d3 w2
///   m2 = (d2 - d1) * (w0 - w1 + w2)
///   m3 = (d1 - d3) * w2
/// In two, both rows and columns are transformed like this: a tile of 2x2 results has 4x4 numbers d, and as
/// many m. Each m summed over channels is a product of matrices: transformed weights [rows, channels] by
/// transformed pictures [channels, tiles], 16 of them.
///
/// Where the numbers are small integers, nothing is rounded, as in the sum that this replaces. Otherwise the
/// error is of the size of its: relative to the largest weights and numbers of the window. A result depends
/// on its own window only. What is infinite or overflows on the way gives results that are not finite; rows
/// of tiles that have one are computed again by plain sums.
///
/// The lines of B are the positions [height, width] of the window, and its last two contracted axes go over
/// the window in the same steps (of memory, and of bounds, of which there are no others). Those before are
/// channels. A panel of B is a row of tiles; it is read where it lies, by multiply_windows alone.
std::unique_ptr<ProductMethod> winograd_method(ProductType type, int64_t rows, const WindowedPicture& picture,
                                               const Cpu& cpu);

}  // namespace tokamak
