#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::both_ways;
using testing::counting;
using testing::doubles;
using testing::expect_close;
using testing::expect_error;
using D = std::vector<double>;

TEST(Reduce, OverAxes) {
  const Array x = counting({2, 3});
  EXPECT_EQ(both_ways([](Array a) { return sum(a); }, x), (D{15}));
  EXPECT_EQ(both_ways([](Array a) { return sum(a, 0); }, x), (D{3, 5, 7}));
  EXPECT_EQ(both_ways([](Array a) { return sum(a, -1); }, x), (D{3, 12}));
  EXPECT_EQ(both_ways([](Array a) { return sum(a, {0, 1}); }, x), (D{15}));
  EXPECT_EQ(both_ways([](Array a) { return sum(a, std::vector<int64_t>{}); }, x), doubles(x));
  EXPECT_EQ(sum(x, 1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(sum(x, {}, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(both_ways([](Array a) { return prod(a + 1, 1); }, x), (D{6, 120}));
  EXPECT_EQ(both_ways([](Array a) { return max(a, 0); }, x), (D{3, 4, 5}));
  EXPECT_EQ(both_ways([](Array a) { return min(a); }, x), (D{0}));
  EXPECT_EQ(both_ways([](Array a) { return any(a, 1); }, x * 0), (D{0, 0}));
  EXPECT_EQ(both_ways([](Array a) { return all(a, 1); }, x), (D{0, 1}));
  EXPECT_EQ(both_ways([](Array a) { return argmax(a); }, x), (D{5}));
  EXPECT_EQ(both_ways([](Array a) { return argmin(a, 1); }, -x), (D{2, 2}));
  EXPECT_EQ(argmax(x, 0, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(argmax(x, {}, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(both_ways([](Array a) { return cumsum(a, 1); }, x), (D{0, 1, 3, 3, 7, 12}));
  EXPECT_EQ(both_ways([](Array a) { return cumsum(a); }, x), (D{0, 1, 3, 6, 10, 15}));
  EXPECT_EQ(both_ways([](Array a) { return cumprod(a + 1, 0); }, x), (D{1, 2, 3, 4, 10, 18}));
  EXPECT_EQ(both_ways([](Array a) { return cummax(-a * a, 1); }, x), (D{0, 0, 0, -9, -9, -9}));
  EXPECT_EQ(both_ways([](Array a) { return sort(-a); }, x), (D{-2, -1, 0, -5, -4, -3}));
  EXPECT_EQ(both_ways([](Array a) { return sort(-a, 0); }, x), (D{-3, -4, -5, 0, -1, -2}));
  EXPECT_EQ(both_ways([](Array a) { return sort(-a, std::nullopt); }, x), (D{-5, -4, -3, -2, -1, 0}));
  EXPECT_EQ(both_ways([](Array a) { return argsort(-a); }, x), (D{2, 1, 0, 2, 1, 0}));
  EXPECT_EQ(both_ways([](Array a) { return cummin(a, 1); }, x), (D{0, 0, 0, 3, 3, 3}));
}

TEST(Reduce, Statistics) {
  const Array x = counting({2, 3});
  EXPECT_EQ(both_ways([](Array a) { return mean(a, 1); }, x), (D{1, 4}));
  expect_close(both_ways([](Array a) { return var(a, 1); }, x), (D{2.0 / 3, 2.0 / 3}));
  expect_close(both_ways([](Array a) { return var(a, 1, false, 1); }, x), (D{1, 1}));
  expect_close(both_ways([](Array a) { return std(a); }, x), (D{std::sqrt(35.0 / 12)}));
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item<double>()));
  EXPECT_TRUE(std::isnan(var(zeros({1}), {}, false, 1).item<double>()));
  // 2048 ones in f16: a running f16 sum would stop at 2048, the square of 300 would overflow.
  EXPECT_EQ(mean(ones({4096}, DType::f16)).dtype(), DType::f16);
  EXPECT_EQ(doubles(mean(ones({4096}, DType::f16) * 300)), (D{300}));
  EXPECT_EQ(doubles(mean(Array::from<int32_t>({1, 2}, {2}))), (D{1.5}));
}

TEST(Reduce, NothingToReduce) {
  EXPECT_EQ(doubles(sum(zeros({0, 2}), 0)), (D{0, 0}));
  EXPECT_EQ(doubles(prod(zeros({0}))), (D{1}));
  expect_error<UserError>([] { max(zeros({0})); }, "reduce_max: ", __LINE__);
  expect_error<UserError>([] { argmin(zeros({2, 0}), 1); }, "argmin: ", __LINE__);
}

TEST(Neural, Softmax) {
  const Array x = Array::from<double>({1, 2, 3, 1000, 1000, -1000}, {2, 3});
  const double e = std::exp(-1.0), f = std::exp(-2.0), t = 1 + e + f;
  expect_close(both_ways([](Array a) { return softmax(a); }, x), (D{f / t, e / t, 1 / t, 0.5, 0.5, 0}));
  expect_close(both_ways([](Array a) { return log_softmax(at(a, {0})); }, x),
               (D{-2 - std::log(t), -1 - std::log(t), -std::log(t)}));
  expect_close(both_ways([](Array a) { return logsumexp(a, 1); }, x),
               (D{3 + std::log(t), 1000 + std::log(2)}));
  expect_close(both_ways([](Array a) { return logsumexp(a); }, full({2}, -INFINITY)), (D{-INFINITY}));
  EXPECT_EQ(logsumexp(x, 0, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(softmax(Array::from<int32_t>({1, 2}, {2})).dtype(), DType::f64);
}

TEST(Neural, Activations) {
  const D points = {-3, -0.5, 0, 0.5, 3};
  D exact, approximate;
  for (double x : points) {
    exact.push_back(0.5 * x * (1 + std::erf(x / std::sqrt(2.0))));
    approximate.push_back(0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))));
  }
  const Array x = Array::from(points, {5});
  expect_close(both_ways([](Array a) { return gelu(a); }, x), exact);
  expect_close(both_ways([](Array a) { return gelu(a, true); }, x), approximate);
  EXPECT_EQ(gelu(astype(x, DType::bf16)).dtype(), DType::bf16);
}

TEST(Neural, Norms) {
  const Array x = Array::from<double>({1, 2, 3, 4}, {1, 4});
  const double d = 1 / std::sqrt(1.25 + 1e-5);
  expect_close(both_ways([](Array a) { return layer_norm(a); }, x),
               (D{-1.5 * d, -0.5 * d, 0.5 * d, 1.5 * d}));
  const Array scale = full({4}, 2.0);
  const Array shift = full({4}, 1.0);
  expect_close(both_ways([&](Array a) { return layer_norm(a, scale, shift); }, x),
               (D{1 - 3 * d, 1 - d, 1 + d, 1 + 3 * d}));
  const double r = 1 / std::sqrt(7.5 + 1e-6);
  expect_close(both_ways([](Array a) { return rms_norm(a); }, x), (D{r, 2 * r, 3 * r, 4 * r}));
  EXPECT_EQ(rms_norm(astype(x, DType::f16)).dtype(), DType::f16);
}

}  // namespace
}  // namespace tokamak
