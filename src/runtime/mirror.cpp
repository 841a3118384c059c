#include "runtime/mirror.h"

#include <algorithm>
#include <cstring>

#include "support/cpu.h"
#include "support/transpose_tile.h"

namespace tokamak {
namespace {

/// Of a part that the diagonal crosses, element by element.
template <class Element>
void mirror_crossed(std::byte* matrix, int64_t row_bytes, const MatrixPart& part) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Element));
  for (int64_t row = part.row; row < part.row_end; ++row) {
    const std::byte* from = matrix + row * row_bytes;
    const int64_t end = std::min(part.column_end, row);
    for (int64_t column = part.column; column < end; ++column)
      std::memcpy(matrix + column * row_bytes + row * kBytes, from + column * kBytes, kBytes);
  }
}

}  // namespace

void mirror(std::byte* matrix, int64_t row_bytes, int64_t element_bytes, const MatrixPart& part) {
  const int64_t left =
      std::clamp(part.row, part.column, part.column_end);  // columns before it are crossed by none
  auto at = [&](int64_t row, int64_t column) {
    return reinterpret_cast<char*>(matrix + row * row_bytes + column * element_bytes);
  };
  if (left > part.column)
    transpose_tile(element_bytes, current_cpu())(at(part.column, part.row), row_bytes,
                                                 at(part.row, part.column), row_bytes,
                                                 part.row_end - part.row, left - part.column);
  const MatrixPart crossed{part.row, part.row_end, left, part.column_end};
  if (element_bytes == 4) {
    mirror_crossed<uint32_t>(matrix, row_bytes, crossed);
  } else {
    mirror_crossed<uint64_t>(matrix, row_bytes, crossed);
  }
}

}  // namespace tokamak
