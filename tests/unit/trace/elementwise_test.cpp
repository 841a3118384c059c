#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::both_ways;
using testing::doubles;
using testing::expect_close;
using testing::expect_error;
using D = std::vector<double>;

struct UnaryCase {
  const char* name;
  Array (*function)(const Operand&);
  double (*reference)(double);
  D inputs;
};

const UnaryCase kUnary[] = {
    {"negative", negative, [](double x) { return -x; }, {-2, 0, 1.5}},
    {"abs", abs, [](double x) { return std::fabs(x); }, {-2, -0.0, 1.5}},
    {"sign", sign, [](double x) { return double((x > 0) - (x < 0)); }, {-2, 0, 1.5}},
    {"square", square, [](double x) { return x * x; }, {-2, 0, 1.5}},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, {-2, 0, 1.5}},
    {"floor", floor, [](double x) { return std::floor(x); }, {-2.5, 0.5, 1.5}},
    {"ceil", ceil, [](double x) { return std::ceil(x); }, {-2.5, 0.5, 1.5}},
    {"trunc", trunc, [](double x) { return std::trunc(x); }, {-2.5, 0.5, 1.5}},
    {"rint", rint, [](double x) { return std::nearbyint(x); }, {-2.5, 0.5, 1.5}},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, {0, 2, -1}},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, {0.25, 2, 9}},
    {"cbrt", cbrt, [](double x) { return std::cbrt(x); }, {-8, 2, 27}},
    {"exp", exp, [](double x) { return std::exp(x); }, {-1, 0, 3}},
    {"exp2", exp2, [](double x) { return std::exp2(x); }, {-1, 0, 3.5}},
    {"expm1", expm1, [](double x) { return std::expm1(x); }, {-1, 1e-9, 3}},
    {"log", log, [](double x) { return std::log(x); }, {0.5, 1, 30}},
    {"log2", log2, [](double x) { return std::log2(x); }, {0.5, 1, 30}},
    {"log10", log10, [](double x) { return std::log10(x); }, {0.5, 1, 30}},
    {"log1p", log1p, [](double x) { return std::log1p(x); }, {-0.5, 1e-9, 30}},
    {"sin", sin, [](double x) { return std::sin(x); }, {-2, 0, 10}},
    {"cos", cos, [](double x) { return std::cos(x); }, {-2, 0, 10}},
    {"tan", tan, [](double x) { return std::tan(x); }, {-2, 0, 10}},
    {"asin", asin, [](double x) { return std::asin(x); }, {-1, 0.2, 0.9}},
    {"acos", acos, [](double x) { return std::acos(x); }, {-1, 0.2, 0.9}},
    {"atan", atan, [](double x) { return std::atan(x); }, {-1, 0.2, 90}},
    {"sinh", sinh, [](double x) { return std::sinh(x); }, {-1, 0.2, 9}},
    {"cosh", cosh, [](double x) { return std::cosh(x); }, {-1, 0.2, 9}},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, {-1, 0.2, 9}},
    {"asinh", asinh, [](double x) { return std::asinh(x); }, {-1, 0.2, 9}},
    {"acosh", acosh, [](double x) { return std::acosh(x); }, {1, 1.2, 9}},
    {"atanh", atanh, [](double x) { return std::atanh(x); }, {-0.9, 0.2, 0.5}},
    {"erf", erf, [](double x) { return std::erf(x); }, {-1, 0.2, 3}},
    {"erfc", erfc, [](double x) { return std::erfc(x); }, {-1, 0.2, 3}},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, {-30, 0.2, 3}},
    {"is_nan", is_nan, [](double x) { return double(std::isnan(x)); }, {NAN, 0, INFINITY}},
    {"is_inf", is_inf, [](double x) { return double(std::isinf(x)); }, {NAN, 0, -INFINITY}},
    {"is_finite", is_finite, [](double x) { return double(std::isfinite(x)); }, {NAN, 0, INFINITY}},
    {"sign_bit", sign_bit, [](double x) { return double(std::signbit(x)); }, {-0.0, 0, -3}},
    {"logical_not", logical_not, [](double x) { return double(!x); }, {-0.0, 0.5, NAN}},
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }, {-1, 0, 2}},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }, {-1, 0, 2}},
};

TEST(Elementwise, OneOperand) {
  for (const UnaryCase& test : kUnary) {
    SCOPED_TRACE(test.name);
    D wanted;
    for (double x : test.inputs) wanted.push_back(test.reference(x));
    expect_close(both_ways([&](Array x) { return test.function(x); }, Array::from(test.inputs, {3})), wanted);
  }
}

struct BinaryCase {
  const char* name;
  Array (*function)(const Operand&, const Operand&);
  double (*reference)(double, double);
};

double python_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

const BinaryCase kBinary[] = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"sub", sub, [](double a, double b) { return a - b; }},
    {"mul", mul, [](double a, double b) { return a * b; }},
    {"div", div, [](double a, double b) { return a / b; }},
    {"floor_div", floor_div, [](double a, double b) { return std::floor(a / b); }},
    {"mod", mod, python_mod},
    {"fmod", fmod, [](double a, double b) { return std::fmod(a, b); }},
    {"pow", [](const Operand& a, const Operand& b) { return pow(abs(a), b); },
     [](double a, double b) { return std::pow(std::fabs(a), b); }},
    {"maximum", maximum, [](double a, double b) { return std::max(a, b); }},
    {"minimum", minimum, [](double a, double b) { return std::min(a, b); }},
    {"atan2", atan2, [](double a, double b) { return std::atan2(a, b); }},
    {"hypot", hypot, [](double a, double b) { return std::hypot(a, b); }},
    {"copysign", copysign, [](double a, double b) { return std::copysign(a, b); }},
    {"nextafter", nextafter, [](double a, double b) { return std::nextafter(a, b); }},
    {"equal", equal, [](double a, double b) { return double(a == b); }},
    {"not_equal", not_equal, [](double a, double b) { return double(a != b); }},
    {"less", less, [](double a, double b) { return double(a < b); }},
    {"less_equal", less_equal, [](double a, double b) { return double(a <= b); }},
    {"greater", greater, [](double a, double b) { return double(a > b); }},
    {"greater_equal", greater_equal, [](double a, double b) { return double(a >= b); }},
    {"logical_and", logical_and, [](double a, double b) { return double(a && b); }},
    {"logical_or", logical_or, [](double a, double b) { return double(a || b); }},
    {"logical_xor", logical_xor, [](double a, double b) { return double(!a != !b); }},
};

TEST(Elementwise, TwoOperandsBroadcast) {
  const D left = {-3.5, 0, 2};
  const D right = {2, -1.5};
  for (const BinaryCase& test : kBinary) {
    SCOPED_TRACE(test.name);
    D wanted;
    for (double a : left) {
      for (double b : right) wanted.push_back(test.reference(a, b));
    }
    const Array row = Array::from(right, {2});
    expect_close(both_ways([&](Array x) { return test.function(x, row); }, Array::from(left, {3, 1})),
                 wanted);
  }
}

TEST(Elementwise, Integers) {
  const Array a = Array::from<int32_t>({-7, 7, 5, 0}, {4});
  const Array b = Array::from<int32_t>({2, -2, 3, 5}, {4});
  EXPECT_EQ(doubles(floor_div(a, b)), (D{-4, -4, 1, 0}));
  EXPECT_EQ(doubles(a % b), (D{1, -1, 2, 0}));
  EXPECT_EQ(doubles(fmod(a, b)), (D{-1, 1, 2, 0}));
  EXPECT_EQ(doubles(a & 6), (D{0, 6, 4, 0}));
  EXPECT_EQ(doubles(a | 8), (D{-7, 15, 13, 8}));
  EXPECT_EQ(doubles(a ^ 1), (D{-8, 6, 4, 1}));
  EXPECT_EQ(doubles(~a), (D{6, -8, -6, -1}));
  EXPECT_EQ(doubles(a << 2), (D{-28, 28, 20, 0}));
  EXPECT_EQ(doubles(a >> 1), (D{-4, 3, 2, 0}));
  EXPECT_EQ(doubles(popcount(a)), (D{3, 3, 2, 0}));
  EXPECT_EQ(doubles(pow(a, 2)), (D{49, 49, 25, 0}));
  EXPECT_EQ(doubles(reciprocal(Array::from<int32_t>({1, -1, 2, -3}, {4}))), (D{1, -1, 0, 0}));
}

TEST(Elementwise, BoolsAddAndMultiplyAsLogic) {
  const Array a = astype(Array::from<int>({0, 0, 1, 1}, {4}), DType::boolean);
  const Array b = astype(Array::from<int>({0, 1, 0, 1}, {4}), DType::boolean);
  EXPECT_EQ(doubles(a + b), (D{0, 1, 1, 1}));
  EXPECT_EQ(doubles(a * b), (D{0, 0, 0, 1}));
  EXPECT_EQ(doubles(~a), (D{1, 1, 0, 0}));
  EXPECT_EQ(doubles(a / b)[3], 1.0);
}

TEST(Elementwise, ComparesIntegersExactly) {
  const Array s = Array::from<int64_t>({-1, INT64_MAX, 5}, {3});
  const Array u = Array::from<uint64_t>({~uint64_t{0}, uint64_t{INT64_MAX} + 1, 5}, {3});
  EXPECT_EQ(doubles(s < u), (D{1, 1, 0}));
  EXPECT_EQ(doubles(u <= s), (D{0, 0, 1}));
  EXPECT_EQ(doubles(s == u), (D{0, 0, 1}));
  EXPECT_EQ(doubles(u != s), (D{1, 1, 0}));
  const Array bytes = Array::from<uint8_t>({0, 255}, {2});
  EXPECT_EQ(doubles(bytes < 300), (D{1, 1}));
  EXPECT_EQ(doubles(300 < bytes), (D{0, 0}));
  EXPECT_EQ(doubles(bytes > -1), (D{1, 1}));
  EXPECT_EQ(doubles(bytes == -1), (D{0, 0}));
  EXPECT_EQ(doubles(bytes != 256), (D{1, 1}));
}

TEST(Elementwise, PowersOfNumbers) {
  const Array x = Array::from<double>({4, 9}, {2});
  EXPECT_EQ(doubles(pow(x, 2)), (D{16, 81}));
  EXPECT_EQ(doubles(pow(x, 0.5)), (D{2, 3}));
  EXPECT_EQ(doubles(pow(x, -1)), (D{0.25, 1.0 / 9}));
  EXPECT_EQ(doubles(pow(x, 1)), (D{4, 9}));
  EXPECT_EQ(doubles(pow(2, x)), (D{16, 512}));
}

TEST(Elementwise, Choosing) {
  const Array x = Array::from<float>({-2, 0, 3}, {3});
  EXPECT_EQ(doubles(where(x > 0, x, -1)), (D{-1, -1, 3}));
  EXPECT_EQ(doubles(where(x, 1, 2.5)), (D{1, 2.5, 1}));
  EXPECT_EQ(where(x > 0, x, 0).dtype(), DType::f32);
  EXPECT_EQ(doubles(clip(x, -1, 2)), (D{-1, 0, 2}));
  EXPECT_EQ(clip(x, -1, 2).dtype(), DType::f32);
  EXPECT_EQ(astype(x, DType::i8).to_vector<int8_t>(), (std::vector<int8_t>{-2, 0, 3}));
}

TEST(Elementwise, ErrorsNameOpTypesAndLine) {
  const Array x = Array::from<float>({1, 2, 3}, {3});
  const Array y = Array::from<float>({1, 2}, {2});
  expect_error<UserError>([&] { x + y; }, "add: cannot broadcast f32[3] with f32[2]", __LINE__);
  expect_error<UserError>([&] { where(x > 0, x, y); }, "select: ", __LINE__);
  auto f = jit([&](Array a, Array b) {
    Array c = a * 2;
    return c - b;
  });
  expect_error<UserError>([&] { f(x, y); }, "sub: cannot broadcast f32[3] with f32[2]", __LINE__ - 2);
}

}  // namespace
}  // namespace tokamak
