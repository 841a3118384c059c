// Every type rule: what it derives, and the words it refuses with.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/record.h"

namespace tokamak {
namespace {

struct Case {
  Op op;
  std::vector<TensorType> inputs;
  Attributes attributes;
  std::string expected;  ///< the type, or the message of the error
};

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }
TensorType i32(Shape shape) { return {DType::i32, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::i64, std::move(shape)}; }
TensorType boolean(Shape shape) { return {DType::boolean, std::move(shape)}; }

std::string outcome(const Case& c) {
  try {
    return to_string(infer_type(c.op, c.inputs, c.attributes, {}));
  } catch (const UserError& error) {
    return error.message();
  }
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(outcome(c), c.expected);
}

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(TypeRules, Elementwise) {
  check({
      {Op::add, {f32({3, 4}), f32({4})}, {}, "f32[3,4]"},
      {Op::add, {f32({3, 1}), f32({1, 4})}, {}, "f32[3,4]"},
      {Op::add, {f32({}), f32({})}, {}, "f32[]"},
      {Op::add, {f32({0}), f32({1})}, {}, "f32[0]"},
      {Op::add, {f32({3, 4}), f32({5})}, {}, "add: cannot broadcast f32[3,4] with f32[5]: axis 1 is 4 and 5"},
      {Op::add, {f32({0}), f32({2})}, {}, "add: cannot broadcast f32[0] with f32[2]: axis 0 is 0 and 2"},
      {Op::add,
       {f32({3}), i32({3})},
       {},
       "add: operands have different dtypes f32 and i32; convert one of them"},
      {Op::add, {f32({3})}, {}, "add: takes 2 operands, not 1"},
      {Op::sin, {f32({3}), f32({3})}, {}, "sin: takes 1 operand, not 2"},
      {Op::add, {f32({3}), f32({3})}, {{Attr::axis, int64_t{0}}}, "add: takes no attribute 'axis'"},
      {Op::add, {boolean({3}), boolean({3})}, {}, "add: bool[3] is not a number type"},
      {Op::add,
       {f32({kHuge, 1}), f32({4})},
       {},
       "add: f32[4611686018427387904,4] is too large: its bytes do not fit in 64 bits"},
      {Op::sin, {i32({4})}, {}, "sin: i32[4] is not a float type"},
      {Op::div, {i32({4}), i32({4})}, {}, "div: i32[4] is not a float type"},
      {Op::bit_not, {boolean({4})}, {}, "bool[4]"},
      {Op::bit_and, {f32({4}), f32({4})}, {}, "bit_and: f32[4] is not an integer or bool type"},
      {Op::shift_left, {boolean({4}), boolean({4})}, {}, "shift_left: bool[4] is not an integer type"},
      {Op::neg, {boolean({4})}, {}, "neg: bool[4] is not a number type"},
      {Op::abs, {boolean({4})}, {}, "bool[4]"},
      {Op::popcount, {i64({4})}, {}, "u8[4]"},
      {Op::lt, {f32({4}), f32({})}, {}, "bool[4]"},
      {Op::is_nan, {i32({4})}, {}, "bool[4]"},
      {Op::convert, {f32({2})}, {{Attr::dtype, DType::bf16}}, "bf16[2]"},
      {Op::convert, {f32({2})}, {}, "convert: attribute 'dtype' is missing"},
      {Op::convert,
       {f32({2})},
       {{Attr::dtype, int64_t{1}}},
       "convert: attribute 'dtype' must be a dtype, not an integer"},
  });
}

TEST(TypeRules, SelectAndClamp) {
  check({
      {Op::select, {boolean({2, 1}), f32({3}), f32({})}, {}, "f32[2,3]"},
      {Op::select,
       {boolean({2}), f32({3}), f32({2})},
       {},
       "select: cannot broadcast bool[2] with f32[3] and f32[2]: axis 0 is 2 and 3"},
      {Op::select, {f32({2}), f32({2}), f32({2})}, {}, "select: the condition f32[2] is not a bool type"},
      {Op::select,
       {boolean({2}), f32({2}), i32({2})},
       {},
       "select: branches have different dtypes f32 and i32; convert one of them"},
      {Op::clamp, {i32({}), i32({4}), i32({})}, {}, "i32[4]"},
  });
}

TEST(TypeRules, Sources) {
  const auto iota = [](int64_t axis, Ints shape, DType dtype) {
    return Attributes{{Attr::axis, axis}, {Attr::shape, std::move(shape)}, {Attr::dtype, dtype}};
  };
  check({
      {Op::iota, {}, iota(1, {2, 3}, DType::f32), "f32[2,3]"},
      {Op::iota, {}, iota(2, {2, 3}, DType::f32), "iota: axis 2 is out of range for f32[2,3]"},
      {Op::iota, {}, iota(0, {}, DType::f32), "iota: axis 0 is out of range for f32[]"},
      {Op::iota, {}, iota(0, {2}, DType::boolean), "iota: bool[2] is not a number type"},
      {Op::iota, {}, iota(0, {-2}, DType::i8), "iota: i8[-2] has a negative extent"},
      {Op::constant, {}, {{Attr::value, scalar_tensor(DType::f16, 1.0)}}, "f16[]"},
      {Op::constant, {}, {}, "constant: attribute 'value' is missing"},
      {Op::parameter, {f32({-1})}, {}, "parameter: f32[-1] has a negative extent"},
      {Op::parameter,
       {f32({kHuge, 0, kHuge})},
       {},
       "parameter: f32[4611686018427387904,0,4611686018427387904] is too large: its bytes do not fit in 64 "
       "bits"},
  });
}

TEST(TypeRules, Views) {
  const auto shape = [](Ints list) { return Attributes{{Attr::shape, std::move(list)}}; };
  const auto permutation = [](Ints list) { return Attributes{{Attr::permutation, std::move(list)}}; };
  const auto axes = [](Ints list) { return Attributes{{Attr::axes, std::move(list)}}; };
  const auto slice = [](Ints starts, Ints limits, Ints steps) {
    return Attributes{{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, steps}};
  };
  check({
      {Op::broadcast, {f32({3, 1})}, shape({2, 3, 4}), "f32[2,3,4]"},
      {Op::broadcast,
       {f32({3})},
       shape({4, 5}),
       "broadcast: f32[3] does not broadcast to [4,5]: axis 1 is 3 and 5"},
      {Op::broadcast,
       {f32({1, 3})},
       shape({3}),
       "broadcast: f32[1,3] does not broadcast to [3], which has fewer axes"},
      {Op::reshape, {f32({2, 6})}, shape({3, 4}), "f32[3,4]"},
      {Op::reshape, {f32({0, 6})}, shape({0}), "f32[0]"},
      {Op::reshape,
       {f32({2, 6})},
       shape({5}),
       "reshape: cannot reshape f32[2,6] to [5]: 12 elements do not make 5"},
      {Op::reshape, {f32({2, 6})}, shape({-1}), "reshape: f32[-1] has a negative extent"},
      {Op::transpose, {f32({2, 3, 4})}, permutation({2, 0, 1}), "f32[4,2,3]"},
      {Op::transpose,
       {f32({2, 3})},
       permutation({0, 0}),
       "transpose: [0,0] is not a permutation of the axes of f32[2,3]"},
      {Op::transpose,
       {f32({2, 3})},
       permutation({0}),
       "transpose: 'permutation' has 1 entries for the 2 axes of f32[2,3]"},
      {Op::slice, {f32({10})}, slice({1}, {9}, {3}), "f32[3]"},
      {Op::slice, {f32({10})}, slice({4}, {4}, {3}), "f32[0]"},
      {Op::slice,
       {f32({10})},
       slice({1}, {11}, {1}),
       "slice: range 1:11 of axis 0 of f32[10] is not within 0:10"},
      {Op::slice,
       {f32({10})},
       slice({5}, {4}, {1}),
       "slice: range 5:4 of axis 0 of f32[10] is not within 0:10"},
      {Op::slice,
       {f32({10})},
       slice({0}, {4}, {0}),
       "slice: range 0:4 of axis 0 of f32[10] has step 0; it must be positive"},
      {Op::reverse, {f32({2, 3})}, axes({0, 1}), "f32[2,3]"},
      {Op::reverse, {f32({2, 3})}, axes({1, 0}), "reverse: axes [1,0] are not sorted"},
      {Op::reverse, {f32({2, 3})}, axes({1, 1}), "reverse: axis 1 is given twice"},
      {Op::reverse, {f32({2, 3})}, axes({-1}), "reverse: axis -1 is out of range for f32[2,3]"},
  });
}

TEST(TypeRules, PadAndConcatenate) {
  const auto pad = [](Ints low, Ints high, Ints interior) {
    return Attributes{{Attr::low, low}, {Attr::high, high}, {Attr::interior, interior}};
  };
  const Attributes axis0{{Attr::axis, int64_t{0}}};
  check({
      {Op::pad, {f32({3}), f32({})}, pad({1}, {2}, {1}), "f32[8]"},
      {Op::pad, {f32({0}), f32({})}, pad({1}, {2}, {5}), "f32[3]"},
      {Op::pad, {f32({3}), f32({1})}, pad({1}, {2}, {1}), "pad: the padding value f32[1] is not a scalar"},
      {Op::pad,
       {f32({3}), i32({})},
       pad({1}, {2}, {1}),
       "pad: the padding value i32[] has another dtype than the operand f32[3]; convert one of them"},
      {Op::pad,
       {f32({3}), f32({})},
       pad({-1}, {2}, {1}),
       "pad: 'low' of axis 0 is -1; it must not be negative"},
      {Op::pad, {f32({3}), f32({})}, pad({0}, {0}, {kHuge}), "pad: axis 0 of the padded f32[3] is too large"},
      {Op::concatenate, {f32({2, 3}), f32({4, 3})}, axis0, "f32[6,3]"},
      {Op::concatenate, {}, axis0, "concatenate: takes at least one operand"},
      {Op::concatenate,
       {f32({2, 3}), f32({4, 2})},
       axis0,
       "concatenate: operands f32[2,3] and f32[4,2] differ on axis 1, which is 3 and 2"},
      {Op::concatenate,
       {f32({2, 3}), f32({4})},
       axis0,
       "concatenate: operands f32[2,3] and f32[4] have different ranks"},
      {Op::concatenate,
       {f32({2}), i32({2})},
       axis0,
       "concatenate: operands have different dtypes f32 and i32; convert one of them"},
  });
}

TEST(TypeRules, GatherAndScatter) {
  const auto at = [](int64_t axis, Word mode) { return Attributes{{Attr::axis, axis}, {Attr::mode, mode}}; };
  const auto put = [](int64_t axis, Word mode, Word combine) {
    return Attributes{{Attr::axis, axis}, {Attr::mode, mode}, {Attr::combine, combine}};
  };
  check({
      {Op::gather, {f32({5, 6}), i64({2, 3})}, at(1, Word::clamp), "f32[5,2,3]"},
      {Op::gather, {f32({5, 6}), i64({})}, at(0, Word::check), "f32[6]"},
      {Op::gather, {f32({0, 6}), i64({0})}, at(0, Word::check), "f32[0,6]"},
      {Op::gather,
       {f32({0, 6}), i64({2})},
       at(0, Word::check),
       "gather: axis 0 of f32[0,6] is empty, there is nothing for 2 indices to name"},
      {Op::gather, {f32({5}), f32({2})}, at(0, Word::check), "gather: indices f32[2] are not integers"},
      {Op::gather, {f32({5}), i32({2})}, at(0, Word::drop), "gather: mode is 'drop', not 'clamp' or 'check'"},
      {Op::gather, {f32({5}), i32({2})}, {{Attr::axis, int64_t{0}}}, "gather: attribute 'mode' is missing"},
      {Op::scatter, {f32({5, 6}), i64({2}), f32({5, 2})}, put(1, Word::drop, Word::add), "f32[5,6]"},
      {Op::scatter,
       {f32({5, 6}), i64({2}), f32({2, 5})},
       put(1, Word::drop, Word::add),
       "scatter: updates f32[2,5] should have the shape [5,2] for operand f32[5,6] and indices i64[2]"},
      {Op::scatter,
       {boolean({5}), i64({2}), boolean({2})},
       put(0, Word::drop, Word::add),
       "scatter: combine 'add' takes no bool[2]"},
      {Op::scatter, {f32({5}), i64({2}), i64({2})}, put(0, Word::drop, Word::bit_or), "f32[5]"},
      {Op::scatter,
       {i64({5}), i64({2}), f32({2})},
       put(0, Word::drop, Word::bit_or),
       "scatter: combine 'bit_or' takes no f32[2]"},
      {Op::scatter,
       {f32({5}), i64({2}), i64({2})},
       put(0, Word::drop, Word::set),
       "scatter: the updates i64[2] has another dtype than the operand f32[5]; convert one of them"},
      {Op::scatter,
       {f32({5}), i64({2}), f32({2})},
       put(0, Word::drop, Word::check),
       "scatter: combine is 'check', not 'set' or an operation of two numbers such as 'add'"},
  });
}

TEST(TypeRules, DynamicSlices) {
  const auto sizes = [](Ints list) { return Attributes{{Attr::sizes, std::move(list)}}; };
  check({
      {Op::dynamic_slice, {f32({5, 6}), i64({}), i32({})}, sizes({2, 3}), "f32[2,3]"},
      {Op::dynamic_slice,
       {f32({5, 6}), i64({})},
       sizes({2, 3}),
       "dynamic_slice: takes one start for each of the 2 axes of f32[5,6], not 1"},
      {Op::dynamic_slice,
       {f32({5}), f32({})},
       sizes({2}),
       "dynamic_slice: start f32[] is not a scalar integer"},
      {Op::dynamic_slice,
       {f32({5}), i64({})},
       sizes({6}),
       "dynamic_slice: a window of [6] does not fit in f32[5]: axis 0 is 6 and 5"},
      {Op::dynamic_update_slice, {f32({5}), f32({2}), i64({})}, {}, "f32[5]"},
      {Op::dynamic_update_slice,
       {f32({5}), f32({6}), i64({})},
       {},
       "dynamic_update_slice: a window of [6] does not fit in f32[5]: axis 0 is 6 and 5"},
      {Op::dynamic_update_slice,
       {f32({5}), i32({2}), i64({})},
       {},
       "dynamic_update_slice: the update i32[2] has another dtype than the operand f32[5]; convert one of "
       "them"},
  });
}

TEST(TypeRules, ReductionsAndCumulative) {
  const auto axes = [](Ints list) { return Attributes{{Attr::axes, std::move(list)}}; };
  const Attributes axis0{{Attr::axis, int64_t{0}}};
  check({
      {Op::reduce_sum, {f32({2, 3, 4})}, axes({0, 2}), "f32[3]"},
      {Op::reduce_sum, {f32({2, 3})}, axes({}), "f32[2,3]"},
      {Op::reduce_sum, {f32({0, 3})}, axes({0}), "f32[3]"},
      {Op::reduce_sum, {boolean({3})}, axes({0}), "reduce_sum: bool[3] is not a number type"},
      {Op::reduce_sum, {f32({2, 3})}, axes({2}), "reduce_sum: axis 2 is out of range for f32[2,3]"},
      {Op::reduce_sum, {f32({2, 3})}, axis0, "reduce_sum: takes no attribute 'axis'"},
      {Op::reduce_max,
       {f32({0, 3})},
       axes({0}),
       "reduce_max: axis 0 of f32[0,3] is empty, and nothing has no maximum"},
      {Op::reduce_max, {f32({0, 3})}, axes({1}), "f32[0]"},
      {Op::reduce_min, {boolean({3})}, axes({0}), "bool[]"},
      {Op::reduce_any, {i32({3})}, axes({0}), "reduce_any: i32[3] is not a bool type"},
      {Op::argmax, {f32({2, 3})}, axis0, "i64[3]"},
      {Op::argmin, {f32({0, 3})}, axis0, "argmin: axis 0 of f32[0,3] is empty, and nothing has no minimum"},
      {Op::cumsum, {f32({0, 3})}, axis0, "f32[0,3]"},
      {Op::cumsum, {f32({})}, axis0, "cumsum: axis 0 is out of range for f32[]"},
      {Op::cumprod, {boolean({2})}, axis0, "cumprod: bool[2] is not a number type"},
      {Op::cummax, {boolean({2})}, axis0, "bool[2]"},
      {Op::sort, {f32({2, 3})}, axis0, "f32[2,3]"},
      {Op::sort, {boolean({0})}, axis0, "bool[0]"},
      {Op::sort, {f32({})}, axis0, "sort: axis 0 is out of range for f32[]"},
      {Op::argsort, {f32({2, 3})}, axis0, "i64[2,3]"},
      {Op::argsort,
       {f32({2, 3})},
       {{Attr::axis, int64_t{2}}},
       "argsort: axis 2 is out of range for f32[2,3]"},
  });
}

TEST(TypeRules, Windows) {
  const auto windows = [](Ints axes, Ints sizes, Ints steps, Ints dilations) -> Attributes {
    return {{Attr::axes, std::move(axes)},
            {Attr::sizes, std::move(sizes)},
            {Attr::steps, std::move(steps)},
            {Attr::dilations, std::move(dilations)}};
  };
  check({
      {Op::window, {f32({5})}, windows({0}, {3}, {1}, {1}), "f32[3,3]"},
      {Op::window, {f32({5})}, windows({0}, {5}, {1}, {1}), "f32[1,5]"},
      {Op::window, {f32({5})}, windows({0}, {2}, {3}, {1}), "f32[2,2]"},
      {Op::window, {f32({5})}, windows({0}, {2}, {1}, {4}), "f32[1,2]"},
      {Op::window, {i32({2, 8, 9})}, windows({1, 2}, {3, 2}, {2, 3}, {1, 2}), "i32[2,3,3,3,2]"},
      {Op::window, {boolean({0, 4})}, windows({1}, {4}, {1}, {1}), "bool[0,1,4]"},
      {Op::window, {f32({3})}, windows({}, {}, {}, {}), "f32[3]"},
      {Op::window,
       {f32({5})},
       windows({0}, {6}, {1}, {1}),
       "window: a window of 6 elements does not fit into axis 0 of f32[5]"},
      {Op::window,
       {f32({5})},
       windows({0}, {3}, {1}, {3}),
       "window: a window of 3 elements, 3 apart, does not fit into axis 0 of f32[5]"},
      {Op::window,
       {f32({5})},
       windows({0}, {2}, {1}, {kHuge}),
       "window: a window of 2 elements, 4611686018427387904 apart, does not fit into axis 0 of f32[5]"},
      {Op::window, {f32({5})}, windows({0}, {0}, {1}, {1}), "window: sizes must be positive, not [0]"},
      {Op::window, {f32({5})}, windows({0}, {1}, {0}, {1}), "window: steps must be positive, not [0]"},
      {Op::window, {f32({5})}, windows({0}, {1}, {1}, {-1}), "window: dilations must be positive, not [-1]"},
      {Op::window, {f32({5})}, windows({0}, {1, 1}, {1}, {1}), "window: sizes has 2 entries for 1 axes"},
      {Op::window, {f32({5})}, windows({1}, {1}, {1}, {1}), "window: axis 1 is out of range for f32[5]"},
  });
}

TEST(TypeRules, Products) {
  const auto dot = [](Ints lhs_batch, Ints rhs_batch, Ints lhs_contract, Ints rhs_contract) -> Attributes {
    return {{Attr::lhs_batch, std::move(lhs_batch)},
            {Attr::rhs_batch, std::move(rhs_batch)},
            {Attr::lhs_contract, std::move(lhs_contract)},
            {Attr::rhs_contract, std::move(rhs_contract)}};
  };
  check({
      {Op::dot, {f32({3, 4}), f32({4, 5})}, dot({}, {}, {1}, {0}), "f32[3,5]"},
      {Op::dot, {f32({8, 4, 16}), f32({8, 16, 5})}, dot({0}, {0}, {2}, {1}), "f32[8,4,5]"},
      {Op::dot, {f32({2, 3, 4, 5}), f32({5, 3, 2, 7})}, dot({1, 0}, {1, 2}, {3}, {0}), "f32[3,2,4,7]"},
      {Op::dot, {i32({3}), i32({3})}, dot({}, {}, {0}, {0}), "i32[]"},
      {Op::dot, {boolean({3}), boolean({4})}, dot({}, {}, {}, {}), "bool[3,4]"},
      {Op::dot, {f32({2, 0}), f32({0, 3})}, dot({}, {}, {1}, {0}), "f32[2,3]"},
      {Op::dot,
       {f32({3, 4}), f32({5, 6})},
       dot({}, {}, {1}, {0}),
       "dot: f32[3,4] and f32[5,6] do not match: contracted axis 1 of the first is 4, axis 0 of the second "
       "is 5"},
      {Op::dot,
       {f32({3, 4}), f32({1, 4})},
       dot({0}, {0}, {1}, {1}),
       "dot: f32[3,4] and f32[1,4] do not match: batch axis 0 of the first is 3, axis 0 of the second is 1"},
      {Op::dot,
       {f32({3}), i32({3})},
       dot({}, {}, {0}, {0}),
       "dot: operands f32[3] and i32[3] have different dtypes"},
      {Op::dot, {f32({3}), f32({3})}, dot({}, {}, {1}, {0}), "dot: axis 1 is out of range for f32[3]"},
      {Op::dot, {f32({3}), f32({3})}, dot({}, {}, {0}, {-1}), "dot: axis -1 is out of range for f32[3]"},
      {Op::dot, {f32({3}), f32({3})}, dot({0}, {0}, {0}, {0}), "dot: axis 0 of f32[3] is named twice"},
      {Op::dot,
       {f32({3, 3}), f32({3})},
       dot({}, {}, {0, 1}, {0}),
       "dot: 2 contracted axes of the first operand and 1 of the second do not pair up"},
  });
}

TEST(TypeRules, ErrorsCarryLineAndKind) {
  const TensorType inputs[] = {f32({3}), i32({3})};
  try {
    infer_type(Op::add, inputs, {}, {"model.py", 12, 0, "forward"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), UserError::Kind::type);
    EXPECT_STREQ(
        error.what(),
        "add: operands have different dtypes f32 and i32; convert one of them\n  at model.py:12, in forward");
  }
}

TEST(TypeRules, BroadcastShapes) {
  const Shape fits[] = {{2, 1}, {3}, {}};
  EXPECT_EQ(broadcast_shapes(fits), (Shape{2, 3}));
  const Shape differs[] = {{2}, {3}};
  EXPECT_EQ(broadcast_shapes(differs), std::nullopt);
}

}  // namespace
}  // namespace tokamak
