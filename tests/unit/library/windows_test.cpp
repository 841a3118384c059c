// Which operands are read as windows; the fixture compares their products with packed ones wherever they are.

#include "library/product_fixture.h"

namespace tokamak {
namespace {

class WindowOperands : public Product {
 protected:
  /// Whether windows of one picture are read where they overlap, on every level.
  void expect_windows(bool wanted, const Window& y, const Window& x, bool channels_last = false) {
    const unsigned char* data = elements(DType::f32, 3 * y.size * x.size);
    const ProductOperand pixels = windows(DType::f32, data, 1, 3, y, x, channels_last);
    for (const Cpu& cpu : runnable_cpus()) {
      const auto method =
          packed_method(ProductType::f32, 64, elements_of(pixels.lines), elements_of(pixels.contracted), cpu);
      EXPECT_EQ(method->window_bytes(pixels, 32) != 0, wanted) << cpu.name << ", " << describe(pixels);
    }
  }
};

TEST_F(WindowOperands, SlideInStepsOfOne) {
  expect_windows(true, {16, 3, 1, 1, 1}, {16, 3, 1, 1, 1});
  expect_windows(true, {16, 3, 1, 1, 1}, {32, 5, 1, 2, 4});
  expect_windows(true, {16, 3, 1, 1, 0}, {34, 3, 1, 1, 0});
  expect_windows(true, {16, 1, 1, 1, 0}, {16, 3, 1, 1, 1});
}

TEST_F(WindowOperands, AreNotThereOtherwise) {
  expect_windows(false, {16, 3, 2, 1, 1}, {16, 3, 1, 1, 1});        // y makes larger steps
  expect_windows(false, {16, 3, 1, 1, 1}, {32, 3, 2, 1, 1});        // so does x
  expect_windows(false, {16, 3, 1, 1, 1}, {17, 3, 1, 1, 1});        // runs do not fill registers
  expect_windows(false, {16, 1, 1, 1, 0}, {16, 1, 1, 1, 0});        // nothing overlaps
  expect_windows(false, {16, 3, 1, 1, 1}, {16, 3, 1, 1, 1}, true);  // neighbours are channels
}

TEST_F(WindowOperands, NeedTheMemoryOfWhatTheyCover) {
  const Window x{56, 3, 1, 1, 1};
  const unsigned char* data = elements(DType::f32, 64 * 56 * 56);
  const ProductOperand pixels = windows(DType::f32, data, 1, 64, x, x, false);
  const auto method = packed_method(ProductType::f32, 64, 56 * 56, 64 * 9, cpu_named("x86-64"));
  const int64_t rows = 8 + 2 + 2;  // lines may begin in the middle of a row
  EXPECT_LE(method->window_bytes(pixels, 8 * 56), 64 * (rows * 58 * 4 + 128) + 4096);
}

TEST_F(WindowOperands, AlongOneAxis) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::u8, DType::i64}) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    const unsigned char* data = elements(dtype, 3 * 400);
    const ProductOperand padded{
        dtype, data - 2 * size, {{320, size}}, {{3, 400 * size}, {5, size}}, {{-2, {1, 0, 1}, 320}}};
    check_everywhere(matrix(dtype, 13, 15, true), padded);
    // Rows next to each other are one axis, along which a column of a window makes long steps.
    const ProductOperand columns{
        dtype, data, {{20, 16 * size}, {16, size}}, {{3, 400 * size}, {4, 16 * size}}, {}};
    const auto method = packed_method(product_type(dtype), 13, 320, 12, cpu_named("x86-64"));
    EXPECT_NE(method->window_bytes(columns, 64), 0);
    check_everywhere(matrix(dtype, 13, 12, true), columns);
    if (HasFatalFailure()) return;
  }
}

TEST_F(WindowOperands, AlongThreeAxes) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::u8, DType::i64}) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    const unsigned char* data = elements(dtype, 2 * 5 * 6 * 16);
    const int64_t plane = 6 * 16 * size;
    const int64_t row = 16 * size;
    // A zero before and behind along all three, windows of 3x2x3, two channels.
    const ProductOperand pixels{
        dtype,
        data - plane - row - size,
        {{5, plane}, {7, row}, {16, size}},
        {{2, 5 * plane}, {3, plane}, {2, row}, {3, size}},
        {{-1, {1, 0, 0, 0, 1, 0, 0}, 5}, {-1, {0, 1, 0, 0, 0, 1, 0}, 6}, {-1, {0, 0, 1, 0, 0, 0, 1}, 16}}};
    const auto method = packed_method(product_type(dtype), 13, 5 * 7 * 16, 36, cpu_named("x86-64"));
    EXPECT_NE(method->window_bytes(pixels, 64), 0);
    check_everywhere(matrix(dtype, 13, 36, true), pixels);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tokamak
