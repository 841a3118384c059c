#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::both_ways;
using testing::counting;
using testing::doubles;
using testing::expect_close;
using testing::expect_error;
using D = std::vector<double>;

TEST(Shape, Views) {
  const Array x = counting({2, 3});
  EXPECT_EQ(both_ways([](Array a) { return transpose(a); }, x), (D{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(both_ways([](Array a) { return reshape(a, {3, -1}); }, x), (D{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(reshape(x, {-1, 1}).shape(), (Shape{6, 1}));
  EXPECT_EQ(ravel(x).shape(), (Shape{6}));
  EXPECT_EQ(swapaxes(x, 0, -1).shape(), (Shape{3, 2}));
  EXPECT_EQ(both_ways([](Array a) { return flip(a); }, x), (D{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(both_ways([](Array a) { return flip(a, -1); }, x), (D{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(moveaxis(zeros({2, 3, 4, 5}), {0}, {-1}).shape(), (Shape{3, 4, 5, 2}));
  EXPECT_EQ(moveaxis(zeros({2, 3, 4, 5}), {3, 2}, {0, 1}).shape(), (Shape{5, 4, 2, 3}));
  EXPECT_EQ(expand_dims(x, {0, -1}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1})).shape(), (Shape{2}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1}), -1).shape(), (Shape{1, 2}));
  EXPECT_EQ(both_ways(
                [](Array a) {
                  return broadcast_to(a, {2, 2, 3});
                },
                x),
            (D{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(both_ways([](Array a) { return slice(a, {0, 1}, {2, 3}); }, x), (D{1, 2, 4, 5}));
}

TEST(Shape, IndexingIsPythons) {
  const Array x = counting({6});
  auto pick = [&](Range range) { return both_ways([&](Array a) { return at(a, {range}); }, x); };
  EXPECT_EQ(pick({1, -1}), (D{1, 2, 3, 4}));
  EXPECT_EQ(pick({{}, {}, 2}), (D{0, 2, 4}));
  EXPECT_EQ(pick({{}, {}, -1}), (D{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(pick({4, 0, -2}), (D{4, 2}));
  EXPECT_EQ(pick({-1, -100, -4}), (D{5, 1}));
  EXPECT_EQ(pick({4, 2}), (D{}));
  EXPECT_EQ(pick({2, 4, -1}), (D{}));
  EXPECT_EQ(pick({0, 100, 100}), (D{0}));
  EXPECT_EQ(pick({100, {}, -100}), (D{5}));
  const Array y = counting({2, 3, 2});
  EXPECT_EQ(both_ways([](Array a) { return at(a, {-1, Range{}, 1}); }, y), (D{7, 9, 11}));
  EXPECT_EQ(at(y, {ellipsis, 0, newaxis}).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(at(y, {newaxis, 1}).shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(doubles(at(y, {1, 2, 0})), (D{10}));
  expect_error<UserError>([&] { at(y, {2}); }, "index: 2 is out of range for axis 0 of f64[2,3,2]", __LINE__);
  expect_error<UserError>([&] { at(x, {0, 0}); }, "2 indices for f64[6]", __LINE__);
  expect_error<UserError>([&] { at(x, {Range{0, 1, 0}}); }, "step", __LINE__);
}

TEST(Shape, Making) {
  EXPECT_EQ(doubles(zeros({2})), (D{0, 0}));
  EXPECT_TRUE(zeros({2, 2}).is_dense());
  EXPECT_EQ(ones({2}, DType::i8).dtype(), DType::i8);
  EXPECT_EQ(doubles(full({3}, 2.5)), (D{2.5, 2.5, 2.5}));
  EXPECT_EQ(full({3}, 2).dtype(), DType::i64);
  EXPECT_EQ(doubles(iota({2, 3}, 1)), (D{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(doubles(arange(2, 9, 3)), (D{2, 5, 8}));
  EXPECT_EQ(doubles(arange(3, 0, -1)), (D{3, 2, 1}));
  EXPECT_EQ(arange(3, 0).size(), 0);
  EXPECT_EQ(doubles(arange(0.0, 1.0, 0.25)), (D{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(doubles(linspace(0, 1, 5)), (D{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(doubles(eye(2, 3, 1)), (D{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(both_ways([](Array a) { return a + iota({3}, 0, DType::f64) + zeros({3}); }, counting({3})),
            (D{0, 2, 4}));
  expect_error<UserError>([] { arange(0, 1, 0); }, "arange: the step is 0", __LINE__);
  expect_error<UserError>([] { arange(0.0, INFINITY, 1.0); }, "arange", __LINE__);
  expect_error<UserError>([] { iota({2}, 1); }, "iota: axis 1 is out of range", __LINE__);
}

TEST(Shape, PuttingTogether) {
  const Array x = counting({2, 2});
  EXPECT_EQ(both_ways(
                [](Array a) {
                  return concatenate({a, a * 10}, 1);
                },
                x),
            (D{0, 1, 0, 10, 2, 3, 20, 30}));
  EXPECT_EQ(both_ways([](Array a) { return stack({a, a + 4}, -1); }, x), (D{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(both_ways(
                [](Array a) {
                  return pad(a, {1, 0}, {0, 1}, -1);
                },
                x),
            (D{-1, -1, -1, 0, 1, -1, 2, 3, -1}));
  EXPECT_EQ(both_ways([](Array a) { return pad(a, {0, 0}, {0, 0}, 9, {1, 0}); }, x), (D{0, 1, 9, 9, 2, 3}));
  EXPECT_EQ(both_ways([](Array a) { return split(a, 2, 1)[1]; }, x), (D{1, 3}));
  EXPECT_EQ(split(counting({5}), std::vector<int64_t>{1, 3}).size(), 3u);
  EXPECT_EQ(both_ways([](Array a) { return roll(a, 1, -1); }, x), (D{1, 0, 3, 2}));
  EXPECT_EQ(both_ways([](Array a) { return roll(a, -3, 0); }, counting({5})), (D{3, 4, 0, 1, 2}));
  EXPECT_EQ(both_ways([](Array a) { return repeat(a, 2, 1); }, x), (D{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(both_ways(
                [](Array a) {
                  return tile(a, {2, 1, 2});
                },
                x),
            (D{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(both_ways([](Array a) { return tril(a + 1); }, x), (D{1, 0, 3, 4}));
  EXPECT_EQ(both_ways([](Array a) { return triu(a + 1, 1); }, x), (D{0, 2, 0, 0}));
  EXPECT_EQ(both_ways([](Array a) { return diff(a * a); }, counting({4})), (D{1, 3, 5}));
  EXPECT_EQ(concatenate({Array::from<int8_t>({1}, {1}), Array::from<float>({1}, {1})}).dtype(), DType::f32);
  expect_error<UserError>([&] { concatenate({x, counting({3, 3})}, 0); }, "concatenate: ", __LINE__);
  expect_error<UserError>([&] { stack({x, counting({2})}); }, "stack: f64[2] has another shape", __LINE__);
  expect_error<UserError>([&] { split(x, 3); }, "split: ", __LINE__);
}

TEST(Shape, Picking) {
  const Array x = counting({3, 2});
  const Array rows = Array::from<int32_t>({2, -3}, {2});
  EXPECT_EQ(both_ways([&](Array a) { return take(a, rows, 0); }, x), (D{4, 5, 0, 1}));
  EXPECT_EQ(both_ways([&](Array a) { return take(a, 5); }, x), (D{5}));
  EXPECT_EQ(take(x, 1, 0).shape(), (Shape{2}));
  EXPECT_EQ(doubles(take(x, Array::from<int>({-9, 9}, {2}), 0, IndexMode::clip)), (D{0, 1, 4, 5}));
  EXPECT_EQ(doubles(take(x, Array::from<int>({-1, 4}, {2}), 0, IndexMode::wrap)), (D{4, 5, 2, 3}));
  EXPECT_EQ(doubles(take(counting({200}), Array::from<int8_t>({-100}, {1}))), (D{100}));
  const Array per_row = Array::from<int64_t>({1, 0, -1}, {3, 1});
  EXPECT_EQ(both_ways([&](Array a) { return take_along_axis(a, per_row, 1); }, x), (D{1, 2, 5}));
  const Array i = Array::from<int64_t>({0, 2}, {2});
  const Array j = Array::from<int64_t>({1, -1}, {2});
  EXPECT_EQ(both_ways([&](Array a) { return take_points(a, {i, j}); }, x), (D{1, 5}));
  EXPECT_EQ(both_ways([&](Array a) { return scatter(a, rows, -1, 0); }, x), (D{-1, -1, 2, 3, -1, -1}));
  EXPECT_EQ(doubles(scatter(zeros({3}), Array::from<int>({1, 1}, {2}), Array::from<float>({2, 3}, {2}), 0,
                            Combine::add)),
            (D{0, 5, 0}));
  EXPECT_EQ(both_ways([](Array a) { return dynamic_slice(a, {1, 5}, {2, 1}); }, x), (D{3, 5}));
  EXPECT_EQ(both_ways(
                [](Array a) {
                  return dynamic_update_slice(a, full({1, 2}, 9), {2, 0});
                },
                x),
            (D{0, 1, 2, 3, 9, 9}));
  expect_error<UserError>([&] { take(x, 0.5, 0); }, "take: indices f64[] are not integers", __LINE__);
  expect_error<UserError>([&] { take(x, 3, 0); }, "gather", __LINE__);
  expect_error<UserError>([&] { take_points(x, {i, Array::from<int64_t>({2}, {1})}); }, "", __LINE__);
}

TEST(Shape, ErrorsNameOpTypesAndLine) {
  const Array x = counting({2, 3});
  expect_error<UserError>([&] { reshape(x, {4}); }, "reshape: cannot reshape f64[2,3] to [4]", __LINE__);
  expect_error<UserError>(
      [&] {
        reshape(x, {4, -1});
      },
      "reshape: cannot reshape f64[2,3] to [4,-1]", __LINE__);
  expect_error<UserError>([&] { reshape(x, {-1, -1}); }, "only one", __LINE__);
  expect_error<UserError>([&] { reshape(x, {0, -1}); }, "reshape", __LINE__);
  expect_error<UserError>([&] { transpose(x, {0, 0}); }, "transpose: ", __LINE__);
  expect_error<UserError>(
      [&] {
        transpose(x, {0, 2});
      },
      "transpose: axis 2 is out of range for f64[2,3]", __LINE__);
  expect_error<UserError>([&] { squeeze(x, 0); }, "squeeze: axis 0 of f64[2,3] is not 1", __LINE__);
  expect_error<UserError>([&] { broadcast_to(x, {3, 3}); }, "broadcast: f64[2,3]", __LINE__);
  expect_error<UserError>([&] { slice(x, {0, 0}, {9, 3}); }, "slice: ", __LINE__);
  expect_error<UserError>([&] { sum(x, 2); }, "sum: axis 2 is out of range for f64[2,3], which has 2 axes",
                          __LINE__);
  expect_error<UserError>([&] { sum(x, {1, -1}); }, "sum: axis 1 of f64[2,3] is named twice", __LINE__);
}

}  // namespace
}  // namespace tokamak
