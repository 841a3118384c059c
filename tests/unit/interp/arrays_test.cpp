// Sources, views, indexing, reductions and running reductions.

#include <cmath>
#include <limits>

#include "interp/testing.h"

namespace tokamak {
namespace {

using testing::expect_same;
using testing::ints_of;
using testing::run;
using testing::tensor;
using testing::values_of;
using testing::vector;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor matrix() { return tensor(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6}); }
Attributes axes(Ints list) { return {{Attr::axes, std::move(list)}}; }
Attributes axis(int64_t which) { return {{Attr::axis, which}}; }

TEST(Sources, Iota) {
  const Attributes attributes{{Attr::axis, int64_t{1}}, {Attr::shape, Ints{2, 3}}, {Attr::dtype, DType::f16}};
  expect_same(run(Op::iota, {}, attributes), tensor(DType::f16, {2, 3}, {0, 1, 2, 0, 1, 2}));
}

TEST(Views, EachOne) {
  expect_same(run(Op::broadcast, {vector(DType::i8, {1, 2})}, {{Attr::shape, Ints{2, 2}}}),
              tensor(DType::i8, {2, 2}, {1, 2, 1, 2}));
  expect_same(run(Op::reshape, {matrix()}, {{Attr::shape, Ints{3, 2}}}),
              tensor(DType::i32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  expect_same(run(Op::transpose, {matrix()}, {{Attr::permutation, Ints{1, 0}}}),
              tensor(DType::i32, {3, 2}, {1, 4, 2, 5, 3, 6}));
  expect_same(run(Op::slice, {matrix()},
                  {{Attr::starts, Ints{1, 0}}, {Attr::limits, Ints{2, 3}}, {Attr::steps, Ints{1, 2}}}),
              tensor(DType::i32, {1, 2}, {4, 6}));
  expect_same(run(Op::reverse, {matrix()}, axes({0, 1})), tensor(DType::i32, {2, 3}, {6, 5, 4, 3, 2, 1}));
  expect_same(run(Op::reverse, {tensor(DType::f64, {0, 2}, {})}, axes({0})), tensor(DType::f64, {0, 2}, {}));
  expect_same(run(Op::transpose, {scalar_tensor(DType::f32, 3.0)}, {{Attr::permutation, Ints{}}}),
              scalar_tensor(DType::f32, 3.0));
}

TEST(Views, Window) {
  const auto windows = [](const Tensor& x, Ints along, Ints sizes, Ints steps, Ints dilations) {
    return run(Op::window, {x},
               {{Attr::axes, std::move(along)},
                {Attr::sizes, std::move(sizes)},
                {Attr::steps, std::move(steps)},
                {Attr::dilations, std::move(dilations)}});
  };
  const Tensor line = vector(DType::i32, {1, 2, 3, 4, 5});
  expect_same(windows(line, {0}, {3}, {1}, {1}), tensor(DType::i32, {3, 3}, {1, 2, 3, 2, 3, 4, 3, 4, 5}));
  expect_same(windows(line, {0}, {2}, {2}, {1}), tensor(DType::i32, {2, 2}, {1, 2, 3, 4}));
  expect_same(windows(line, {0}, {2}, {1}, {3}), tensor(DType::i32, {2, 2}, {1, 4, 2, 5}));
  expect_same(windows(matrix(), {1}, {2}, {1}, {1}), tensor(DType::i32, {2, 2, 2}, {1, 2, 2, 3, 4, 5, 5, 6}));
  expect_same(windows(matrix(), {0, 1}, {2, 2}, {1, 1}, {1, 1}),
              tensor(DType::i32, {1, 2, 2, 2}, {1, 2, 4, 5, 2, 3, 5, 6}));
  expect_same(windows(tensor(DType::f32, {0, 3}, {}), {1}, {2}, {1}, {1}), tensor(DType::f32, {0, 2, 2}, {}));
}

TEST(Contractions, Dot) {
  const auto dot = [](const Tensor& a, const Tensor& b, Ints contract_a, Ints contract_b, Ints batch_a = {},
                      Ints batch_b = {}) {
    return run(Op::dot, {a, b},
               {{Attr::lhs_batch, std::move(batch_a)},
                {Attr::rhs_batch, std::move(batch_b)},
                {Attr::lhs_contract, std::move(contract_a)},
                {Attr::rhs_contract, std::move(contract_b)}});
  };
  const Tensor x = matrix();  // [[1, 2, 3], [4, 5, 6]]
  expect_same(dot(x, x, {1}, {1}), tensor(DType::i32, {2, 2}, {14, 32, 32, 77}));
  expect_same(dot(x, x, {0}, {0}), tensor(DType::i32, {3, 3}, {17, 22, 27, 22, 29, 36, 27, 36, 45}));
  expect_same(dot(x, vector(DType::i32, {1, 0, 2}), {1}, {0}), vector(DType::i32, {7, 16}));
  expect_same(dot(x, x, {0, 1}, {0, 1}), scalar_tensor(DType::i32, int64_t{91}));
  expect_same(dot(x, x, {1}, {1}, {0}, {0}), vector(DType::i32, {14, 77}));
  expect_same(dot(x, x, {}, {}, {1, 0}, {1, 0}), tensor(DType::i32, {3, 2}, {1, 16, 4, 25, 9, 36}));
  expect_same(dot(vector(DType::i8, {1, 2}), vector(DType::i8, {3, 4}), {}, {}),
              tensor(DType::i8, {2, 2}, {3, 4, 6, 8}));
  expect_same(dot(vector(DType::i8, {100, 100}), vector(DType::i8, {2, 1}), {0}, {0}),
              scalar_tensor(DType::i8, int64_t{44}));  // 300 wraps
  expect_same(dot(vector(DType::boolean, {1, 1}), vector(DType::boolean, {1, 1}), {0}, {0}),
              scalar_tensor(DType::boolean, int64_t{1}));
  expect_same(dot(vector(DType::boolean, {1, 0}), vector(DType::boolean, {0, 1}), {0}, {0}),
              scalar_tensor(DType::boolean, int64_t{0}));
  expect_same(dot(tensor(DType::f32, {2, 0}, {}), tensor(DType::f32, {0, 1}, {}), {1}, {0}),
              tensor(DType::f32, {2, 1}, {0, 0}));
  const Tensor ones = vector(DType::f16, std::vector<double>(4096, 1.0));
  expect_same(dot(ones, ones, {0}, {0}), scalar_tensor(DType::f16, 4096.0));  // not summed in f16
}

TEST(Indexing, PadAndConcatenate) {
  expect_same(run(Op::pad, {vector(DType::i32, {1, 2, 3}), scalar_tensor(DType::i32, int64_t{9})},
                  {{Attr::low, Ints{1}}, {Attr::high, Ints{2}}, {Attr::interior, Ints{1}}}),
              vector(DType::i32, {9, 1, 9, 2, 9, 3, 9, 9}));
  const Tensor more = tensor(DType::i32, {2, 1}, {7, 8});
  expect_same(run(Op::concatenate, {matrix(), more}, axis(1)),
              tensor(DType::i32, {2, 4}, {1, 2, 3, 7, 4, 5, 6, 8}));
}

TEST(Indexing, Gather) {
  const auto gather = [](const Tensor& indices, int64_t at, Word mode) {
    return run(Op::gather, {matrix(), indices}, {{Attr::axis, at}, {Attr::mode, mode}});
  };
  expect_same(gather(tensor(DType::i64, {2, 1}, {2, 0}), 1, Word::check),
              tensor(DType::i32, {2, 2, 1}, {3, 1, 6, 4}));
  expect_same(gather(scalar_tensor(DType::u8, int64_t{1}), 0, Word::check), vector(DType::i32, {4, 5, 6}));
  expect_same(gather(vector(DType::i8, {-5, 7}), 0, Word::clamp), matrix());
  const Tensor far = testing::exact<uint64_t>(DType::u64, {~uint64_t{0}});
  expect_same(gather(far, 1, Word::clamp), tensor(DType::i32, {2, 1}, {3, 6}));
}

TEST(Indexing, CheckedGatherNamesTheIndex) {
  try {
    run(Op::gather, {matrix(), vector(DType::i64, {1, -4})},
        {{Attr::axis, int64_t{0}}, {Attr::mode, Word::check}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "gather: an index is out of bounds for axis 0 with size 2");
    EXPECT_EQ(error.kind(), UserError::Kind::index);
  }
}

TEST(Indexing, Scatter) {
  const auto scatter = [](Word mode, Word combine) {
    return run(
        Op::scatter,
        {vector(DType::f16, {1, 2, 3}), vector(DType::i64, {0, 0, 5}), vector(DType::f16, {10, 20, 30})},
        {{Attr::axis, int64_t{0}}, {Attr::mode, mode}, {Attr::combine, combine}});
  };
  expect_same(scatter(Word::drop, Word::set), vector(DType::f16, {20, 2, 3}));
  expect_same(scatter(Word::clamp, Word::add), vector(DType::f16, {31, 2, 33}));
  expect_same(scatter(Word::drop, Word::mul), vector(DType::f16, {200, 2, 3}));
  expect_same(scatter(Word::clamp, Word::min), vector(DType::f16, {1, 2, 3}));
  expect_same(scatter(Word::drop, Word::max), vector(DType::f16, {20, 2, 3}));
  expect_same(scatter(Word::drop, Word::sub), vector(DType::f16, {-29, 2, 3}));
  EXPECT_THROW(scatter(Word::check, Word::set), UserError);
  expect_same(run(Op::scatter, {matrix(), vector(DType::i32, {2}), tensor(DType::i32, {2, 1}, {8, 9})},
                  {{Attr::axis, int64_t{1}}, {Attr::mode, Word::check}, {Attr::combine, Word::set}}),
              tensor(DType::i32, {2, 3}, {1, 2, 8, 4, 5, 9}));
}

TEST(Indexing, ScatterCombinesInTheDtypeOfTheUpdates) {
  const auto scatter = [](const Tensor& operand, const Tensor& updates, Word combine) {
    return run(Op::scatter, {operand, vector(DType::i64, {0, 0, 1}), updates},
               {{Attr::axis, int64_t{0}}, {Attr::mode, Word::check}, {Attr::combine, combine}});
  };
  // Every step is converted back: 1 + 0.5 is 1, and again.
  expect_same(scatter(vector(DType::i64, {1, 2, 3}), vector(DType::f64, {0.5, 0.5, 1.5}), Word::add),
              vector(DType::i64, {1, 3, 3}));
  expect_same(scatter(vector(DType::i32, {7, 0, 3}), vector(DType::boolean, {0, 0, 0}), Word::bit_or),
              vector(DType::i32, {1, 0, 3}));
}

TEST(Indexing, DynamicSlicesClampTheirStart) {
  const auto start = [](int64_t at) { return scalar_tensor(DType::i32, at); };
  expect_same(run(Op::dynamic_slice, {matrix(), start(-3), start(9)}, {{Attr::sizes, Ints{1, 2}}}),
              tensor(DType::i32, {1, 2}, {2, 3}));
  expect_same(
      run(Op::dynamic_update_slice, {matrix(), tensor(DType::i32, {1, 2}, {8, 9}), start(1), start(1)}),
      tensor(DType::i32, {2, 3}, {1, 2, 3, 4, 8, 9}));
}

TEST(Reduce, OverEachAxis) {
  expect_same(run(Op::reduce_sum, {matrix()}, axes({0})), vector(DType::i32, {5, 7, 9}));
  expect_same(run(Op::reduce_sum, {matrix()}, axes({1})), vector(DType::i32, {6, 15}));
  expect_same(run(Op::reduce_prod, {matrix()}, axes({0, 1})), scalar_tensor(DType::i32, int64_t{720}));
  expect_same(run(Op::reduce_max, {matrix()}, axes({})), matrix());
  const Tensor cube = tensor(DType::i32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_same(run(Op::reduce_sum, {cube}, axes({0, 2})), vector(DType::i32, {14, 22}));
  expect_same(run(Op::reduce_sum, {cube}, axes({1})), tensor(DType::i32, {2, 2}, {4, 6, 12, 14}));
}

TEST(Reduce, EmptyAndScalar) {
  expect_same(run(Op::reduce_sum, {tensor(DType::f32, {0, 2}, {})}, axes({0})), vector(DType::f32, {0, 0}));
  expect_same(run(Op::reduce_prod, {tensor(DType::bf16, {2, 0}, {})}, axes({1})),
              vector(DType::bf16, {1, 1}));
  expect_same(run(Op::reduce_all, {tensor(DType::boolean, {0}, {})}, axes({0})),
              tensor(DType::boolean, {}, {1}));
  expect_same(run(Op::reduce_any, {tensor(DType::boolean, {0}, {})}, axes({0})),
              tensor(DType::boolean, {}, {0}));
  expect_same(run(Op::reduce_sum, {scalar_tensor(DType::f64, 2.5)}, axes({})),
              scalar_tensor(DType::f64, 2.5));
  expect_same(run(Op::reduce_max, {tensor(DType::f32, {0, 2}, {})}, axes({1})), tensor(DType::f32, {0}, {}));
}

TEST(Reduce, FloatsLoseLittle) {
  // One by one, f16 would stop at 2048 and f32 at 2^24.
  const int64_t count = 5000;
  expect_same(run(Op::reduce_sum, {tensor(DType::f16, {count}, std::vector<double>(count, 1))}, axes({0})),
              scalar_tensor(DType::f16, 5000.0));
  std::vector<double> tiny(4097, 0x1p-12);
  tiny[0] = 0x1p12;
  EXPECT_EQ(values_of(run(Op::reduce_sum, {vector(DType::f32, tiny)}, axes({0})))[0], 4097);
  EXPECT_FALSE(
      std::signbit(values_of(run(Op::reduce_sum, {vector(DType::f32, {-0.0, -0.0})}, axes({0})))[0]));
}

TEST(Reduce, MaxMinAnyAll) {
  EXPECT_TRUE(std::isnan(values_of(run(Op::reduce_max, {vector(DType::f32, {1, kNan, 3})}, axes({0})))[0]));
  EXPECT_EQ(values_of(run(Op::reduce_max, {vector(DType::f32, {-kInf, -kInf})}, axes({0})))[0], -kInf);
  EXPECT_EQ(ints_of(run(Op::reduce_min, {vector(DType::u8, {200, 100, 255})}, axes({0})))[0], 100);
  EXPECT_EQ(ints_of(run(Op::reduce_max, {vector(DType::i8, {-128, -127})}, axes({0})))[0], -127);
  EXPECT_EQ(ints_of(run(Op::reduce_max, {vector(DType::boolean, {0, 1})}, axes({0})))[0], 1);
  EXPECT_EQ(ints_of(run(Op::reduce_any, {vector(DType::boolean, {0, 1, 0})}, axes({0})))[0], 1);
  EXPECT_EQ(ints_of(run(Op::reduce_all, {vector(DType::boolean, {1, 1, 0})}, axes({0})))[0], 0);
}

TEST(Reduce, ArgumentsAreTheFirst) {
  expect_same(run(Op::argmax, {vector(DType::f32, {1, 3, 3, 2, 3})}, axis(0)), tensor(DType::i64, {}, {1}));
  expect_same(run(Op::argmax, {vector(DType::f32, {1, kNan, 3, kNan})}, axis(0)),
              tensor(DType::i64, {}, {1}));
  expect_same(run(Op::argmin, {vector(DType::f16, {2, 1, kNan})}, axis(0)), tensor(DType::i64, {}, {2}));
  expect_same(run(Op::argmin, {tensor(DType::u8, {2, 2}, {200, 3, 7, 250})}, axis(0)),
              vector(DType::i64, {1, 0}));
  expect_same(run(Op::argmax, {vector(DType::boolean, {0, 1, 1})}, axis(0)), tensor(DType::i64, {}, {1}));
}

TEST(Cumulative, AlongEachAxis) {
  expect_same(run(Op::cumsum, {matrix()}, axis(0)), tensor(DType::i32, {2, 3}, {1, 2, 3, 5, 7, 9}));
  expect_same(run(Op::cumsum, {matrix()}, axis(1)), tensor(DType::i32, {2, 3}, {1, 3, 6, 4, 9, 15}));
  expect_same(run(Op::cumprod, {vector(DType::u8, {16, 16, 3})}, axis(0)), vector(DType::u8, {16, 0, 0}));
  expect_same(run(Op::cummax, {vector(DType::i8, {-3, -5, 2, 1})}, axis(0)),
              vector(DType::i8, {-3, -3, 2, 2}));
  expect_same(run(Op::cummin, {vector(DType::f64, {3, 5, -kInf, 1})}, axis(0)),
              vector(DType::f64, {3, 3, -kInf, -kInf}));
  expect_same(run(Op::cumsum, {tensor(DType::f32, {0}, {})}, axis(0)), tensor(DType::f32, {0}, {}));
}

TEST(Cumulative, RoundsEveryStep) {
  expect_same(run(Op::cumsum, {vector(DType::f16, {2048, 1, 1, 2})}, axis(0)),
              vector(DType::f16, {2048, 2048, 2048, 2050}));
  EXPECT_TRUE(std::signbit(values_of(run(Op::cumsum, {vector(DType::f32, {-0.0})}, axis(0)))[0]));
}

TEST(Sort, AlongEachAxis) {
  const Tensor from = tensor(DType::i32, {2, 3}, {5, 2, 9, 4, 8, 1});
  expect_same(run(Op::sort, {from}, axis(0)), tensor(DType::i32, {2, 3}, {4, 2, 1, 5, 8, 9}));
  expect_same(run(Op::sort, {from}, axis(1)), tensor(DType::i32, {2, 3}, {2, 5, 9, 1, 4, 8}));
  expect_same(run(Op::argsort, {from}, axis(0)), tensor(DType::i64, {2, 3}, {1, 0, 1, 0, 1, 0}));
  expect_same(run(Op::argsort, {from}, axis(1)), tensor(DType::i64, {2, 3}, {1, 0, 2, 2, 0, 1}));
  expect_same(run(Op::sort, {tensor(DType::f32, {0}, {})}, axis(0)), tensor(DType::f32, {0}, {}));
  expect_same(run(Op::argsort, {tensor(DType::f32, {2, 0}, {})}, axis(1)), tensor(DType::i64, {2, 0}, {}));
}

TEST(Sort, OrdersWhatComparesEqual) {
  const Tensor from = vector(DType::f32, {kNan, 0.0, -kInf, -0.0, kNan, kInf, 0.0});
  expect_same(run(Op::argsort, {from}, axis(0)), vector(DType::i64, {2, 1, 3, 6, 5, 0, 4}));
  const std::vector<double> sorted = values_of(run(Op::sort, {from}, axis(0)));
  EXPECT_EQ(sorted[0], -kInf);
  EXPECT_TRUE(std::signbit(sorted[1]) && !std::signbit(sorted[2]) && !std::signbit(sorted[3]));
  EXPECT_EQ(sorted[4], kInf);
  EXPECT_TRUE(std::isnan(sorted[5]) && std::isnan(sorted[6]));
  expect_same(run(Op::argsort, {vector(DType::u8, {200, 3, 200, 3})}, axis(0)),
              vector(DType::i64, {1, 3, 0, 2}));
}

TEST(Interpret, WholeGraph) {
  Graph graph("softplus_sum");
  const Value x = graph.add_parameter("x", {DType::f32, {3}});
  const Value zero = graph.add_constant(scalar_tensor(DType::f32, 0.0));
  const Value relu = graph.add(Op::max, {x, zero});
  graph.set_outputs({relu, graph.add(Op::reduce_sum, {relu}, axes({0})), x});
  const Tensor argument = vector(DType::f32, {-1, 2, 3});
  const std::vector<Tensor> results = interpret(graph, {&argument, 1}, false);
  ASSERT_EQ(results.size(), 3U);
  expect_same(results[0], vector(DType::f32, {0, 2, 3}));
  expect_same(results[1], scalar_tensor(DType::f32, 5.0));
  expect_same(results[2], argument);
}

TEST(Interpret, RefusesWrongArguments) {
  Graph graph("f");
  graph.set_outputs({graph.add_parameter("x", {DType::f32, {3}})});
  EXPECT_THROW(interpret(graph, {}, false), UserError);
  const Tensor wrong = vector(DType::f32, {1, 2});
  try {
    interpret(graph, {&wrong, 1}, false);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "@f: argument 'x' is f32[2], not f32[3]");
  }
}

}  // namespace
}  // namespace tokamak
