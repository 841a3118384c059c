// Conversions at their edges: what NumPy gives on x86-64.

#include <cmath>
#include <limits>

#include "interp/testing.h"

namespace tokamak {
namespace {

using testing::exact;
using testing::expect_same;
using testing::ints_of;
using testing::run;
using testing::values_of;
using testing::vector;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

Tensor convert(const Tensor& x, DType to) { return run(Op::convert, {x}, {{Attr::dtype, to}}); }

TEST(Convert, FloatsTruncateAndWrapNarrowIntegers) {
  for (DType from : {DType::f32, DType::f64}) {
    const Tensor x = vector(from, {1.9, -1.9, 300, -129, 70000, 3e9, kNan, kInf, -kInf});
    expect_same(convert(x, DType::i8), vector(DType::i8, {1, -1, 44, 127, 112, 0, 0, 0, 0}));
    expect_same(convert(x, DType::u8), vector(DType::u8, {1, 255, 44, 127, 112, 0, 0, 0, 0}));
    expect_same(convert(x, DType::i16), vector(DType::i16, {1, -1, 300, -129, 4464, 0, 0, 0, 0}));
    const double low = -0x1p31;
    expect_same(convert(x, DType::i32), vector(DType::i32, {1, -1, 300, -129, 70000, low, low, low, low}));
    expect_same(convert(x, DType::u32),
                vector(DType::u32, {1, 4294967295.0, 300, 4294967167.0, 70000, 3e9, 0, 0, 0}));
  }
}

TEST(Convert, FloatsTo64Bits) {
  const Tensor x = vector(DType::f64, {-1, 0x1p62, 0x1p63, 1e19, 0x1p64, kNan, kInf, -kInf, -0x1p63});
  EXPECT_EQ(ints_of(convert(x, DType::i64)),
            (std::vector<int64_t>{-1, int64_t{1} << 62, kLowest, kLowest, kLowest, kLowest, kLowest, kLowest,
                                  kLowest}));
  EXPECT_EQ(ints_of(convert(x, DType::u64)),
            (std::vector<int64_t>{-1, int64_t{1} << 62, kLowest, static_cast<int64_t>(10000000000000000000U),
                                  0, kLowest, 0, kLowest, kLowest}));
}

TEST(Convert, BoundsOfI32) {
  const Tensor x =
      vector(DType::f64, {2147483647.5, 2147483648.0, -2147483648.0, -2147483648.5, -2147483649.0});
  EXPECT_EQ(ints_of(convert(x, DType::i32)),
            (std::vector<int64_t>{2147483647, -2147483648, -2147483648, -2147483648, -2147483648}));
}

TEST(Convert, ToAndFromBool) {
  expect_same(convert(vector(DType::f32, {0.0, -0.0, kNan, 0.5}), DType::boolean),
              vector(DType::boolean, {0, 0, 1, 1}));
  expect_same(convert(vector(DType::i16, {0, 256, -1}), DType::boolean), vector(DType::boolean, {0, 1, 1}));
  for (DType to : kAllDTypes) {
    if (to == DType::boolean) continue;
    expect_same(convert(vector(DType::boolean, {0, 1}), to), vector(to, {0, 1}));
  }
}

TEST(Convert, BetweenIntegers) {
  expect_same(convert(vector(DType::i8, {-1}), DType::u32), vector(DType::u32, {4294967295.0}));
  expect_same(convert(vector(DType::u8, {255}), DType::i32), vector(DType::i32, {255}));
  expect_same(convert(vector(DType::i32, {300, -129}), DType::i8), vector(DType::i8, {44, 127}));
  expect_same(convert(vector(DType::i32, {-1}), DType::u32), vector(DType::u32, {4294967295.0}));
}

TEST(Convert, IntegersToFloatsRoundOnce) {
  const Tensor largest = exact<uint64_t>(DType::u64, {~uint64_t{0}, (uint64_t{1} << 63) + 1});
  expect_same(convert(largest, DType::f64), vector(DType::f64, {0x1p64, 0x1p63}));
  expect_same(convert(largest, DType::f32), vector(DType::f32, {0x1p64, 0x1p63}));
  // Just above the middle between two f32: rounding to f64 first would land on the middle, and then go down
  // to even.
  const int64_t above_middle = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  expect_same(convert(exact<int64_t>(DType::i64, {above_middle}), DType::f32),
              vector(DType::f32, {0x1p60 + 0x1p37}));
  const int64_t above_bf16_middle = (int64_t{1} << 60) + (int64_t{1} << 52) + 1;
  expect_same(convert(exact<int64_t>(DType::i64, {above_bf16_middle, -above_bf16_middle}), DType::bf16),
              vector(DType::bf16, {0x1p60 + 0x1p53, -0x1p60 - 0x1p53}));
  expect_same(convert(exact<int32_t>(DType::i32, {16842753}), DType::bf16), vector(DType::bf16, {16908288}));
  expect_same(convert(vector(DType::i32, {2049, 65519, 65520}), DType::f16),
              vector(DType::f16, {2048, 65504, kInf}));
}

TEST(Convert, DoublesToNarrowFloatsRoundOnce) {
  expect_same(convert(vector(DType::f64, {1 + 0x1p-11 + 0x1p-40}), DType::f16),
              vector(DType::f16, {1 + 0x1p-10}));
  expect_same(convert(vector(DType::f64, {1 + 0x1p-8 + 0x1p-40}), DType::bf16),
              vector(DType::bf16, {1 + 0x1p-7}));
  expect_same(convert(vector(DType::f64, {1e6, 1e-9, -0.0}), DType::f16),
              vector(DType::f16, {kInf, 0.0, -0.0}));
  EXPECT_TRUE(std::isnan(values_of(convert(vector(DType::f64, {kNan}), DType::bf16))[0]));
}

TEST(Convert, BetweenNarrowFloats) {
  expect_same(convert(vector(DType::f16, {1.0009765625, 65504}), DType::bf16),
              vector(DType::bf16, {1, 65536}));
  expect_same(convert(vector(DType::bf16, {1.5, 1e30}), DType::f16), vector(DType::f16, {1.5, kInf}));
  expect_same(convert(vector(DType::f16, {1.5}), DType::f64), vector(DType::f64, {1.5}));
}

}  // namespace
}  // namespace tokamak
