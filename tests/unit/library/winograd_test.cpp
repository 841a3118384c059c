// Convolutions with windows of 3x3 by Winograd's way, at every processor level.

#include "library/winograd_method.h"

#include <cmath>
#include <limits>

#include "library/product_fixture.h"

namespace tokamak {
namespace {

/// What is around a picture.
struct Around {
  int64_t top, bottom, left, right;
};

class WinogradProducts : public Product {
 protected:
  /// Windows over one picture; `along_x` elements lie from one column to the next, `along_y` from row to row.
  static ProductOperand pixels(DType dtype, const unsigned char* data, int64_t channels, int64_t height,
                               int64_t width, const Around& around, int64_t along_y, int64_t along_x,
                               int64_t along_channel) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    const ProductAxis y{height + around.top + around.bottom - 2, along_y * size};
    const ProductAxis x{width + around.left + around.right - 2, along_x * size};
    return {dtype,
            data - around.top * y.stride - around.left * x.stride,
            {y, x},
            {{channels, along_channel * size}, {3, y.stride}, {3, x.stride}},
            {{-around.top, {1, 0, 0, 1, 0}, height}, {-around.left, {0, 1, 0, 0, 1}, width}}};
  }

  ProductOperand weights(DType dtype, int64_t rows, int64_t channels) {
    return operand(dtype, {rows, channels, 3, 3}, 1, {0, 1, 2, 3});
  }

  /// Lines from a row of tiles on; nothing may be written elsewhere.
  static Result multiplied(const ProductMethod& method, ProductType type, const ProductOperand& a,
                           const ProductOperand& b, int64_t first) {
    const int64_t rows = elements_of(a.lines);
    const int64_t columns = elements_of(b.lines) - first;
    const Packed packed(method, a, true);
    const int64_t bytes = method.window_bytes(b, columns);
    const Memory room = aligned(bytes);
    Result c(type, rows, columns);
    for (int64_t row = 0; row < rows; row += method.rows_at_once()) {
      method.pack_windows(b, first, columns, room.get());
      method.multiply_windows(packed.memory.get() + row / method.a_panel() * method.a_panel_bytes(), b,
                              room.get(), first, std::min(method.rows_at_once(), rows - row), columns,
                              c.at(row, 0), c.row_stride);
    }
    for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(room.get()[bytes + i], 0xff) << "wrote past its room";
    return c;
  }

  static WindowedPicture picture_of(const ProductOperand& b) {
    return {b.lines[0].extent, b.lines[1].extent, b.contracted[0].extent};
  }

  static void check_windows_everywhere(const ProductOperand& a, const ProductOperand& b) {
    const ProductType type = product_type(b.dtype);
    for (const Cpu& cpu : runnable_cpus()) {
      const auto method = winograd_method(type, elements_of(a.lines), picture_of(b), cpu);
      const std::string what = cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b);
      Result all = multiplied(*method, type, a, b, 0);
      check(type, a, b, all, what);
      if (HasFatalFailure()) return;
      // From the middle on: the same bits.
      const int64_t panels = (b.lines[0].extent + 1) / 2;
      const int64_t first = panels / 2 * method->b_panel();
      Result rest = multiplied(*method, type, a, b, first);
      const int64_t columns = elements_of(b.lines) - first;
      for (int64_t row = 0; row < elements_of(a.lines); ++row)
        ASSERT_EQ(std::memcmp(rest.at(row, 0), all.at(row, first), static_cast<size_t>(columns * rest.size)),
                  0)
            << what << ", from " << first;
    }
  }
};

TEST_F(WinogradProducts, OfAllSizes) {
  struct Case {
    int64_t rows, channels, height, width;
    Around around;
  };
  const Case cases[] = {{16, 16, 8, 8, {1, 1, 1, 1}},   {17, 5, 7, 9, {1, 1, 1, 1}},
                        {1, 1, 4, 4, {0, 0, 0, 0}},     {13, 7, 33, 31, {0, 0, 0, 0}},
                        {64, 40, 14, 56, {1, 1, 1, 1}}, {9, 3, 5, 100, {2, 0, 0, 3}},
                        {150, 4, 6, 3, {0, 2, 1, 0}},   {5, 2, 3, 300, {1, 1, 1, 1}},
                        {8, 6, 3, 3, {7, 6, 5, 8}},     {33, 24, 18, 35, {1, 2, 2, 1}}};
  for (DType dtype : {DType::f32, DType::f64}) {
    for (const Case& one : cases) {
      const unsigned char* data = elements(dtype, one.channels * one.height * one.width);
      check_windows_everywhere(weights(dtype, one.rows, one.channels),
                               pixels(dtype, data, one.channels, one.height, one.width, one.around, one.width,
                                      1, one.height * one.width));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(WinogradProducts, OfPicturesWithAnyStrides) {
  const int64_t height = 12, width = 21, channels = 6;
  const unsigned char* data = elements(DType::f32, 2 * height * width * channels);
  const Around around{1, 1, 1, 1};
  const ProductOperand a = weights(DType::f32, 10, channels);
  auto read = [&](int64_t start, int64_t along_y, int64_t along_x, int64_t along_channel) {
    return pixels(DType::f32, data + 4 * start, channels, height, width, around, along_y, along_x,
                  along_channel);
  };
  check_windows_everywhere(a, read(0, width * channels, channels, 1));                 // channels last
  check_windows_everywhere(a, read(0, 1, height, height * width));                     // transposed
  check_windows_everywhere(a, read(width - 1, width, -1, height * width));             // backwards
  check_windows_everywhere(a, read(0, 2 * width, 2, 2 * height * width));              // every second column
  check_windows_everywhere(a, read((height - 1) * width, -width, 1, height * width));  // upside down
  check_windows_everywhere(a, read(0, 0, 1, height * width));  // one row again and again
}

TEST_F(WinogradProducts, HaveChannelsOfSeveralAxes) {
  const unsigned char* data = elements(DType::f32, 2 * 3 * 100);
  const ProductOperand b{DType::f32, data, {{8, 40}, {8, 4}}, {{3, 400}, {2, 3 * 400}, {3, 40}, {3, 4}}, {}};
  const ProductOperand a = operand(DType::f32, {7, 3, 2, 3, 3}, 1, {0, 1, 2, 3, 4});
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = winograd_method(ProductType::f32, 7, {8, 8, 6}, cpu);
    Result c = multiplied(*method, ProductType::f32, a, b, 0);
    check(ProductType::f32, a, b, c, cpu.name);
  }
}

/// Rows of tiles with a result that is not finite are those of the method for all products; others are not.
TEST_F(WinogradProducts, ComputeAgainWhatIsNotFinite) {
  const int64_t rows = 20, channels = 5, size = 24;
  for (double value : {std::numeric_limits<double>::infinity(), std::nan(""), 3e38}) {
    std::vector<float> data(static_cast<size_t>(channels * size * size), 0.5F);
    for (int64_t x = 4; x < 7; ++x)
      data[static_cast<size_t>(2 * size * size + 9 * size + x)] = static_cast<float>(value);
    const ProductOperand b = pixels(DType::f32, reinterpret_cast<const unsigned char*>(data.data()), channels,
                                    size, size, {1, 1, 1, 1}, size, 1, size * size);
    const ProductOperand a = weights(DType::f32, rows, channels);
    for (const Cpu& cpu : runnable_cpus()) {
      const auto method = winograd_method(ProductType::f32, rows, picture_of(b), cpu);
      Result c = multiplied(*method, ProductType::f32, a, b, 0);
      const auto plain = packed_method(ProductType::f32, rows, size * size, 9 * channels, cpu);
      const Packed plain_a(*plain, a, true);
      const Packed plain_b(*plain, b, false);
      Result wanted(ProductType::f32, rows, size * size);
      multiply(*plain, plain_a.memory.get(), plain_b.memory.get(), rows, size * size, wanted);
      const int64_t first = 8 * size, end = 12 * size;  // windows that see row 9, and those beside them
      for (int64_t row = 0; row < rows; ++row) {
        ASSERT_EQ(
            std::memcmp(c.at(row, first), wanted.at(row, first), static_cast<size_t>((end - first) * 4)), 0)
            << cpu.name << " " << value;
      }
    }
  }
}

TEST_F(WinogradProducts, AreChosenWhereTheyAreFaster) {
  const Cpu cpu = cpu_named("x86-64-v3");
  auto chosen = [&](ProductType type, int64_t rows, const WindowedPicture& picture, int64_t batch,
                    int64_t packed) {
    return choose_window_method(type, rows, picture, batch, packed, cpu) != nullptr;
  };
  EXPECT_TRUE(chosen(ProductType::f32, 64, {56, 56, 64}, 8, 1));
  EXPECT_TRUE(chosen(ProductType::f64, 64, {56, 56, 64}, 8, 1));
  EXPECT_TRUE(chosen(ProductType::f32, 256, {14, 14, 256}, 8, 1));
  EXPECT_TRUE(chosen(ProductType::f32, 256, {14, 14, 256}, 1, 0));
  EXPECT_FALSE(chosen(ProductType::f32, 512, {7, 7, 512}, 1, 1));  // weights cost more than all products
  EXPECT_FALSE(chosen(ProductType::f32, 64, {56, 56, 3}, 8, 1));   // few channels
  EXPECT_FALSE(chosen(ProductType::f32, 4, {56, 56, 64}, 8, 1));
  EXPECT_FALSE(chosen(ProductType::i32, 64, {56, 56, 64}, 8, 1));
  EXPECT_FALSE(chosen(ProductType::f32, 64, {0, 56, 64}, 8, 1));
  EXPECT_FALSE(chosen(ProductType::f32, 64, {56, 56, 64}, 0, 1));
}

}  // namespace
}  // namespace tokamak
