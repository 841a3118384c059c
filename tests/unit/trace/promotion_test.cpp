#include "trace/promotion.h"

#include <sstream>

#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::expect_error;

constexpr DType kNumpyTypes[] = {DType::boolean, DType::i8,  DType::i16, DType::i32, DType::i64, DType::u8,
                                 DType::u16,     DType::u32, DType::u64, DType::f16, DType::f32, DType::f64};
/// numpy.promote_types for every pair, in the order of kNumpyTypes.
constexpr const char* kTable[] = {
    "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64",  "i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 f32 f64",
    "i16 i16 i16 i32 i64 i16 i32 i64 f64 f32 f32 f64", "i32 i32 i32 i32 i64 i32 i32 i64 f64 f64 f64 f64",
    "i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64", "u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64",
    "u16 i32 i32 i32 i64 u16 u16 u32 u64 f32 f32 f64", "u32 i64 i64 i64 i64 u32 u32 u32 u64 f64 f64 f64",
    "u64 f64 f64 f64 f64 u64 u64 u64 u64 f64 f64 f64", "f16 f16 f32 f64 f64 f16 f32 f64 f64 f16 f32 f64",
    "f32 f32 f32 f64 f64 f32 f32 f64 f64 f32 f32 f64", "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64",
};

TEST(Promotion, IsNumpys) {
  for (size_t i = 0; i < std::size(kNumpyTypes); ++i) {
    std::istringstream row(kTable[i]);
    for (DType other : kNumpyTypes) {
      std::string wanted;
      row >> wanted;
      EXPECT_EQ(name_of(promote(kNumpyTypes[i], other)), wanted)
          << name_of(kNumpyTypes[i]) << " with " << name_of(other);
    }
  }
}

TEST(Promotion, OfBf16) {
  EXPECT_EQ(promote(DType::bf16, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::bf16, DType::boolean), DType::bf16);
  EXPECT_EQ(promote(DType::u8, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::bf16, DType::f16), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::f64, DType::bf16), DType::f64);
}

DType common(std::vector<Operand> operands) { return common_dtype(operands); }

TEST(Promotion, NumbersAdoptTheDtypeOfArrays) {
  const Array bools = Array::from<uint8_t>({1}, {1});
  auto of = [](DType dtype) { return astype(Array::from<float>({1}, {1}), dtype); };
  EXPECT_EQ(common({of(DType::i8), 1}), DType::i8);
  EXPECT_EQ(common({of(DType::f32), 1}), DType::f32);
  EXPECT_EQ(common({of(DType::f16), 0.5}), DType::f16);
  EXPECT_EQ(common({of(DType::bf16), 0.5}), DType::bf16);
  EXPECT_EQ(common({of(DType::i8), 0.5}), DType::f64);
  EXPECT_EQ(common({of(DType::boolean), 1}), DType::i64);
  EXPECT_EQ(common({of(DType::boolean), true}), DType::boolean);
  EXPECT_EQ(common({of(DType::boolean), 1.5}), DType::f64);
  EXPECT_EQ(common({1, of(DType::u8), 2.5f, of(DType::f32)}), DType::f32);
  EXPECT_EQ(common({1, 2}), DType::i64);
  EXPECT_EQ(common({1, 2.0}), DType::f64);
  EXPECT_EQ(common({true, false}), DType::boolean);
  EXPECT_EQ(common({~uint64_t{0}}), DType::u64);
}

TEST(Promotion, NumbersMustFit) {
  EXPECT_TRUE(fits(int64_t{127}, DType::i8));
  EXPECT_FALSE(fits(int64_t{128}, DType::i8));
  EXPECT_TRUE(fits(int64_t{-128}, DType::i8));
  EXPECT_FALSE(fits(int64_t{-129}, DType::i8));
  EXPECT_FALSE(fits(int64_t{-1}, DType::u64));
  EXPECT_TRUE(fits(~uint64_t{0}, DType::u64));
  EXPECT_FALSE(fits(~uint64_t{0}, DType::i64));
  EXPECT_TRUE(fits(int64_t{-1}, DType::f16));
  const Array x = Array::from<uint8_t>({1}, {1});
  expect_error<UserError>([&] { add(x, 300); }, "add: the integer 300 does not fit in u8", __LINE__);
  expect_error<UserError>([&] { x - -1; }, "sub: the integer -1 does not fit in u8", __LINE__);
}

DType result(const std::function<Array(Array)>& function, DType dtype) {
  return function(astype(Array::from<float>({1}, {1}), dtype)).dtype();
}

TEST(Promotion, ResultsAreNumpys) {
  auto self = [](auto function) { return [=](Array x) { return function(x, x); }; };
  const std::function<Array(Array)> sine = [](Array x) { return sin(x); };
  EXPECT_EQ(result(sine, DType::boolean), DType::f16);
  EXPECT_EQ(result(sine, DType::u8), DType::f16);
  EXPECT_EQ(result(sine, DType::i16), DType::f32);
  EXPECT_EQ(result(sine, DType::i32), DType::f64);
  EXPECT_EQ(result(sine, DType::bf16), DType::bf16);
  EXPECT_EQ(result(self(div), DType::i8), DType::f64);
  EXPECT_EQ(result(self(div), DType::boolean), DType::f64);
  EXPECT_EQ(result(self(div), DType::f16), DType::f16);
  EXPECT_EQ(result(self(add), DType::boolean), DType::boolean);
  EXPECT_EQ(result(self(mul), DType::boolean), DType::boolean);
  EXPECT_EQ(result(self(floor_div), DType::boolean), DType::i8);
  EXPECT_EQ(result(self(pow), DType::boolean), DType::i8);
  EXPECT_EQ(result(self(shift_left), DType::boolean), DType::i8);
  EXPECT_EQ(result(self(atan2), DType::u16), DType::f32);
  EXPECT_EQ(result([](Array x) { return floor(x); }, DType::boolean), DType::boolean);
  EXPECT_EQ(result([](Array x) { return ceil(x); }, DType::i32), DType::i32);
  EXPECT_EQ(result([](Array x) { return rint(x); }, DType::i8), DType::f16);
  EXPECT_EQ(result([](Array x) { return abs(x); }, DType::boolean), DType::boolean);
  EXPECT_EQ(result([](Array x) { return is_nan(x); }, DType::i32), DType::boolean);
  EXPECT_EQ(result([](Array x) { return sign_bit(x); }, DType::i32), DType::boolean);
  EXPECT_EQ(result([](Array x) { return popcount(x); }, DType::boolean), DType::u8);
  EXPECT_EQ(result([](Array x) { return popcount(x); }, DType::i32), DType::u8);
  EXPECT_EQ(result([](Array x) { return square(x); }, DType::boolean), DType::i8);
  EXPECT_EQ(result([](Array x) { return sum(x); }, DType::boolean), DType::i64);
  EXPECT_EQ(result([](Array x) { return sum(x); }, DType::u8), DType::u64);
  EXPECT_EQ(result([](Array x) { return prod(x); }, DType::i8), DType::i64);
  EXPECT_EQ(result([](Array x) { return cumsum(x); }, DType::i8), DType::i64);
  EXPECT_EQ(result([](Array x) { return mean(x); }, DType::i8), DType::f64);
  EXPECT_EQ(result([](Array x) { return mean(x); }, DType::f16), DType::f16);
  EXPECT_EQ(result([](Array x) { return var(x); }, DType::bf16), DType::bf16);
  EXPECT_EQ(result([](Array x) { return max(x); }, DType::boolean), DType::boolean);
  EXPECT_EQ(result([](Array x) { return argmax(x); }, DType::f32), DType::i64);
}

TEST(Promotion, WhatNumpyRefuses) {
  const Array bools = astype(Array::from<uint8_t>({1, 0}, {2}), DType::boolean);
  const Array floats = Array::from<float>({1, 2}, {2});
  expect_error<UserError>([&] { negative(bools); }, "neg: ", __LINE__);
  expect_error<UserError>([&] { bools - bools; }, "sub: ", __LINE__);
  expect_error<UserError>([&] { floats& floats; }, "bit_and: ", __LINE__);
  expect_error<UserError>([&] { floats << 1; }, "shift_left: ", __LINE__);
  expect_error<UserError>([&] { pow(Array::from<int>({2}, {1}), -1); }, "pow: ", __LINE__);
}

}  // namespace
}  // namespace tokamak
