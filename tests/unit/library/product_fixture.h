#pragma once

// Operands of any kind, memory that notices what is written past its end, and products checked everywhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "library/packed_method.h"
#include "library/product.h"
#include "library/product_reference.h"
#include "library/vector_method.h"

namespace tokamak {

using testing::dense;
using testing::elements_of;
using testing::Number;

inline std::vector<Cpu> runnable_cpus() {
  std::vector<Cpu> cpus;
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4", "native"}) {
    if (Cpu cpu = cpu_named(name); cpu.runs_here) cpus.push_back(cpu);
  }
  if (cpus.back().amx_bf16) {  // what it would do without
    cpus.push_back(cpus.back());
    cpus.back().amx_bf16 = false;
  }
  return cpus;
}

/// What a product of two dtypes may be computed in.
inline std::vector<ProductType> types_for(DType a, DType b, const Cpu& cpu) {
  std::vector<ProductType> types{product_type(a)};
  if (a == DType::bf16 && b == DType::bf16 && multiplies_bf16(cpu)) types.push_back(ProductType::bf16);
  return types;
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<unsigned char, Freed>;

/// Aligned as packing asks, and full of what is no number.
inline Memory aligned(int64_t bytes) {
  const size_t size = static_cast<size_t>((bytes + 127) / 64 * 64);
  Memory memory(static_cast<unsigned char*>(std::aligned_alloc(64, size)));
  std::memset(memory.get(), 0xff, size);
  return memory;
}

/// Packed panels; what is behind them must stay as it was.
struct Packed {
  Memory memory;

  Packed(const ProductMethod& method, const ProductOperand& operand, bool is_a) {
    const int64_t lines = is_a ? method.a_panel() : method.b_panel();
    const int64_t bytes = is_a ? method.a_panel_bytes() : method.b_panel_bytes();
    const int64_t panels = (elements_of(operand.lines) + lines - 1) / lines;
    memory = aligned(panels * bytes);
    (is_a ? pack_all_a : pack_all_b)(method, operand, panels, memory.get());
    for (int64_t i = 0; i < 64; ++i)
      EXPECT_EQ(memory.get()[panels * bytes + i], 0xff) << "wrote past the panels";
  }

  /// In two calls, the way several threads do it.
  static void pack_all_a(const ProductMethod& method, const ProductOperand& a, int64_t panels,
                         unsigned char* to) {
    method.pack_a(a, panels / 3, panels, to + panels / 3 * method.a_panel_bytes());
    method.pack_a(a, 0, panels / 3, to);
  }
  static void pack_all_b(const ProductMethod& method, const ProductOperand& b, int64_t panels,
                         unsigned char* to) {
    method.pack_b(b, panels / 3, panels, to + panels / 3 * method.b_panel_bytes());
    method.pack_b(b, 0, panels / 3, to);
  }
};

/// C, with two elements between its rows that must stay as they were.
struct Result {
  int64_t size;
  int64_t row_stride;
  std::vector<unsigned char> bytes;

  Result(ProductType type, int64_t rows, int64_t columns)
      : size(static_cast<int64_t>(size_of(sum_dtype_of(type)))),
        row_stride((columns + 2) * size),
        bytes(static_cast<size_t>(rows * row_stride + 16), 0xff) {}
  unsigned char* at(int64_t row, int64_t column) { return bytes.data() + row * row_stride + column * size; }
};

inline void multiply(const ProductMethod& method, const void* a, const void* b, int64_t rows, int64_t columns,
                     Result& c) {
  const Memory scratch = aligned(method.scratch_bytes());
  method.multiply(a, b, rows, columns, c.bytes.data(), c.row_stride, scratch.get());
}

inline void check(ProductType type, const ProductOperand& a, const ProductOperand& b, Result& c,
                  const std::string& what) {
  const std::vector<Number> lefts = dense(a);
  const std::vector<Number> rights = dense(b);
  const int64_t m = elements_of(a.lines);
  const int64_t n = elements_of(b.lines);
  const int64_t k = elements_of(a.contracted);
  const double rounding = sum_dtype_of(type) == DType::f32 ? 0x1p-24 : 0x1p-53;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const Number* left = lefts.data() + i * k;
      const Number* right = rights.data() + j * k;
      const Number got = testing::read(sum_dtype_of(type), c.at(i, j));
      if (type == ProductType::i32 || type == ProductType::i64) {
        uint64_t sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += left[l].integer * right[l].integer;
        const uint64_t mask = type == ProductType::i32 ? 0xffffffffu : ~uint64_t{0};
        ASSERT_EQ(got.integer & mask, sum & mask) << what << " at " << i << "," << j;
      } else {
        double sum = 0;
        double size = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += left[l].real * right[l].real;
          size += std::abs(left[l].real * right[l].real);
        }
        ASSERT_LE(std::abs(got.real - sum), (std::sqrt(static_cast<double>(k)) * 2 + 4) * rounding * size)
            << what << " at " << i << "," << j << ": " << got.real << " is not " << sum;
      }
    }
    for (int64_t e = 0; e < 2 * c.size; ++e)
      ASSERT_EQ(c.at(i, n)[e], 0xff) << what << ": wrote past row " << i;
  }
}

inline std::string describe(const ProductOperand& operand) {
  std::string text = std::string(name_of(operand.dtype)) + " lines";
  for (const ProductAxis& axis : operand.lines)
    text += " " + std::to_string(axis.extent) + ":" + std::to_string(axis.stride);
  text += " k";
  for (const ProductAxis& axis : operand.contracted) {
    text += " " + std::to_string(axis.extent) + ":" + std::to_string(axis.stride);
  }
  return text;
}

/// The product of a single row, with the operands where they lie, in two parts.
inline void check_in_place(ProductType type, const ProductOperand& a, const ProductOperand& b,
                           const Cpu& cpu) {
  const int64_t n = elements_of(b.lines);
  const auto method = vector_method(type, elements_of(a.contracted), cpu);
  ASSERT_TRUE(method->reads_in_place());
  const Memory scratch = aligned(method->scratch_bytes());
  Result c(type, 1, n);
  const int64_t half = n / 2;
  method->multiply_in_place(a, b, 0, half, c.at(0, 0), scratch.get());
  method->multiply_in_place(a, b, half, n - half, c.at(0, half), scratch.get());
  check(type, a, b, c, cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b));
}

/// The same bits when B is read as windows, where it is any, all of it and from the middle on.
inline void check_windows(const ProductMethod& method, const ProductOperand& b, const void* packed_a,
                          const unsigned char* packed_b, ProductType type, int64_t m, int64_t n,
                          const std::string& what) {
  const int64_t panel = method.b_panel();
  for (int64_t first : {int64_t{0}, n / panel / 2 * panel}) {
    const int64_t columns = n - first;
    const int64_t bytes = method.window_bytes(b, columns);
    if (bytes == 0) return;
    const Memory room = aligned(bytes);
    method.pack_windows(b, first, columns, room.get());
    for (int64_t i = 0; i < 64; ++i)
      ASSERT_EQ(room.get()[bytes + i], 0xff) << what << ": wrote past the strip";
    Result wanted(type, m, columns);
    multiply(method, packed_a, packed_b + first / panel * method.b_panel_bytes(), m, columns, wanted);
    Result c(type, m, columns);
    method.multiply_windows(packed_a, b, room.get(), first, m, columns, c.bytes.data(), c.row_stride);
    ASSERT_EQ(c.bytes, wanted.bytes) << what << ", windows from " << first;
  }
}

inline void check_computed_in(ProductType type, const ProductOperand& a, const ProductOperand& b,
                              const Cpu& cpu) {
  const int64_t m = elements_of(a.lines);
  const int64_t n = elements_of(b.lines);
  const auto method = packed_method(type, m, n, elements_of(a.contracted), cpu);
  const Packed packed_a(*method, a, true);
  const Packed packed_b(*method, b, false);
  Result c(type, m, n);
  multiply(*method, packed_a.memory.get(), packed_b.memory.get(), m, n, c);
  const std::string what = cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b);
  check(type, a, b, c, what);
  check_windows(*method, b, packed_a.memory.get(), packed_b.memory.get(), type, m, n, what);
  if (m == 1 && (type == ProductType::f32 || type == ProductType::f64)) check_in_place(type, a, b, cpu);
}

/// Packs, multiplies and compares on every processor level of this machine.
inline void check_everywhere(const ProductOperand& a, const ProductOperand& b) {
  for (const Cpu& cpu : runnable_cpus()) {
    for (ProductType type : types_for(a.dtype, b.dtype, cpu)) {
      check_computed_in(type, a, b, cpu);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Memory for the operands of a test.
class Product : public ::testing::Test {
 protected:
  /// Random elements at positions [0, count).
  const unsigned char* elements(DType dtype, int64_t count) {
    auto& bytes = arrays_.emplace_back(static_cast<size_t>(count + 1) * size_of(dtype));
    testing::fill(dtype, bytes.data(), count, random_);
    return bytes.data();
  }

  /// An array whose axes have `extents`, laid out in `order` (the first is outermost), negative where told.
  /// The first `lines` axes are lines.
  ProductOperand operand(DType dtype, const std::vector<int64_t>& extents, size_t lines,
                         std::vector<size_t> order, const std::vector<bool>& backwards = {},
                         int64_t gap = 0) {
    ProductOperand made{.dtype = dtype, .data = nullptr, .lines = {}, .contracted = {}, .bounds = {}};
    std::vector<int64_t> strides(extents.size());
    int64_t distance = static_cast<int64_t>(size_of(dtype));
    int64_t start = 0;
    std::reverse(order.begin(), order.end());
    for (size_t axis : order) {
      const bool negative = axis < backwards.size() && backwards[axis];
      strides[axis] = negative ? -distance : distance;
      if (negative) start += distance * std::max<int64_t>(extents[axis] - 1, 0);
      distance *= std::max<int64_t>(extents[axis], 1) + gap;
    }
    made.data = elements(dtype, distance / static_cast<int64_t>(size_of(dtype))) + start;
    for (size_t i = 0; i < extents.size(); ++i)
      (i < lines ? made.lines : made.contracted).push_back({extents[i], strides[i]});
    return made;
  }

  ProductOperand matrix(DType dtype, int64_t lines, int64_t k, bool k_is_inner) {
    return operand(dtype, {lines, k}, 1, k_is_inner ? std::vector<size_t>{0, 1} : std::vector<size_t>{1, 0});
  }

  std::mt19937 random_{20240611};

 private:
  std::vector<std::vector<unsigned char>> arrays_;
};

struct Window {
  int64_t size, kernel, stride, dilation, padding;
  int64_t positions() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// What a convolution contracts: lines (image, y, x), k (channel, ky, kx) in that order or with channels
/// last.
inline ProductOperand windows(DType dtype, const unsigned char* data, int64_t images, int64_t channels,
                              const Window& y, const Window& x, bool channels_last) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t along_x = channels_last ? channels * size : size;
  const int64_t along_y = x.size * along_x;
  const int64_t along_channel = channels_last ? size : y.size * x.size * size;
  const int64_t along_image = channels * y.size * x.size * size;
  ProductOperand made;
  made.dtype = dtype;
  made.data = data - y.padding * along_y - x.padding * along_x;
  made.lines = {
      {images, along_image}, {y.positions(), along_y * y.stride}, {x.positions(), along_x * x.stride}};
  const ProductAxis channel{channels, along_channel};
  const ProductAxis ky{y.kernel, along_y * y.dilation};
  const ProductAxis kx{x.kernel, along_x * x.dilation};
  if (channels_last) {
    made.contracted = {ky, kx, channel};
    made.bounds = {{-y.padding, {0, y.stride, 0, y.dilation, 0, 0}, y.size},
                   {-x.padding, {0, 0, x.stride, 0, x.dilation, 0}, x.size}};
  } else {
    made.contracted = {channel, ky, kx};
    made.bounds = {{-y.padding, {0, y.stride, 0, 0, y.dilation, 0}, y.size},
                   {-x.padding, {0, 0, x.stride, 0, 0, x.dilation}, x.size}};
  }
  return made;
}

constexpr Window kWindows[] = {{9, 3, 1, 1, 1},  {20, 3, 1, 1, 1}, {56, 3, 1, 1, 1}, {7, 3, 2, 1, 1},
                               {30, 7, 2, 1, 3}, {12, 3, 1, 2, 2}, {11, 2, 3, 2, 4}, {40, 1, 1, 1, 0},
                               {5, 5, 1, 1, 4},  {1, 1, 1, 1, 2},  {13, 4, 5, 1, 9}, {33, 3, 1, 16, 16},
                               {1, 3, 1, 1, 1},  {16, 3, 1, 1, 1}, {18, 3, 1, 1, 0}, {24, 5, 1, 2, 4}};

}  // namespace tokamak
