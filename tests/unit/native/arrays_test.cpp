// Every op that moves, indexes, reduces, accumulates or contracts: all its dtypes, shapes, attributes and
// layouts.

#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/text.h"
#include "native/array_cases.h"
#include "native/op_lists.h"

namespace tokamak::testing {
namespace {

using enum Arrangement;

std::vector<Op> ops_with_operands() {
  return ops_of({OpFamily::View, OpFamily::Index, OpFamily::Reduce, OpFamily::Cumulative, OpFamily::Sort,
                 OpFamily::Contract});
}

std::vector<Op> array_ops() {
  std::vector<Op> ops = ops_with_operands();
  ops.push_back(Op::iota);
  return ops;
}

/// The other arrangements in turn, a different one for each operand.
std::vector<Arrangement> in_turn(size_t turn) {
  constexpr size_t kCount = std::size(kArrangements);
  std::vector<Arrangement> arrangements;
  for (size_t i = 0; i < 5; ++i) arrangements.push_back(kArrangements[(turn + 3 * i) % kCount]);
  return arrangements;
}

class Arrays : public ::testing::TestWithParam<Op> {
 protected:
  Op op() const { return GetParam(); }
  std::vector<Case> cases(DType dtype) { return array_cases(op(), dtype, random_); }

  std::mt19937 random_{23};
};

TEST_P(Arrays, AreRightForEveryDType) {
  for (DType dtype : dtypes_of(op())) {
    const std::vector<Case> all = cases(dtype);
    ASSERT_FALSE(all.empty());
    for (size_t i = 0; i < std::min<size_t>(all.size(), 2); ++i) {
      ASSERT_EQ(check(all[i], {dense}), "");
      ASSERT_EQ(check(all[i], in_turn(3 + i)), "");
    }
  }
}

TEST_P(Arrays, AreRightForEveryShapeAndAttribute) {
  for (DType dtype : representative_dtypes(op())) {
    for (const Case& c : cases(dtype)) ASSERT_EQ(check(c, {dense}), "");
  }
}

class StridedArrays : public Arrays {};

TEST_P(StridedArrays, AreRight) {
  size_t offset = 0;
  for (DType dtype : representative_dtypes(op())) {
    const std::vector<Case> all = cases(dtype);
    for (Arrangement arrangement : kArrangements) ASSERT_EQ(check(all[0], {arrangement}), "");
    // Every arrangement in turn, each dtype with other cases.
    std::string previous;
    size_t turn = offset++;
    for (const Case& c : all) {
      const std::string graph = print(graph_of(c));
      if (graph != previous) ++turn;
      previous = graph;
      if (turn % 2 != 0) continue;
      ASSERT_EQ(check(c, in_turn(1 + turn / 2 % (std::size(kArrangements) - 1))), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Arrays, ::testing::ValuesIn(array_ops()), op_test_name);
INSTANTIATE_TEST_SUITE_P(Ops, StridedArrays, ::testing::ValuesIn(ops_with_operands()), op_test_name);

/// In mode "check" an index out of range is the caller's mistake, wherever among the others it stands.
TEST(CheckedIndices, FailOutOfRange) {
  for (DType dtype : {DType::i8, DType::u8, DType::i32, DType::u32, DType::i64, DType::u64}) {
    for (int64_t wrong : {int64_t{9}, int64_t{100}, int64_t{-1}}) {
      for (size_t at : {0, 1, 31, 36}) {
        Tensor indices(TensorType{dtype, {37}});
        const Tensor value = scalar_tensor(dtype, wrong);
        std::memcpy(indices.mutable_data() + at * size_of(dtype), value.data(), size_of(dtype));
        const Tensor operand(TensorType{DType::f32, {9}});
        const Tensor updates(TensorType{DType::f32, {37}});
        Attributes attributes = {{Attr::axis, int64_t{0}}, {Attr::mode, Word::check}};
        const Case gather{Op::gather, {operand, indices}, attributes};
        attributes.set(Attr::combine, Word::add);
        const Case scatter{Op::scatter, {operand, indices, updates}, attributes};
        for (const Case& c : {gather, scatter}) {
          const std::vector<Arranged> arguments = arrange_all(c.operands, {dense});
          const Compiled compiled = compile_for(graph_of(c), arguments);
          EXPECT_THROW(run(*compiled.program, arguments), UserError) << name_of(c.op) << " " << wrong;
          EXPECT_THROW(interpret(graph_of(c), c.operands, false), UserError) << name_of(c.op) << " " << wrong;
        }
      }
    }
  }
}

TEST(Tables, HaveCasesForEveryOp) {
  std::mt19937 random(1);
  for (size_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (op == Op::parameter || op == Op::constant || family_of(op) == OpFamily::Elementwise) continue;
    EXPECT_FALSE(array_cases(op, dtypes_of(op)[0], random).empty()) << name_of(op);
  }
}

}  // namespace
}  // namespace tokamak::testing
