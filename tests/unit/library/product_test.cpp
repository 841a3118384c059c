#include "library/product.h"
#include "library/packed_method.h"
#include "library/vector_method.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "library/product_reference.h"

namespace tokamak {
namespace {

using testing::dense;
using testing::elements_of;
using testing::Number;

std::vector<Cpu> runnable_cpus() {
  std::vector<Cpu> cpus;
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4", "native"}) {
    if (Cpu cpu = cpu_named(name); cpu.runs_here) cpus.push_back(cpu);
  }
  return cpus;
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<unsigned char, Freed>;

/// Aligned as packing asks, and full of what is no number.
Memory aligned(int64_t bytes) {
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
      : size(static_cast<int64_t>(size_of(dtype_of(type)))),
        row_stride((columns + 2) * size),
        bytes(static_cast<size_t>(rows * row_stride + 16), 0xff) {}
  unsigned char* at(int64_t row, int64_t column) { return bytes.data() + row * row_stride + column * size; }
};

void multiply(const ProductMethod& method, const void* a, const void* b, int64_t rows, int64_t columns,
              Result& c) {
  const Memory scratch = aligned(method.scratch_bytes());
  method.multiply(a, b, rows, columns, c.bytes.data(), c.row_stride, scratch.get());
}

void check(ProductType type, const ProductOperand& a, const ProductOperand& b, Result& c,
           const std::string& what) {
  const std::vector<Number> lefts = dense(a);
  const std::vector<Number> rights = dense(b);
  const int64_t m = elements_of(a.lines);
  const int64_t n = elements_of(b.lines);
  const int64_t k = elements_of(a.contracted);
  const double rounding = type == ProductType::f32 ? 0x1p-24 : 0x1p-53;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const Number* left = lefts.data() + i * k;
      const Number* right = rights.data() + j * k;
      const Number got = testing::read(dtype_of(type), c.at(i, j));
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

std::string describe(const ProductOperand& operand) {
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
void check_in_place(ProductType type, const ProductOperand& a, const ProductOperand& b, const Cpu& cpu) {
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

/// Packs, multiplies and compares on every processor level of this machine.
void check_everywhere(const ProductOperand& a, const ProductOperand& b) {
  const ProductType type = product_type(a.dtype);
  const int64_t m = elements_of(a.lines);
  const int64_t n = elements_of(b.lines);
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = packed_method(type, m, n, elements_of(a.contracted), cpu);
    const Packed packed_a(*method, a, true);
    const Packed packed_b(*method, b, false);
    Result c(type, m, n);
    multiply(*method, packed_a.memory.get(), packed_b.memory.get(), m, n, c);
    check(type, a, b, c, cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b));
    if (m == 1 && (type == ProductType::f32 || type == ProductType::f64)) check_in_place(type, a, b, cpu);
    if (::testing::Test::HasFatalFailure()) return;
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

constexpr int64_t kSizes[] = {0, 1, 2, 5, 6, 7, 15, 16, 17, 31, 64, 100, 257};

TEST_F(Product, OfAllSizesInF32) {
  bool k_is_inner = false;
  for (int64_t m : kSizes) {
    for (int64_t n : kSizes) {
      for (int64_t k : kSizes) {
        k_is_inner = !k_is_inner;
        check_everywhere(matrix(DType::f32, m, k, k_is_inner), matrix(DType::f32, n, k, m % 2 == 0));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Product, OfAllDTypes) {
  for (DType dtype : kAllDTypes) {
    for (int i = 0; i < 60; ++i) {
      auto size = [&] { return kSizes[random_() % std::size(kSizes)]; };
      const int64_t k = size();
      check_everywhere(matrix(dtype, size(), k, random_() % 2 == 0),
                       matrix(dtype, size(), k, random_() % 2 == 0));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Product, OfDTypesThatComputeAlike) {
  check_everywhere(matrix(DType::bf16, 17, 40, true), matrix(DType::f32, 33, 40, false));
  check_everywhere(matrix(DType::f32, 17, 40, true), matrix(DType::f16, 33, 40, true));
  check_everywhere(matrix(DType::boolean, 17, 40, true), matrix(DType::i32, 33, 40, true));
  check_everywhere(matrix(DType::u64, 17, 40, true), matrix(DType::i64, 33, 40, true));
}

TEST_F(Product, OverManyK) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64}) {
    for (int64_t k : {383, 384, 385, 511, 512, 513, 1000, 1025, 5000}) {
      check_everywhere(matrix(dtype, 13, k, true), matrix(dtype, 35, k, false));
      check_everywhere(matrix(dtype, 35, k, false), matrix(dtype, 3, k, true));
    }
  }
}

TEST_F(Product, ThroughAnyStrides) {
  const std::vector<std::vector<int64_t>> extents = {
      {6, 5, 4, 3}, {2, 17, 3, 9}, {3, 40, 2, 20}, {20, 2, 1, 33}, {1, 9, 65, 1}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i8, DType::u64}) {
    std::vector<size_t> order = {0, 1, 2, 3};
    do {
      for (const auto& sizes : extents) {
        const int64_t k = sizes[2] * sizes[3];
        std::vector<bool> backwards;
        for (int i = 0; i < 4; ++i) backwards.push_back(random_() % 3 == 0);
        const ProductOperand odd =
            operand(dtype, sizes, 2, order, backwards, static_cast<int64_t>(random_() % 2));
        const ProductOperand even = operand(dtype, {19, sizes[2], sizes[3]}, 1, {0, 1, 2});
        check_everywhere(odd, even);
        check_everywhere(matrix(dtype, 9, k, true), odd);
        if (HasFatalFailure()) return;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_F(Product, ThroughZeroStrides) {
  for (DType dtype : {DType::f32, DType::f16, DType::f64, DType::i16}) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    const unsigned char* data = elements(dtype, 1000);
    const std::vector<std::vector<ProductAxis>> lines = {
        {{20, 0}}, {{5, 0}, {7, size}}, {{7, size}, {5, 0}}, {}};
    const std::vector<std::vector<ProductAxis>> contracted = {
        {{30, size}}, {{30, 0}}, {{3, 0}, {10, size}}, {{10, size}, {3, 0}}};
    for (const auto& of_lines : lines) {
      for (const auto& of_k : contracted) {
        const ProductOperand odd{dtype, data, of_lines, of_k, {}};
        check_everywhere(odd, matrix(dtype, 21, 30, true));
        check_everywhere(matrix(dtype, 21, 30, false), odd);
        if (HasFatalFailure()) return;
      }
    }
  }
}

struct Window {
  int64_t size, kernel, stride, dilation, padding;
  int64_t positions() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// What a convolution contracts: lines (image, y, x), k (channel, ky, kx) in that order or with channels
/// last.
ProductOperand windows(DType dtype, const unsigned char* data, int64_t images, int64_t channels,
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
                               {1, 3, 1, 1, 1}};

TEST_F(Product, OfPaddedConvolutions) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::u8}) {
    for (const Window& y : kWindows) {
      for (int i = 0; i < 4; ++i) {
        const Window& x = i == 0 ? y : kWindows[random_() % std::size(kWindows)];
        const int64_t channels = 1 + static_cast<int64_t>(random_() % 19);
        const int64_t images = 1 + static_cast<int64_t>(random_() % 2);
        const unsigned char* data = elements(dtype, images * channels * y.size * x.size);
        const ProductOperand pixels = windows(dtype, data, images, channels, y, x, i % 2 == 1);
        const ProductOperand weights = matrix(dtype, 7, elements_of(pixels.contracted), true);
        check_everywhere(weights, pixels);
        if (i % 2 == 0) check_everywhere(pixels, weights);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Product, OfAConvolutionAlongOneAxisBackwards) {
  // Lines run down while k runs up, as in the gradient of a convolution.
  for (int64_t stride : {1, 2, 3}) {
    const unsigned char* data = elements(DType::f32, 50);
    const int64_t start = 20;
    ProductOperand lines{
        DType::f32, data + start * 4, {{40, -4 * stride}}, {{17, 4}}, {{start, {-stride, 1}, 50}}};
    check_everywhere(matrix(DType::f32, 5, 17, true), lines);
    ProductOperand steps{
        DType::f32, data + start * 4, {{40, 4}}, {{17, -4 * stride}}, {{start, {1, -stride}, 50}}};
    check_everywhere(matrix(DType::f32, 5, 17, true), steps);
  }
}

TEST_F(Product, OfManyStepsUnderBounds) {
  // More steps of k than are worked out at once, and an outer axis that is bounded while the inner one is
  // not.
  const unsigned char* data = elements(DType::f32, 3000);
  ProductOperand taps{
      DType::f32, data - 4 * 150, {{100, 4}}, {{2, 4 * 1000}, {300, 4}}, {{-150, {1, 0, 1}, 100}}};
  check_everywhere(matrix(DType::f32, 5, 600, true), taps);
  ProductOperand outer{
      DType::f32, data - 4 * 20, {{100, 4}}, {{200, 4}, {3, 4 * 1000}}, {{-20, {1, 1, 0}, 90}}};
  check_everywhere(matrix(DType::f32, 5, 600, true), outer);
}

TEST_F(Product, OfABlockHasTheBitsOfTheWhole) {
  for (DType dtype : {DType::f32, DType::f64}) {
    for (const Cpu& cpu : runnable_cpus()) {
      const int64_t m = 61;
      const int64_t n = 150;
      const int64_t k = 1100;
      const ProductType type = product_type(dtype);
      const ProductOperand a = matrix(dtype, m, k, true);
      const ProductOperand b = matrix(dtype, n, k, false);
      Result whole(type, m, n);
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{m, n}, {m, 1}, {1, n}, {1, 1}}) {
        const auto method = packed_method(type, rows, columns, k, cpu);
        const Packed packed_a(*method, a, true);
        const Packed packed_b(*method, b, false);
        if (rows == m && columns == n) {
          multiply(*method, packed_a.memory.get(), packed_b.memory.get(), m, n, whole);
        }
        for (int i = 0; i < 40; ++i) {
          const int64_t row = static_cast<int64_t>(random_() % (m / method->a_panel()));
          const int64_t column = static_cast<int64_t>(random_() % (n / method->b_panel()));
          const int64_t height = 1 + static_cast<int64_t>(random_() % (m - row * method->a_panel()));
          const int64_t width = 1 + static_cast<int64_t>(random_() % (n - column * method->b_panel()));
          Result block(type, height, width);
          multiply(*method, packed_a.memory.get() + row * method->a_panel_bytes(),
                   packed_b.memory.get() + column * method->b_panel_bytes(), height, width, block);
          for (int64_t r = 0; r < height; ++r) {
            ASSERT_EQ(
                std::memcmp(block.at(r, 0), whole.at(row * method->a_panel() + r, column * method->b_panel()),
                            static_cast<size_t>(width * block.size)),
                0)
                << method->name() << " row " << r << " of " << height << " by " << width;
          }
        }
      }
    }
  }
}

TEST_F(Product, TakesRowsThatAreNotPacked) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (const Cpu& cpu : runnable_cpus()) {
      for (auto [m, n, k] :
           {std::tuple<int64_t, int64_t, int64_t>{61, 150, 1100}, {5, 40, 7}, {1, 33, 64}, {13, 16, 1}}) {
        const ProductType type = product_type(dtype);
        const ProductOperand a = matrix(dtype, m, k, true);
        const ProductOperand b = matrix(dtype, n, k, false);
        const auto method = packed_method(type, m, n, k, cpu);
        if (!method->takes_rows()) continue;
        const Packed packed_a(*method, a, true);
        const Packed packed_b(*method, b, false);
        Result packed(type, m, n);
        multiply(*method, packed_a.memory.get(), packed_b.memory.get(), m, n, packed);
        // The rows next to each other, whatever the operand has.
        Result rows(type, m, k);
        for (int64_t row = 0; row < m; ++row) {
          for (int64_t i = 0; i < k; ++i) {
            const void* from = static_cast<const unsigned char*>(a.data) + row * a.lines[0].stride +
                               i * a.contracted[0].stride;
            std::memcpy(rows.at(row, i), from, static_cast<size_t>(rows.size));
          }
        }
        Result c(type, m, n);
        method->multiply_rows(rows.bytes.data(), rows.row_stride, packed_b.memory.get(), m, n, c.bytes.data(),
                              c.row_stride, nullptr);
        ASSERT_EQ(c.bytes, packed.bytes) << method->name() << " " << m << "x" << k << "x" << n;
      }
    }
  }
}

TEST_F(Product, PacksOnTheWay) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (const Cpu& cpu : runnable_cpus()) {
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{61, 150, 1100},
                             {90, 64, 700},
                             {64, 33, 7},
                             {40, 160, 0},
                             {203, 97, 1}}) {
        const ProductType type = product_type(dtype);
        const ProductOperand a = matrix(dtype, m, k, true);
        const ProductOperand b = matrix(dtype, n, k, false);
        const auto method = packed_method(type, m, n, k, cpu);
        if (!method->packs_on_the_way(b, m)) continue;
        const Packed packed_a(*method, a, true);
        const Packed packed_b(*method, b, false);
        const int64_t panel = method->b_panel();
        for (int64_t first : {int64_t{0}, n / panel / 2 * panel}) {
          const int64_t columns = n - first;
          Result wanted(type, m, columns);
          multiply(*method, packed_a.memory.get(),
                   packed_b.memory.get() + first / panel * method->b_panel_bytes(), m, columns, wanted);
          const int64_t bytes = method->b_panel_bytes();
          const Memory room = aligned(bytes);
          Result c(type, m, columns);
          method->multiply_packing(packed_a.memory.get(), 0, b, first, room.get(), m, columns, c.bytes.data(),
                                   c.row_stride);
          ASSERT_EQ(c.bytes, wanted.bytes) << method->name() << " " << m << "x" << k << "x" << n;
          for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(room.get()[bytes + i], 0xff) << "wrote past the panels";
        }
      }
    }
  }
}

TEST_F(Product, PacksOnTheWayOnlyWhereColumnsAreNextToEachOther) {
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = packed_method(ProductType::f32, 64, 64, 64, cpu);
    EXPECT_TRUE(method->packs_on_the_way(matrix(DType::f32, 64, 64, false), 64));
    EXPECT_FALSE(method->packs_on_the_way(matrix(DType::f32, 64, 64, false), 1));
    EXPECT_FALSE(method->packs_on_the_way(matrix(DType::f32, 64, 64, true), 64));
    EXPECT_FALSE(method->packs_on_the_way(matrix(DType::bf16, 64, 64, false), 64));
    ProductOperand padded = matrix(DType::f32, 64, 64, false);
    padded.bounds.push_back({-1, {1, 0}, 64});
    EXPECT_FALSE(method->packs_on_the_way(padded, 64));
  }
}

TEST_F(Product, ConvertsEveryF16) {
  std::vector<uint16_t> values(1 << 16);
  std::iota(values.begin(), values.end(), uint16_t{0});
  const uint16_t one = 0x3c00;
  const ProductOperand a{DType::f16, &one, {{1, 2}}, {{1, 2}}, {}};
  const int64_t n = 1 << 16;
  for (const ProductOperand& b :
       {ProductOperand{DType::f16, values.data(), {{n, 2}}, {{1, 2}}, {}},
        ProductOperand{DType::f16, values.data(), {{256, 2}, {256, 512}}, {{1, 2}}, {}}}) {
    const std::vector<Number> wanted = dense(b);
    for (const Cpu& cpu : runnable_cpus()) {
      const auto method = packed_method(ProductType::f32, 1, n, 1, cpu);
      Result c(ProductType::f32, 1, n);
      multiply(*method, Packed(*method, a, true).memory.get(), Packed(*method, b, false).memory.get(), 1, n,
               c);
      for (int64_t i = 0; i < n; ++i) {
        const double got = testing::read(DType::f32, c.at(0, i)).real;
        if (std::isnan(wanted[i].real)) {
          ASSERT_TRUE(std::isnan(got)) << i;
        } else {
          ASSERT_EQ(got, wanted[i].real) << i;
        }
      }
    }
  }
}

/// Memory with pages before and behind it that cannot be touched.
class Guarded {
 public:
  explicit Guarded(int64_t bytes)
      : page_(sysconf(_SC_PAGESIZE)), inside_((bytes + page_ - 1) / page_ * page_) {
    void* memory = mmap(nullptr, inside_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start_ = static_cast<unsigned char*>(memory) + page_;
    mprotect(start_, inside_, PROT_READ | PROT_WRITE);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(start_ - page_, inside_ + 2 * page_); }

  unsigned char* first() { return start_; }                                ///< right behind the guard
  unsigned char* last(int64_t bytes) { return start_ + inside_ - bytes; }  ///< right before the other

 private:
  size_t page_;
  size_t inside_;
  unsigned char* start_;
};

TEST_F(Product, ReadsOnlyWhatIsThere) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i8, DType::i64}) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    for (int64_t lines : {1, 5, 6, 16, 21, 47}) {
      for (int64_t k : {1, 3, 8, 19}) {
        Guarded memory(lines * k * size);
        for (unsigned char* data : {memory.first(), memory.last(lines * k * size)}) {
          testing::fill(dtype, data, lines * k, random_);
          check_everywhere(matrix(dtype, 7, k, true), {dtype, data, {{lines, size * k}}, {{k, size}}, {}});
          check_everywhere({dtype, data, {{lines, size}}, {{k, size * lines}}, {}},
                           matrix(dtype, 30, k, true));
          check_everywhere(matrix(dtype, 7, k, true),
                           {dtype, data, {{lines, size}}, {{k, size * lines}}, {}});
          if (HasFatalFailure()) return;
        }
      }
    }
    for (const Window& window : kWindows) {
      for (bool channels_last : {false, true}) {
        const int64_t channels = 5;
        const int64_t bytes = channels * window.size * window.size * size;
        Guarded memory(bytes);
        for (unsigned char* data : {memory.first(), memory.last(bytes)}) {
          testing::fill(dtype, data, bytes / size, random_);
          const ProductOperand pixels = windows(dtype, data, 1, channels, window, window, channels_last);
          check_everywhere(matrix(dtype, 3, elements_of(pixels.contracted), true), pixels);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(Product, PacksOnTheWayOnlyWhatIsThere) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    const ProductType type = product_type(dtype);
    const auto size = static_cast<int64_t>(size_of(dtype));
    for (const Cpu& cpu : runnable_cpus()) {
      int checked = 0;
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{16, 64, 1},
                             {37, 32, 19},
                             {70, 67, 40},
                             {33, 96, 1100},
                             {61, 49, 0}}) {
        const auto method = packed_method(type, m, n, k, cpu);
        const ProductOperand a = matrix(dtype, m, k, true);
        const Packed packed_a(*method, a, true);
        Guarded memory(n * std::max<int64_t>(k, 1) * size);
        const int64_t last = std::max<int64_t>(k - 1, 0) * n * size;
        for (unsigned char* data : {memory.first(), memory.last(n * k * size)}) {
          testing::fill(dtype, data, n * k, random_);
          for (const ProductOperand& b : {ProductOperand{dtype, data, {{n, size}}, {{k, n * size}}, {}},
                                          {dtype, data + last, {{n, size}}, {{k, -n * size}}, {}},
                                          {dtype, data, {{n, size}}, {{k, 0}}, {}}}) {
            if (!method->packs_on_the_way(b, m)) continue;
            const Memory room = aligned(method->b_panel_bytes());
            Result c(type, m, n);
            method->multiply_packing(packed_a.memory.get(), 0, b, 0, room.get(), m, n, c.bytes.data(),
                                     c.row_stride);
            check(type, a, b, c, cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b));
            if (HasFatalFailure()) return;
            ++checked;
            if (k == 0) continue;
            Result of_rows(type, m, n);
            method->multiply_packing(a.data, a.lines[0].stride, b, 0, room.get(), m, n, of_rows.bytes.data(),
                                     of_rows.row_stride);
            ASSERT_EQ(of_rows.bytes, c.bytes) << method->name() << " " << m << "x" << k << "x" << n;
          }
        }
      }
      EXPECT_GT(checked, 20) << cpu.name;
    }
  }
}

TEST_F(Product, KeepsWhatIsNotANumberInItsPlace) {
  // Lanes that are filled up must not reach others: infinity times a filler is not a number.
  std::vector<float> values(7 * 9, INFINITY);
  const ProductOperand a{DType::f32, values.data(), {{7, 36}}, {{9, 4}}, {}};
  std::vector<float> ones(19 * 9, 1.0f);
  const ProductOperand b{DType::f32, ones.data(), {{19, 36}}, {{9, 4}}, {}};
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = packed_method(ProductType::f32, 7, 19, 9, cpu);
    Result c(ProductType::f32, 7, 19);
    multiply(*method, Packed(*method, a, true).memory.get(), Packed(*method, b, false).memory.get(), 7, 19,
             c);
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 19; ++j) EXPECT_EQ(testing::read(DType::f32, c.at(i, j)).real, INFINITY);
    }
  }
}

}  // namespace
}  // namespace tokamak
