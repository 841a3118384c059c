#pragma once

#include <cstdint>

#include "support/cpu.h"

namespace tokamak {

/// Part of a matrix, transposed: element (i, j) of `from` goes to (j, i) of `to`. Rows lie `stride` bytes
/// apart, elements of a row next to each other. Neither needs to be aligned; they do not overlap.
using TransposeFunction = void (*)(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                                   int64_t rows, int64_t columns);

/// The fastest on this processor for elements of 1, 2, 4 or 8 bytes.
TransposeFunction transpose_tile(int64_t element_bytes, const Cpu& cpu);

}  // namespace tokamak
