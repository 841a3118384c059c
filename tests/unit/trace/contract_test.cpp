// Products, einsum, windows, convolution, pooling, batch norm and attention, eagerly and inside jit.

#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::both_ways;
using testing::counting;
using testing::doubles;
using testing::expect_close;
using testing::expect_error;
using D = std::vector<double>;

Array ones_like(Shape shape, DType dtype = DType::f32) { return ones(std::move(shape), dtype); }

TEST(Products, Matmul) {
  const Array x = counting({2, 3});
  EXPECT_EQ(both_ways([](Array a) { return matmul(a, transpose(a)); }, x), (D{5, 14, 14, 50}));
  EXPECT_EQ(both_ways([](Array a) { return matmul(a, counting({3})); }, x), (D{5, 14}));
  EXPECT_EQ(both_ways([](Array a) { return matmul(counting({2}), a); }, x), (D{3, 4, 5}));
  EXPECT_EQ(matmul(counting({3}), counting({3})).item<double>(), 5);
  EXPECT_EQ(matmul(counting({2, 3, 4}), counting({4, 5})).shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(matmul(counting({3, 4}), counting({2, 4, 5})).shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(matmul(counting({6, 1, 3, 4}), counting({2, 4, 5})).shape(), (Shape{6, 2, 3, 5}));
  EXPECT_EQ(matmul(counting({6, 2, 3, 4}), counting({6, 1, 4, 5})).shape(), (Shape{6, 2, 3, 5}));
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).to_vector<double>(), D(6, 0.0));
  EXPECT_EQ(matmul(zeros({0, 2}), zeros({2, 3})).shape(), (Shape{0, 3}));
}

TEST(Products, BroadcastBatchesAgreeWithLoops) {
  const Array a = counting({3, 1, 2, 4});
  const Array b = counting({5, 4, 2});
  const Array product = matmul(a, b);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      const Array one = matmul(at(a, {i, 0}), at(b, {j}));
      EXPECT_EQ(doubles(at(product, {i, j})), doubles(one));
    }
  }
}

TEST(Products, DTypesPromote) {
  EXPECT_EQ(matmul(ones_like({2, 2}, DType::i8), ones_like({2, 2}, DType::f16)).dtype(), DType::f16);
  EXPECT_EQ(matmul(ones_like({2, 2}, DType::bf16), ones_like({2, 2}, DType::bf16)).dtype(), DType::bf16);
  EXPECT_EQ(matmul(ones_like({2, 2}, DType::i32), ones_like({2, 2}, DType::u32)).dtype(), DType::i64);
  const Array yes = ones_like({2, 2}, DType::boolean);
  EXPECT_EQ(matmul(yes, yes).to_vector<bool>(), std::vector<bool>(4, true));
  EXPECT_EQ(dot(ones_like({2}), 2.0).dtype(), DType::f64);  // numbers are arrays here
}

TEST(Products, DotInnerOuterVdotTensordot) {
  const Array x = counting({2, 3});
  EXPECT_EQ(dot(counting({2, 3}), counting({4, 3, 5})).shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(doubles(dot(x, 2)), (D{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(both_ways([](Array a) { return inner(a, a); }, x), (D{5, 14, 14, 50}));
  EXPECT_EQ(both_ways([](Array a) { return outer(a, counting({2})); }, x),
            (D{0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5}));
  EXPECT_EQ(both_ways([](Array a) { return vdot(a, a); }, x), (D{55}));
  EXPECT_EQ(both_ways([](Array a) { return tensordot(a, a, 2); }, x), (D{55}));
  EXPECT_EQ(tensordot(counting({2, 3, 4}), counting({4, 5, 3}), {1, -1}, {2, 0}).shape(), (Shape{2, 5}));
  EXPECT_EQ(tensordot(counting({2}), counting({3}), 0).shape(), (Shape{2, 3}));
  const Array general =
      dot_general(counting({5, 2, 3}), counting({3, 7, 2}),
                  {.lhs_contract = {-1}, .rhs_contract = {0}, .lhs_batch = {1}, .rhs_batch = {2}});
  EXPECT_EQ(general.shape(), (Shape{2, 5, 7}));
}

TEST(Products, Errors) {
  const Array x = ones_like({2, 3});
  expect_error<UserError>([&] { matmul(x, x); }, "axis 1 of the first is 3, axis 0 of the second is 2",
                          __LINE__);
  expect_error<UserError>([&] { matmul(x, 2.0); }, "matmul: a scalar (f64[]) is no matrix", __LINE__);
  expect_error<UserError>([&] { matmul(ones_like({3, 2, 2}), ones_like({2, 2, 2})); }, "matmul", __LINE__);
  expect_error<UserError>([&] { dot(x, x); }, "dot: f32[2,3] and f32[2,3]", __LINE__);
  expect_error<UserError>([&] { inner(x, transpose(x)); }, "inner: ", __LINE__);
  expect_error<UserError>([&] { vdot(x, ones_like({2})); }, "different numbers of elements", __LINE__);
  expect_error<UserError>([&] { tensordot(x, x, {0, 0}, {0, 0}); }, "named twice", __LINE__);
  expect_error<UserError>([&] { tensordot(x, x, {0}, {0, 1}); }, "do not pair up", __LINE__);
  expect_error<UserError>([&] { tensordot(x, x, {5}, {0}); }, "axis 5 is out of range", __LINE__);
  expect_error<UserError>([&] { tensordot(x, x, 5); }, "do not both have 5 axes", __LINE__);
}

TEST(Einsum, Subscripts) {
  const Array x = counting({2, 3});
  EXPECT_EQ(both_ways([](Array a) { return einsum("ij->ji", {a}); }, x), (D{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(both_ways([](Array a) { return einsum("ij->", {a}); }, x), (D{15}));
  EXPECT_EQ(both_ways([](Array a) { return einsum("ij,kj->ik", {a, a}); }, x), (D{5, 14, 14, 50}));
  EXPECT_EQ(both_ways([](Array a) { return einsum("ij,ij->i", {a, a}); }, x), (D{5, 50}));
  EXPECT_EQ(both_ways([](Array a) { return einsum("...j,j", {a, counting({3})}); }, x), (D{5, 14}));
  EXPECT_EQ(both_ways([](Array a) { return einsum("ii->i", {a}); }, counting({3, 3})), (D{0, 4, 8}));
  EXPECT_EQ(both_ways([](Array a) { return einsum("ii", {a}); }, counting({3, 3})), (D{12}));
  EXPECT_EQ(einsum("ab,bc,cd", {counting({2, 3}), counting({3, 4}), counting({4, 5})}).shape(),
            (Shape{2, 5}));
  EXPECT_EQ(einsum("...ij,...jk->...ik", {counting({2, 1, 3, 4}), counting({5, 4, 6})}).shape(),
            (Shape{2, 5, 3, 6}));
  EXPECT_EQ(einsum(",", {2, 3}).item<int>(), 6);
}

TEST(Einsum, ManyOperands) {
  std::vector<Operand> chain;
  for (int i = 0; i < 12; ++i) chain.emplace_back(eye(3, 3) * 2.0);
  const Array product = einsum("ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->am", chain);
  EXPECT_EQ(doubles(product), doubles(eye(3, 3) * 4096.0));
}

TEST(Einsum, Errors) {
  const Array x = ones_like({2, 3});
  expect_error<UserError>([&] { einsum("ij,jk", {x}); }, "1 operand for 2 lists of subscripts in 'ij,jk'",
                          __LINE__);
  expect_error<UserError>([&] { einsum("i", {x}); }, "has more axes than subscripts", __LINE__);
  expect_error<UserError>([&] { einsum("ijk", {x}); }, "has fewer axes than subscripts", __LINE__);
  expect_error<UserError>([&] { einsum("ii", {x}); },
                          "'i' of f32[2,3], operand 0, has extents 2 and 3 in 'ii'", __LINE__);
  expect_error<UserError>(
      [&] {
        einsum("ij,jk", {x, x});
      },
      "the subscript 'j' has extents 3 and 2, of f32[2,3] and f32[2,3], in 'ij,jk'", __LINE__);
  expect_error<UserError>([&] { einsum("ij->k", {x}); }, "'k' of the result is not among the operands'", __LINE__);
  expect_error<UserError>([&] { einsum("ij->ii", {x}); }, "is there twice", __LINE__);
  expect_error<UserError>([&] { einsum("i?", {x}); }, "'?' is no subscript", __LINE__);
  expect_error<UserError>([&] { einsum("i.", {x}); }, "not part of one ellipsis", __LINE__);
  expect_error<UserError>([&] { einsum("...->", {x}); }, "the result has no '...'", __LINE__);
  expect_error<UserError>([&] { einsum("", {}); }, "there are no operands", __LINE__);
}

TEST(Windows, AreViews) {
  const Array x = counting({5});
  EXPECT_EQ(both_ways([](Array a) { return window(a, {0}, {3}); }, x), (D{0, 1, 2, 1, 2, 3, 2, 3, 4}));
  EXPECT_EQ(both_ways([](Array a) { return window(a, {0}, {2}, {2}, {2}); }, x), (D{0, 2, 2, 4}));
  EXPECT_EQ(window(x, {0}, {3}).data(), x.data());
  EXPECT_EQ(window(counting({4, 5}), {1, 0}, {2, 3}).shape(), (Shape{2, 4, 2, 3}));
  expect_error<UserError>([&] { window(x, {0}, {6}); }, "does not fit", __LINE__);
}

TEST(Convolution, OneToThreeAxes) {
  const Array x = counting({1, 1, 5});
  const Array w = Array::from(D{1, 0, -1}, {1, 1, 3});
  EXPECT_EQ(both_ways([&](Array a) { return conv(a, w); }, x), (D{-2, -2, -2}));
  EXPECT_EQ(both_ways([&](Array a) { return conv(a, w, {.padding = 1}); }, x), (D{-1, -2, -2, -2, 3}));
  EXPECT_EQ(both_ways([&](Array a) { return conv(a, w, {.padding = Padding::same()}); }, x),
            (D{-1, -2, -2, -2, 3}));
  EXPECT_EQ(both_ways([&](Array a) { return conv(a, w, {.dilation = {2}}); }, x), (D{-4}));
  EXPECT_EQ(conv(counting({2, 3, 8, 9}), counting({4, 3, 3, 2}), {.stride = {2, 3}}).shape(),
            (Shape{2, 4, 3, 3}));
  EXPECT_EQ(conv(counting({2, 4, 5, 6, 7}), counting({6, 2, 2, 2, 2}), {.padding = 1}, 2).shape(),
            (Shape{2, 6, 6, 7, 8}));
  EXPECT_EQ(doubles(conv(x, w, {}, 1, Array::from(D{10}, {1}))), (D{8, 8, 8}));
}

TEST(Convolution, Transposed) {
  const Array x = counting({1, 1, 3});
  const Array w = Array::from(D{1, 2, 3}, {1, 1, 3});
  EXPECT_EQ(both_ways([&](Array a) { return conv_transpose(a, w); }, x), (D{0, 1, 4, 7, 6}));
  EXPECT_EQ(both_ways([&](Array a) { return conv_transpose(a, w, {.stride = {2}}); }, x),
            (D{0, 0, 1, 2, 5, 4, 6}));
  EXPECT_EQ(
      both_ways([&](Array a) { return conv_transpose(a, w, {.stride = {2}, .padding = 1}, 1, {1}); }, x),
      (D{0, 1, 2, 5, 4, 6}));
  EXPECT_EQ(both_ways([&](Array a) { return conv_transpose(a, w, {.padding = 2}); }, x), (D{4}));
}

TEST(Convolution, Errors) {
  const Array x = ones_like({1, 4, 8});
  expect_error<UserError>([&] { conv(x, ones_like({3, 4, 9})); }, "a kernel of [9] does not fit", __LINE__);
  expect_error<UserError>([&] { conv(x, ones_like({3, 2, 3})); }, "channels", __LINE__);
  expect_error<UserError>([&] { conv(x, ones_like({3, 2, 3}), {}, 3); }, "groups do not divide", __LINE__);
  expect_error<UserError>(
      [&] {
        conv(x, ones_like({3, 4, 3}), {.padding = -1});
      },
      "padding must be", __LINE__);
  expect_error<UserError>([&] { conv(ones_like({4, 8}), ones_like({3, 4})); }, "spatial axes", __LINE__);
  expect_error<UserError>([&] { max_pool(x, {9}); }, "does not fit", __LINE__);
}

TEST(Pooling, MaxAndMean) {
  const Array x = counting({1, 1, 4, 4});
  EXPECT_EQ(both_ways([](Array a) { return max_pool(a, {2}); }, x), (D{5, 7, 13, 15}));
  EXPECT_EQ(both_ways([](Array a) { return avg_pool(a, {2}); }, x), (D{2.5, 4.5, 10.5, 12.5}));
  const Array line = counting({1, 1, 3});
  const WindowOptions around{.stride = {}, .padding = 1};
  EXPECT_EQ(doubles(avg_pool(line, {2}, around)), (D{0, 1.5}));
  EXPECT_EQ(doubles(avg_pool(line, {2}, around, false)), (D{0, 1.5}));
  EXPECT_EQ(doubles(avg_pool(line + 1, {2}, around)), (D{0.5, 2.5}));
  EXPECT_EQ(doubles(avg_pool(line + 1, {2}, around, false)), (D{1, 2.5}));
  EXPECT_EQ(doubles(max_pool(astype(negative(line), DType::i8), {2}, around)), (D{0, -1}));
  EXPECT_EQ(avg_pool(ones_like({1, 1, 4}, DType::i32), {2}).dtype(), DType::f64);
}

TEST(Layers, BatchNorm) {
  const Array x = counting({1, 2, 2});
  const Array mean = Array::from(D{1, 2}, {2});
  const Array var = Array::from(D{4, 1}, {2});
  expect_close(both_ways([&](Array a) { return batch_norm(a, mean, var, {}, {}, 0); }, x), {-0.5, 0, 0, 1});
  expect_close(both_ways([&](Array a) { return batch_norm(a, mean, var, var, mean, 0); }, x), {-1, 1, 2, 3});
  expect_error<UserError>([&] { batch_norm(x, zeros({3}), var); }, "the mean f64[3]", __LINE__);
}

TEST(Layers, Attention) {
  const Array same = zeros({3, 4});
  const Array v = counting({3, 2});
  expect_close(both_ways([&](Array a) { return attention(a, a, v); }, same), {2, 3, 2, 3, 2, 3});
  expect_close(both_ways([&](Array a) { return attention(a, a, v, {}, true); }, same), {0, 1, 1, 2, 2, 3});
  const Array mask = eye(3, 3, 0, DType::boolean);
  expect_close(both_ways([&](Array a) { return attention(a, a, v, mask); }, same), {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(attention(ones_like({2, 5, 3, 4}), ones_like({2, 1, 6, 4}), ones_like({6, 7})).shape(),
            (Shape{2, 5, 3, 7}));
  EXPECT_EQ(
      attention(ones_like({3, 4}, DType::f16), ones_like({3, 4}, DType::f16), ones_like({3, 4}, DType::f16))
          .dtype(),
      DType::f16);
  expect_error<UserError>(
      [&] {
        attention(ones_like({4, 3, 4}), ones_like({2, 3, 4}), ones_like({2, 3, 4}));
      },
      "have 4 heads, keys f32[2,3,4] have 2", __LINE__);
  expect_error<UserError>(
      [&] {
        attention(same, same, v, ones_like({2, 3}));
      },
      "the mask f32[2,3] does not broadcast with the scores", __LINE__);
}

TEST(Layers, ScalesOfAnotherShape) {
  const Array x = ones_like({4, 8});
  expect_error<UserError>([&] { layer_norm(x, ones_like({7})); }, "layer_norm: the scale f32[7]", __LINE__);
  expect_error<UserError>([&] { layer_norm(x, {}, ones_like({7})); }, "layer_norm: the shift f32[7]",
                          __LINE__);
  expect_error<UserError>([&] { rms_norm(x, ones_like({7})); }, "rms_norm: the scale f32[7]", __LINE__);
}

}  // namespace
}  // namespace tokamak
