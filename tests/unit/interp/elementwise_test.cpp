#include <cmath>
#include <limits>

#include "interp/testing.h"
#include "ops/record.h"

namespace tokamak {
namespace {

using testing::exact;
using testing::expect_same;
using testing::ints_of;
using testing::run;
using testing::tensor;
using testing::values_of;
using testing::vector;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFloats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

TEST(Elementwise, BroadcastsAndHandlesScalarsAndEmpty) {
  const Tensor row = vector(DType::f32, {10, 20, 30});
  const Tensor column = tensor(DType::f32, {2, 1}, {1, 2});
  expect_same(run(Op::add, {row, column}), tensor(DType::f32, {2, 3}, {11, 21, 31, 12, 22, 32}));
  expect_same(run(Op::mul, {scalar_tensor(DType::i32, int64_t{6}), scalar_tensor(DType::i32, int64_t{7})}),
              scalar_tensor(DType::i32, int64_t{42}));
  expect_same(run(Op::add, {tensor(DType::f32, {0, 3}, {}), row}), tensor(DType::f32, {0, 3}, {}));
}

TEST(Elementwise, LongerThanAChunk) {
  std::vector<double> ramp(5000);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  const std::vector<double> result = values_of(run(Op::neg, {vector(DType::f64, ramp)}));
  for (size_t i = 0; i < ramp.size(); ++i) EXPECT_EQ(result[i], -ramp[i]);
}

TEST(Elementwise, IntegersWrap) {
  expect_same(run(Op::add, {vector(DType::i8, {127, -128}), vector(DType::i8, {1, -1})}),
              vector(DType::i8, {-128, 127}));
  expect_same(run(Op::mul, {vector(DType::u16, {65535}), vector(DType::u16, {65535})}),
              vector(DType::u16, {1}));
  expect_same(run(Op::neg, {vector(DType::i8, {-128, 5})}), vector(DType::i8, {-128, -5}));
  expect_same(run(Op::abs, {vector(DType::i8, {-128, -5, 5})}), vector(DType::i8, {-128, 5, 5}));
  expect_same(run(Op::neg, {vector(DType::u8, {1})}), vector(DType::u8, {255}));
}

TEST(Elementwise, IntegerDivision) {
  const Tensor a = vector(DType::i8, {7, -7, 7, -7, 5, -128, -128});
  const Tensor b = vector(DType::i8, {2, 2, -2, -2, 0, -1, 0});
  expect_same(run(Op::floor_div, {a, b}), vector(DType::i8, {3, -4, -4, 3, 0, -128, 0}));
  expect_same(run(Op::mod, {a, b}), vector(DType::i8, {1, 1, -1, -1, 0, 0, 0}));
  expect_same(run(Op::fmod, {a, b}), vector(DType::i8, {1, -1, 1, -1, 0, 0, 0}));
  expect_same(run(Op::floor_div, {vector(DType::u8, {200, 7}), vector(DType::u8, {3, 0})}),
              vector(DType::u8, {66, 0}));
}

TEST(Elementwise, FloatDivisionIsPythons) {
  for (DType dtype : kFloats) {
    const Tensor a = vector(dtype, {7, -7, 1, -1, 0.0, -0.0, 1});
    const Tensor b = vector(dtype, {2, 2, kInf, kInf, -2, 2, 0});
    const Tensor quotient = run(Op::floor_div, {a, b});
    expect_same(quotient, vector(dtype, {3, -4, 0, -1, -0.0, -0.0, kInf}));
    const std::vector<double> remainder = values_of(run(Op::mod, {a, b}));
    EXPECT_EQ(remainder[1], 1);
    EXPECT_EQ(remainder[3], kInf);
    EXPECT_TRUE(std::signbit(remainder[4]));
    EXPECT_FALSE(std::signbit(remainder[5]));
    EXPECT_TRUE(std::isnan(remainder[6]));
  }
}

TEST(Elementwise, IntegerPow) {
  const Tensor base = vector(DType::i32, {2, 3, -2, 0, 1, -1, -1, 5, 2});
  const Tensor exponent = vector(DType::i32, {10, 21, 3, 0, -4, -3, -2, -1, 33});
  expect_same(run(Op::pow, {base, exponent}), vector(DType::i32, {1024, 1870418611, -8, 1, 1, -1, 1, 0, 0}));
  const uint64_t big =
      ints_of(run(Op::pow, {exact<uint64_t>(DType::u64, {3}), exact<uint64_t>(DType::u64, {~0ULL})}))[0];
  EXPECT_EQ(big * 3, 1U);  // 3^(2^64) is 1 modulo 2^64
}

TEST(Elementwise, MaxAndMinOfSpecialValues) {
  for (DType dtype : kFloats) {
    const Tensor a = vector(dtype, {1, kNan, 1, -0.0, 0.0, -kInf});
    const Tensor b = vector(dtype, {2, 1, kNan, 0.0, -0.0, kInf});
    const std::vector<double> larger = values_of(run(Op::max, {a, b}));
    const std::vector<double> smaller = values_of(run(Op::min, {a, b}));
    EXPECT_EQ(larger[0], 2);
    EXPECT_EQ(smaller[0], 1);
    EXPECT_TRUE(std::isnan(larger[1]) && std::isnan(larger[2]) && std::isnan(smaller[1]) &&
                std::isnan(smaller[2]));
    const bool second_wins = dtype != DType::f16;
    EXPECT_EQ(std::signbit(larger[3]), !second_wins);
    EXPECT_EQ(std::signbit(larger[4]), second_wins);
    EXPECT_EQ(std::signbit(smaller[3]), !second_wins);
    EXPECT_EQ(larger[5], kInf);
    EXPECT_EQ(smaller[5], -kInf);
  }
  const Tensor no_yes = vector(DType::boolean, {0, 1, 0, 1});
  const Tensor pair = vector(DType::boolean, {0, 0, 1, 1});
  expect_same(run(Op::max, {no_yes, pair}), vector(DType::boolean, {0, 1, 1, 1}));
  expect_same(run(Op::min, {no_yes, pair}), vector(DType::boolean, {0, 0, 0, 1}));
  expect_same(run(Op::max, {vector(DType::u8, {200}), vector(DType::u8, {100})}), vector(DType::u8, {200}));
}

TEST(Elementwise, ComparisonsKnowSignAndNan) {
  expect_same(run(Op::lt, {vector(DType::u8, {200, 1}), vector(DType::u8, {100, 2})}),
              vector(DType::boolean, {0, 1}));
  expect_same(run(Op::lt, {vector(DType::i8, {-56, 1}), vector(DType::i8, {100, 2})}),
              vector(DType::boolean, {1, 1}));
  expect_same(run(Op::lt, {vector(DType::boolean, {0, 1, 1}), vector(DType::boolean, {1, 0, 1})}),
              vector(DType::boolean, {1, 0, 0}));
  const Tensor nan = vector(DType::f32, {kNan});
  for (Op op : {Op::eq, Op::lt, Op::le, Op::gt, Op::ge}) EXPECT_EQ(ints_of(run(op, {nan, nan}))[0], 0);
  EXPECT_EQ(ints_of(run(Op::ne, {nan, nan}))[0], 1);
  expect_same(run(Op::ge, {vector(DType::f64, {2, 1, 0.0}), vector(DType::f64, {1, 2, -0.0})}),
              vector(DType::boolean, {1, 0, 1}));
}

TEST(Elementwise, SelectAndClamp) {
  expect_same(run(Op::select,
                  {vector(DType::boolean, {1, 0}), vector(DType::i64, {1, 2}), vector(DType::i64, {3, 4})}),
              vector(DType::i64, {1, 4}));
  const Tensor low = scalar_tensor(DType::f32, 0.0);
  const Tensor high = scalar_tensor(DType::f32, 6.0);
  const std::vector<double> clamped =
      values_of(run(Op::clamp, {low, vector(DType::f32, {-3, 3, 9, kNan}), high}));
  EXPECT_EQ(clamped[0], 0);
  EXPECT_EQ(clamped[1], 3);
  EXPECT_EQ(clamped[2], 6);
  EXPECT_TRUE(std::isnan(clamped[3]));
  EXPECT_EQ(values_of(run(Op::clamp, {high, vector(DType::f32, {3}), low}))[0], 0);  // high wins
}

TEST(Elementwise, RoundingSignAndClasses) {
  for (DType dtype : kFloats) {
    const Tensor x = vector(dtype, {0.5, 1.5, 2.5, -0.5, -1.25});
    expect_same(run(Op::round, {x}), vector(dtype, {0, 2, 2, -0.0, -1}));
    expect_same(run(Op::floor, {x}), vector(dtype, {0, 1, 2, -1, -2}));
    expect_same(run(Op::ceil, {x}), vector(dtype, {1, 2, 3, -0.0, -1}));
    expect_same(run(Op::trunc, {x}), vector(dtype, {0, 1, 2, -0.0, -1}));
    const Tensor special = vector(dtype, {kNan, kInf, -kInf, -0.0, 1});
    expect_same(run(Op::is_nan, {special}), vector(DType::boolean, {1, 0, 0, 0, 0}));
    expect_same(run(Op::is_inf, {special}), vector(DType::boolean, {0, 1, 1, 0, 0}));
    expect_same(run(Op::is_finite, {special}), vector(DType::boolean, {0, 0, 0, 1, 1}));
    const std::vector<double> signs = values_of(run(Op::sign, {special}));
    EXPECT_TRUE(std::isnan(signs[0]));
    EXPECT_EQ(signs[1], 1);
    EXPECT_EQ(signs[2], -1);
    EXPECT_EQ(std::signbit(signs[3]), dtype == DType::bf16);
    expect_same(run(Op::sign_bit, {vector(dtype, {-0.0, 0.0, -kInf, 3})}),
                vector(DType::boolean, {1, 0, 1, 0}));
    expect_same(run(Op::copysign, {vector(dtype, {3, -3}), vector(dtype, {-0.0, 1})}),
                vector(dtype, {-3, 3}));
  }
  expect_same(run(Op::sign, {vector(DType::i16, {-5, 0, 9})}), vector(DType::i16, {-1, 0, 1}));
  expect_same(run(Op::sign, {vector(DType::u16, {0, 9})}), vector(DType::u16, {0, 1}));
  expect_same(run(Op::floor, {vector(DType::i16, {-5})}), vector(DType::i16, {-5}));
  expect_same(run(Op::is_finite, {vector(DType::i16, {-5})}), vector(DType::boolean, {1}));
}

TEST(Elementwise, Nextafter) {
  for (DType dtype : kFloats) {
    const double smallest = dtype == DType::f16    ? 0x1p-24
                            : dtype == DType::bf16 ? 0x1p-133
                            : dtype == DType::f32  ? 0x1p-149
                                                   : 0x1p-1074;
    const double epsilon = dtype == DType::f16    ? 0x1p-10
                           : dtype == DType::bf16 ? 0x1p-7
                           : dtype == DType::f32  ? 0x1p-23
                                                  : 0x1p-52;
    expect_same(
        run(Op::nextafter, {vector(dtype, {0, 0, 1, 1, -1, smallest}), vector(dtype, {1, -1, 2, 0, -2, 0})}),
        vector(dtype, {smallest, -smallest, 1 + epsilon, 1 - epsilon / 2, -1 - epsilon, 0}));
  }
  expect_same(
      run(Op::nextafter, {vector(DType::f16, {65504, kInf, 0x1p-14}), vector(DType::f16, {kInf, 0, 0})}),
      vector(DType::f16, {kInf, 65504, 0x1p-14 - 0x1p-24}));
}

TEST(Elementwise, Bits) {
  expect_same(run(Op::bit_not, {vector(DType::boolean, {0, 1})}), vector(DType::boolean, {1, 0}));
  expect_same(run(Op::bit_not, {vector(DType::u8, {0, 170})}), vector(DType::u8, {255, 85}));
  expect_same(run(Op::bit_xor, {vector(DType::i32, {6}), vector(DType::i32, {3})}), vector(DType::i32, {5}));
  const Tensor amounts = vector(DType::i8, {1, 7, 8, 100, -1});
  expect_same(run(Op::shift_left, {vector(DType::i8, {3, 3, 3, 3, 3}), amounts}),
              vector(DType::i8, {6, -128, 0, 0, 0}));
  expect_same(run(Op::shift_right, {vector(DType::i8, {-5, -5, -5, -5, 5}), amounts}),
              vector(DType::i8, {-3, -1, -1, -1, 0}));
  expect_same(run(Op::shift_right, {vector(DType::u8, {200, 200}), vector(DType::u8, {1, 8})}),
              vector(DType::u8, {100, 0}));
  expect_same(run(Op::popcount, {vector(DType::i8, {-1, -128, 7})}), vector(DType::u8, {1, 1, 3}));
  expect_same(run(Op::popcount, {vector(DType::boolean, {0, 1})}), vector(DType::u8, {0, 1}));
}

TEST(Elementwise, NarrowFloatsRoundEveryOp) {
  expect_same(run(Op::add, {vector(DType::f16, {2048}), vector(DType::f16, {1})}),
              vector(DType::f16, {2048}));
  expect_same(run(Op::mul, {vector(DType::f16, {300}), vector(DType::f16, {300})}),
              vector(DType::f16, {kInf}));
  expect_same(run(Op::add, {vector(DType::bf16, {256}), vector(DType::bf16, {1})}),
              vector(DType::bf16, {256}));
}

TEST(Elementwise, TranscendentalsAreWiredToTheirFunctions) {
  struct {
    Op op;
    double (*function)(double);
  } const kFunctions[] = {
      {Op::exp, std::exp},     {Op::exp2, std::exp2},   {Op::expm1, std::expm1}, {Op::log, std::log},
      {Op::log2, std::log2},   {Op::log10, std::log10}, {Op::log1p, std::log1p}, {Op::sin, std::sin},
      {Op::cos, std::cos},     {Op::tan, std::tan},     {Op::asin, std::asin},   {Op::acos, std::acos},
      {Op::atan, std::atan},   {Op::sinh, std::sinh},   {Op::cosh, std::cosh},   {Op::tanh, std::tanh},
      {Op::asinh, std::asinh}, {Op::atanh, std::atanh}, {Op::erf, std::erf},     {Op::erfc, std::erfc},
      {Op::cbrt, std::cbrt},   {Op::sqrt, std::sqrt},
  };
  for (const auto& [op, function] : kFunctions) {
    const double actual = values_of(run(op, {vector(DType::f64, {0.375})}))[0];
    EXPECT_NEAR(actual, function(0.375), 1e-15) << name_of(op);
  }
  const auto one = [](Op op, double x) { return values_of(run(op, {vector(DType::f64, {x})}))[0]; };
  const auto two = [](Op op, double x, double y) {
    return values_of(run(op, {vector(DType::f64, {x}), vector(DType::f64, {y})}))[0];
  };
  EXPECT_NEAR(one(Op::acosh, 1.5), std::acosh(1.5), 1e-15);
  EXPECT_NEAR(one(Op::sigmoid, 1.5), 1 / (1 + std::exp(-1.5)), 1e-15);
  EXPECT_NEAR(one(Op::rsqrt, 1.5), 1 / std::sqrt(1.5), 1e-15);
  EXPECT_NEAR(two(Op::pow, 1.5, 2.5), std::pow(1.5, 2.5), 1e-15);
  EXPECT_NEAR(two(Op::atan2, 1.5, -2.5), std::atan2(1.5, -2.5), 1e-15);
  EXPECT_EQ(two(Op::hypot, 3, 4), 5);
}

}  // namespace
}  // namespace tokamak
