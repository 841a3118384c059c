#include "library/product_fixture.h"

namespace tokamak {
namespace {

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

TEST_F(Product, OfAllSizesInBf16) {
  bool k_is_inner = false;
  for (int64_t m : kSizes) {
    for (int64_t n : kSizes) {
      for (int64_t k : kSizes) {
        k_is_inner = !k_is_inner;
        check_everywhere(matrix(DType::bf16, m, k, k_is_inner), matrix(DType::bf16, n, k, m % 2 == 0));
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

/// `count` steps of k from `first` on, and zeros past the last.
ProductOperand part_of(ProductOperand operand, int64_t first, int64_t count) {
  ProductAxis& axis = operand.contracted[0];
  operand.bounds.push_back({first, {0, 1}, axis.extent});
  operand.data = static_cast<const unsigned char*>(operand.data) + first * axis.stride;
  axis.extent = count;
  return operand;
}

TEST_F(Product, InPartsThatAreAdded) {
  constexpr int64_t kPart = 600;
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64}) {
    for (int64_t k : {601, 1200, 1777}) {
      const ProductOperand a = matrix(dtype, 29, k, false);
      const ProductOperand b = matrix(dtype, 35, k, k % 2 == 0);
      for (const Cpu& cpu : runnable_cpus()) {
        const ProductType type = types_for(dtype, dtype, cpu).back();
        const auto method = packed_method(type, 29, 35, kPart, cpu);
        Result c(type, 29, 35);
        for (int64_t first = 0; first < k; first += kPart) {
          const Packed packed_a(*method, part_of(a, first, kPart), true);
          const Packed packed_b(*method, part_of(b, first, kPart), false);
          if (first == 0) {
            multiply(*method, packed_a.memory.get(), packed_b.memory.get(), 29, 35, c);
          } else {
            method->multiply_adding(packed_a.memory.get(), packed_b.memory.get(), 29, 35, c.bytes.data(),
                                    c.row_stride);
          }
        }
        check(type, a, b, c, cpu.name + " in parts, k = " + std::to_string(k));
      }
    }
  }
}

TEST_F(Product, BelowTheDiagonal) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (int64_t n : {1, 5, 16, 47, 100, 161}) {
      const ProductOperand x = matrix(dtype, n, 600, n % 2 == 0);
      for (const Cpu& cpu : runnable_cpus()) {
        const ProductType type = types_for(dtype, dtype, cpu).back();
        const auto method = packed_method(type, n, n, 600, cpu);
        const Packed a(*method, x, true);
        const Packed b(*method, x, false);
        Result all(type, n, n);
        Result half(type, n, n);
        multiply(*method, a.memory.get(), b.memory.get(), n, n, all);
        for (bool add : {false, true}) {
          method->multiply_below_diagonal(a.memory.get(), b.memory.get(), n, n, half.bytes.data(),
                                          half.row_stride, add);
          if (add)
            method->multiply_adding(a.memory.get(), b.memory.get(), n, n, all.bytes.data(), all.row_stride);
          for (int64_t row = 0; row < n; ++row) {
            ASSERT_EQ(std::memcmp(half.at(row, 0), all.at(row, 0), static_cast<size_t>((row + 1) * all.size)),
                      0)
                << cpu.name << " row " << row << " of " << n;
          }
        }
      }
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
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i16}) {
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
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const Cpu& cpu : runnable_cpus()) {
      const int64_t m = 61;
      const int64_t n = 150;
      const int64_t k = 1100;
      const ProductType type = types_for(dtype, dtype, cpu).back();
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

}  // namespace
}  // namespace tokamak
