// Values that should come out to the last bit, because people notice when they do not.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "math/column_builder.h"
#include "ops/math/large_angles.h"
#include "ops/math/math.h"

namespace tokamak::test {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T, typename Build>
T evaluate(bool fma, Build build, T x, T y = T(1)) {
  ColumnBuilder builder(fma);
  Lane lane = sizeof(T) == 4 ? Lane::f32 : Lane::f64;
  Scalar a = builder.input<T>(lane, std::vector<T>(kBlock, x));
  Scalar b = builder.input<T>(lane, std::vector<T>(kBlock, y));
  return builder.output<T>(build(builder, a, b))[0];
}

template <typename Build>
void expect_everywhere(const char* what, Build build, double x, double y, double wanted) {
  auto same = [](auto a, auto b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  };
  for (bool fma : {true, false}) {
    float narrow = evaluate<float>(fma, build, static_cast<float>(x), static_cast<float>(y));
    EXPECT_TRUE(same(narrow, static_cast<float>(wanted)))
        << what << " f32 of " << x << ", " << y << " is " << narrow << ", not " << wanted
        << (fma ? "" : ", without fma");
    double wide = evaluate<double>(fma, build, x, y);
    EXPECT_TRUE(same(wide, wanted)) << what << " f64 of " << x << ", " << y << " is " << wide << ", not "
                                    << wanted << (fma ? "" : ", without fma");
  }
}

void expect_unary(const char* what, Scalar (*function)(ScalarBuilder&, Scalar), double x, double wanted) {
  expect_everywhere(
      what, [&](ScalarBuilder& s, Scalar a, Scalar) { return function(s, a); }, x, 1, wanted);
}

void expect_binary(const char* what, Scalar (*function)(ScalarBuilder&, Scalar, Scalar), double x, double y,
                   double wanted) {
  expect_everywhere(
      what, [&](ScalarBuilder& s, Scalar a, Scalar b) { return function(s, a, b); }, x, y, wanted);
}

}  // namespace

#define UNARY(function, x, wanted) expect_unary(#function, math::function, x, wanted)
#define POW(x, y, wanted) expect_binary("pow", math::pow, x, y, wanted)
#define ATAN2(y, x, wanted) expect_binary("atan2", math::atan2, y, x, wanted)

TEST(ExactValues, LengthsOfVectors) {
  const auto hypot = [](double x, double y, double wanted) {
    expect_binary("hypot", math::hypot, x, y, wanted);
    expect_binary("hypot", math::hypot, y, -x, wanted);
  };
  hypot(3, 4, 5);
  hypot(0, 0, 0);
  hypot(-0.0, 7, 7);
  hypot(0x1p-140, 0, 0x1p-140);
  hypot(3 * 0x1p-120, 4 * 0x1p-120, 5 * 0x1p-120);
  hypot(3 * 0x1p120, 4 * 0x1p120, 5 * 0x1p120);
  hypot(kInf, 1, kInf);
  hypot(kInf, -kInf, kInf);
  hypot(kInf, kNaN, kInf);
  hypot(kNaN, 1, kNaN);
}

TEST(ExactValues, Exponentials) {
  UNARY(exp, 0.0, 1);
  UNARY(exp, -0.0, 1);
  UNARY(exp, -kInf, 0);
  UNARY(exp, 1e30, kInf);
  UNARY(exp2, 10, 1024);
  UNARY(exp2, -126, 0x1p-126);
  UNARY(exp2, 0.0, 1);
  UNARY(expm1, -0.0, -0.0);
  UNARY(expm1, -kInf, -1);
  UNARY(sigmoid, 0.0, 0.5);
  UNARY(sigmoid, kInf, 1);
  UNARY(sigmoid, -kInf, 0);
}

TEST(ExactValues, Logarithms) {
  UNARY(log, 1, 0);
  UNARY(log, 0.0, -kInf);
  UNARY(log, -0.0, -kInf);
  UNARY(log, -1, kNaN);
  UNARY(log, kInf, kInf);
  UNARY(log1p, -0.0, -0.0);
  UNARY(log1p, -1, -kInf);
  UNARY(log1p, -2, kNaN);
  for (int exponent = -149; exponent < 128; ++exponent) UNARY(log2, std::ldexp(1.0, exponent), exponent);
  UNARY(log10, 1, 0);
  UNARY(log10, 10, 1);
  UNARY(log10, 100, 2);
  UNARY(log10, 1000, 3);
}

TEST(ExactValues, Trigonometry) {
  UNARY(sin, -0.0, -0.0);
  UNARY(cos, 0.0, 1);
  UNARY(tan, -0.0, -0.0);
  UNARY(sin, kInf, kNaN);
  UNARY(asin, -0.0, -0.0);
  UNARY(acos, 1, 0);
  UNARY(acos, 1.5, kNaN);
  UNARY(atan, -0.0, -0.0);
  ATAN2(0.0, 1, 0);
  ATAN2(-0.0, 1, -0.0);
  ATAN2(0.0, 0.0, 0);
  ATAN2(kNaN, 1, kNaN);
  ATAN2(1, kNaN, kNaN);
  ATAN2(0.0, kNaN, kNaN);
}

TEST(ExactValues, HyperbolicAndErrorFunctions) {
  UNARY(sinh, -0.0, -0.0);
  UNARY(cosh, 0.0, 1);
  UNARY(tanh, -0.0, -0.0);
  UNARY(tanh, 50, 1);
  UNARY(tanh, -kInf, -1);
  UNARY(asinh, -kInf, -kInf);
  UNARY(acosh, 1, 0);
  UNARY(acosh, 0.5, kNaN);
  UNARY(atanh, 1, kInf);
  UNARY(atanh, -1, -kInf);
  UNARY(atanh, 2, kNaN);
  UNARY(erf, -0.0, -0.0);
  UNARY(erf, 10, 1);
  UNARY(erfc, 0.0, 1);
  UNARY(erfc, kInf, 0);
  UNARY(erfc, -kInf, 2);
}

TEST(ExactValues, PowersAndRoots) {
  POW(kNaN, 0.0, 1);
  POW(1, kNaN, 1);
  POW(kNaN, 1, kNaN);
  POW(-1, kInf, 1);
  POW(-1, kNaN, kNaN);
  POW(-8, 1.0 / 3, kNaN);
  POW(-2, 3, -8);
  POW(-2, 2, 4);
  POW(-0.0, -3, -kInf);
  POW(-0.0, -2, kInf);
  POW(-0.0, 3, -0.0);
  POW(-0.0, 0.5, 0);
  POW(-kInf, 3, -kInf);
  POW(-kInf, -3, -0.0);
  POW(-kInf, 0.5, kInf);
  POW(0.5, -kInf, kInf);
  POW(0.5, kInf, 0);
  POW(2, -kInf, 0);
  POW(-2, kInf, kInf);
  for (int base = 2; base < 12; ++base) {
    for (int exponent = 0; std::pow(base, exponent) < 1 << 24; ++exponent)
      POW(base, exponent, std::pow(base, exponent));
  }
  for (int root = -50; root <= 50; ++root) UNARY(cbrt, double(root) * root * root, root);
  UNARY(cbrt, -0.0, -0.0);
  UNARY(cbrt, -kInf, -kInf);
  UNARY(rsqrt, 4, 0.5);
  UNARY(rsqrt, 0.0, kInf);
  UNARY(rsqrt, kInf, 0);
  UNARY(rsqrt, -1, kNaN);
}

/// Lanes with small angles go the way of the large ones beside them, and come out of it.
TEST(ExactValues, SmallAnglesBesideLargeOnes) {
  for (const double x : {0.0, -0.0, 5e-324, 1e-300, 1e-9, 0.5, 0.999, -0.25}) {
    EXPECT_EQ(math::large_sin(x), std::sin(x)) << x;
    EXPECT_EQ(std::signbit(math::large_sin(x)), std::signbit(x)) << x;
    EXPECT_EQ(math::large_cos(x), std::cos(x)) << x;
    EXPECT_EQ(math::large_tan(x), std::tan(x)) << x;
  }
  EXPECT_DOUBLE_EQ(math::large_sin(1.0), std::sin(1.0));
  EXPECT_DOUBLE_EQ(math::large_cos(-1.0), std::cos(1.0));
  EXPECT_DOUBLE_EQ(math::large_tan(-1.0), -std::tan(1.0));
}

}  // namespace tokamak::test
