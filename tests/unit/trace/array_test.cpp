#include "tokamak/array.h"

#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::counting;
using testing::doubles;
using testing::expect_error;
using D = std::vector<double>;

TEST(Array, HoldsWhatItWasGiven) {
  const Array x = Array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(to_string(x.type()), "f32[2,3]");
  EXPECT_EQ(x.strides(), (std::vector<int64_t>{12, 4}));
  EXPECT_TRUE(x.is_dense());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data()) % 64, 0u);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Array::from<int64_t>({7}, {}).item<int>(), 7);
  EXPECT_EQ(Array::from<uint64_t>({~uint64_t{0}}, {1}).item<uint64_t>(), ~uint64_t{0});
}

TEST(Array, SaysWhatIsWrong) {
  const Array x = Array::from<float>({1, 2}, {2});
  expect_error<UserError>([&] { x.item<float>(); }, "item: f32[2] has 2 elements", __LINE__);
  expect_error<UserError>([&] { x.to_vector<double>(); }, "astype", __LINE__);
  expect_error<UserError>([] { Array::from<float>({1, 2}, {3}); }, "do not fill", __LINE__);
  expect_error<UserError>([] { Array::from<float>({1}, {-1}); }, "negative", __LINE__);
  expect_error<UserError>([] { zeros({int64_t{1} << 40, int64_t{1} << 40}); }, "too large", __LINE__);
  expect_error<UserError>([] { Array().type(); }, "empty", __LINE__);
  expect_error<UserError>([&] { x + Array(); }, "empty", __LINE__);
}

TEST(Array, ViewsShareMemory) {
  const Array x = counting({3, 4});
  const Array t = transpose(x);
  EXPECT_EQ(t.data(), x.data());
  EXPECT_EQ(t.strides(), (std::vector<int64_t>{8, 32}));
  EXPECT_EQ(doubles(t), (D{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  const Array s = at(x, {Range{1, {}}, Range{{}, {}, 2}});
  EXPECT_EQ(static_cast<const double*>(s.data()), static_cast<const double*>(x.data()) + 4);
  EXPECT_EQ(doubles(s), (D{4, 6, 8, 10}));
  const Array r = flip(x, 1);
  EXPECT_EQ(r.strides(), (std::vector<int64_t>{32, -8}));
  EXPECT_EQ(doubles(at(r, {0})), (D{3, 2, 1, 0}));
  EXPECT_EQ(broadcast_to(x, {2, 3, 4}).data(), x.data());
  EXPECT_EQ(reshape(x, {2, 6}).data(), x.data());
  EXPECT_EQ(reshape(at(x, {Range{{}, {}, 2}}), {2, 2, 2}).data(), x.data());  // rows stay whole
  const Array copied = reshape(t, {12});
  EXPECT_NE(copied.data(), x.data());
  EXPECT_EQ(doubles(copied), doubles(t));
  EXPECT_EQ(doubles(t + 1), (D{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12}));
}

TEST(Array, ReshapesOfStridedMemoryAgreeWithCopies) {
  const Array base = counting({4, 6, 2});
  const std::vector<Array> views = {transpose(base, {1, 0, 2}), at(base, {Range{{}, {}, 2}, Range{1, 5}}),
                                    flip(base, {1}), at(base, {ellipsis, 0}),
                                    broadcast_to(at(base, {0}), {3, 6, 2})};
  for (const Array& view : views) {
    const int64_t n = view.size();
    for (const Shape& shape :
         {Shape{n}, Shape{1, n, 1}, Shape{2, n / 2}, Shape{n / 2, 2}, Shape{2, n / 4, 2}}) {
      if (element_count(shape) != n) continue;
      EXPECT_EQ(doubles(reshape(view, shape)), doubles(reshape(view.contiguous(), shape)))
          << to_string(shape);
    }
  }
}

TEST(Array, WrapsForeignMemory) {
  auto memory = std::make_shared<std::vector<double>>(D{0, 1, 2, 3, 4, 5});
  std::weak_ptr<std::vector<double>> watch = memory;
  double* last = memory->data() + 5;
  {
    const Array x = Array::wrap(last, {DType::f64, {3}}, {-16}, std::move(memory));
    EXPECT_FALSE(x.is_dense());
    EXPECT_EQ(doubles(x), (D{5, 3, 1}));
    EXPECT_EQ(doubles(x * 2), (D{10, 6, 2}));
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Array, MemoryGoesBackToThePool) {
  const int64_t before = memory_stats().in_use;
  {
    const Array x = zeros({1000, 1000});
    EXPECT_GE(memory_stats().in_use, before + 8'000'000);
  }
  EXPECT_EQ(memory_stats().in_use, before);
  trim_memory();
  EXPECT_EQ(memory_stats().cached, 0);
}

}  // namespace
}  // namespace tokamak
