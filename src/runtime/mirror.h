#pragma once

#include <cstddef>
#include <cstdint>

namespace tokamak {

/// Part of a matrix: rows [row, row_end), columns [column, column_end).
struct MatrixPart {
  int64_t row, row_end, column, column_end;
};

/// Copies what a part of a symmetric matrix has left of the diagonal to where the transpose has it. Rows lie
/// `row_bytes` apart, elements of a row, of 4 or 8 bytes, next to each other.
void mirror(std::byte* matrix, int64_t row_bytes, int64_t element_bytes, const MatrixPart& part);

}  // namespace tokamak
