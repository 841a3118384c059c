// Every op that moves, indexes, reduces or accumulates: all its dtypes, shapes, attributes and layouts.

#include <gtest/gtest.h>

#include "native/array_cases.h"
#include "native/op_lists.h"

namespace tokamak::testing {
namespace {

using enum Arrangement;

std::vector<Op> array_ops() {
  std::vector<Op> ops = ops_of({OpFamily::View, OpFamily::Index, OpFamily::Reduce, OpFamily::Cumulative});
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

TEST_P(Arrays, AreRightForEveryLayout) {
  if (op() == Op::iota) GTEST_SKIP() << "has no operands";
  for (DType dtype : representative_dtypes(op())) {
    const std::vector<Case> all = cases(dtype);
    size_t turn = 1;
    for (const Case& c : all) ASSERT_EQ(check(c, in_turn(turn++)), "");
    for (Arrangement arrangement : kArrangements) ASSERT_EQ(check(all[0], {arrangement}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Arrays, ::testing::ValuesIn(array_ops()), op_test_name);

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
