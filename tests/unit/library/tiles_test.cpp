// Products of bf16 by the tiles of AMX: what is promised of their bits, on machines that have them.

#include <bit>
#include <cmath>

#include "library/product_fixture.h"

namespace tokamak {
namespace {

using Bf16 = std::vector<uint16_t>;

float value_of(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
uint16_t bf16_of(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

ProductOperand lines_of(const Bf16& elements, int64_t lines, int64_t k) {
  return {DType::bf16, elements.data(), {{lines, k * 2}}, {{k, 2}}, {}};
}

class Tiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_.amx_bf16 || !may_use_tiles()) GTEST_SKIP() << "this machine has no AMX";
  }

  std::vector<float> multiply(const Bf16& a, const Bf16& b, int64_t m, int64_t n, int64_t k) const {
    const auto method = packed_method(ProductType::bf16, m, n, k, cpu_);
    EXPECT_STREQ(method->name(), "own bf16 32x32 amx");
    const Packed packed_a(*method, lines_of(a, m, k), true);
    const Packed packed_b(*method, lines_of(b, n, k), false);
    std::vector<float> c(static_cast<size_t>(m * n));
    method->multiply(packed_a.memory.get(), packed_b.memory.get(), m, n, c.data(), n * 4, nullptr);
    return c;
  }

  Bf16 random(int64_t count) {
    std::normal_distribution<float> normal;
    Bf16 elements(static_cast<size_t>(count));
    for (uint16_t& element : elements) element = bf16_of(normal(random_));
    return elements;
  }

  Cpu cpu_ = cpu_named("native");
  std::mt19937 random_{1};
};

/// Of 32 elements of k at a time: those at even places, those at odd places, and both to what was before.
float sum_by_tiles(const uint16_t* a, const uint16_t* b, int64_t k) {
  float sum = 0;
  for (int64_t first = 0; first < k; first += 32) {
    float halves[2] = {};
    for (int64_t i = first; i < std::min(first + 32, k); ++i) {
      float& half = halves[i % 2];
      half = std::fma(value_of(a[i]), value_of(b[i]), half);
    }
    sum += halves[0] + halves[1];
  }
  return sum;
}

TEST_F(Tiles, AddTheirTermsInThisOrder) {
  constexpr int64_t kM = 37;
  constexpr int64_t kN = 51;
  for (int64_t k : {1, 2, 31, 32, 33, 96, 1000, 1024, 1025, 2100}) {
    const Bf16 a = random(kM * k);
    const Bf16 b = random(kN * k);
    const std::vector<float> c = multiply(a, b, kM, kN, k);
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        ASSERT_EQ(c[static_cast<size_t>(i * kN + j)], sum_by_tiles(&a[i * k], &b[j * k], k))
            << i << "," << j << " of " << k;
      }
    }
  }
}

TEST_F(Tiles, TakeSubnormalNumbersAsZerosAndGiveThem) {
  const uint16_t subnormal = 0x0040;
  const uint16_t smallest = 0x0080;  // normal
  const uint16_t infinity = 0x7f80;
  constexpr int64_t kLines = 4;
  Bf16 a(kLines);
  Bf16 b(kLines);
  a[0] = subnormal;
  a[1] = smallest;
  b[0] = bf16_of(0x1p100F);
  b[1] = bf16_of(0.5F);
  b[2] = bf16_of(2.0F);
  b[3] = infinity;
  const std::vector<float> c = multiply(a, b, kLines, kLines, 1);
  const float* of_subnormal = c.data();
  const float* of_smallest = c.data() + kLines;
  EXPECT_EQ(of_subnormal[0], 0);
  EXPECT_TRUE(std::isnan(of_subnormal[3])) << of_subnormal[3];
  EXPECT_EQ(of_smallest[0], value_of(smallest) * 0x1p100F);
  EXPECT_EQ(of_smallest[1], 0);
  EXPECT_EQ(of_smallest[2], 2 * value_of(smallest));
  EXPECT_EQ(of_smallest[3], INFINITY);
}

TEST_F(Tiles, AreNotUsedWhereTheyAreTurnedOff) {
  Cpu without = cpu_;
  without.amx_bf16 = false;
  EXPECT_STREQ(packed_method(ProductType::bf16, 64, 64, 64, without)->name(), "own bf16 8x48 avx512_bf16");
}

}  // namespace
}  // namespace tokamak
