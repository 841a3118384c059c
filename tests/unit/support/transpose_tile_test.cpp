#include "support/transpose_tile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tokamak {
namespace {

/// Every size up to a few squares and what is left over, with gaps between rows that must not be touched.
TEST(TransposeTile, TurnsEveryShapeAround) {
  for (const char* level : {"x86-64", "x86-64-v3"}) {
    const Cpu cpu = cpu_named(level);
    if (!cpu.runs_here) continue;
    for (int64_t bytes : {1, 2, 4, 8}) {
      for (int64_t rows = 0; rows < 20; ++rows) {
        for (int64_t columns = 0; columns < 20; ++columns) {
          const int64_t from_stride = bytes * columns + 3;
          const int64_t to_stride = bytes * rows + 5;
          std::vector<char> from(static_cast<size_t>(from_stride * rows + 1));
          std::vector<char> to(static_cast<size_t>(to_stride * columns + 1), 77);
          for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 31 + 7);
          std::vector<char> expected = to;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j)
              std::memcpy(&expected[static_cast<size_t>(j * to_stride + i * bytes)],
                          &from[static_cast<size_t>(i * from_stride + j * bytes)],
                          static_cast<size_t>(bytes));
          }
          transpose_tile(bytes, cpu)(to.data(), to_stride, from.data(), from_stride, rows, columns);
          ASSERT_EQ(to, expected) << level << ": " << rows << " x " << columns << " of " << bytes << " bytes";
        }
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
