// Every element-wise op: all its dtypes, all kinds of shapes and layouts, special values.

#include <gtest/gtest.h>

#include "native/check.h"
#include "native/op_lists.h"
#include "native/values.h"

namespace tokamak::testing {
namespace {

using enum Arrangement;

class Elementwise : public ::testing::TestWithParam<Op> {
 protected:
  Op op() const { return GetParam(); }
  const OpRecord& record() const { return record_of(op()); }
  auto operand_count() const { return static_cast<size_t>(info(op()).arity); }
  DType dtype_of_operand(size_t i, DType dtype) const {
    return op() == Op::select && i == 0 ? DType::boolean : dtype;
  }

  /// convert has one case per target, the others one.
  std::vector<Attributes> attribute_sets(bool all_targets, DType operand) const {
    if (op() == Op::bitcast) return {{{Attr::dtype, same_bits(operand)}}};
    if (op() != Op::convert) return {{}};
    std::vector<Attributes> sets;
    for (DType target : kAllDTypes) {
      const bool representative = target == DType::f32 || target == DType::i8 || target == DType::u64;
      if (all_targets || representative) sets.push_back({{Attr::dtype, target}});
    }
    return sets;
  }

  Case random_case(DType dtype, const std::vector<Shape>& shapes, const Attributes& attributes) {
    Case c{op(), {}, attributes};
    for (size_t i = 0; i < operand_count(); ++i) {
      const TensorType type{dtype_of_operand(i, dtype), shapes[i % shapes.size()]};
      c.operands.push_back(mixed_tensor(type, record().test, random_));
    }
    return c;
  }

  std::mt19937 random_{17};
};

TEST_P(Elementwise, IsRightForSpecialValuesOfEveryDType) {
  for (DType dtype : dtypes_of(op())) {
    for (const Attributes& attributes : attribute_sets(true, dtype)) {
      std::vector<Tensor> operands = meeting_values(dtype, operand_count());
      if (op() == Op::select) {
        operands = meeting_values(dtype, 2);
        const TensorType condition{DType::boolean, operands[0].type().shape};
        operands.insert(operands.begin(), mixed_tensor(condition, {}, random_));
      }
      ASSERT_EQ(check({op(), operands, attributes}, {dense}), "");
    }
  }
}

TEST_P(Elementwise, IsRightForEveryDType) {
  for (DType dtype : dtypes_of(op())) {
    for (const Attributes& attributes : attribute_sets(true, dtype)) {
      if (op() != Op::convert) {
        ASSERT_EQ(check(random_case(dtype, {{131}}, attributes), {dense}), "");
      }
      ASSERT_EQ(check(random_case(dtype, {{3, 131}}, attributes), {stepped, gapped, unaligned}), "");
    }
  }
}

class ElementwiseUnary : public Elementwise {};

TEST_P(ElementwiseUnary, IsRightForEverySixteenBitFloat) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    for (const Attributes& attributes : attribute_sets(false, dtype))
      ASSERT_EQ(check({op(), {all_values(dtype)}, attributes}, {dense}), "");
  }
}

TEST_P(Elementwise, IsRightForEveryShape) {
  for (DType dtype : representative_dtypes(op())) {
    for (const Attributes& attributes : attribute_sets(false, dtype)) {
      for (const Shape& shape : shapes_for(dtype))
        ASSERT_EQ(check(random_case(dtype, {shape}, attributes), {dense}), "");
    }
  }
}

TEST_P(Elementwise, IsRightForEveryLayout) {
  constexpr size_t kCount = std::size(kArrangements);
  for (DType dtype : representative_dtypes(op())) {
    for (const Attributes& attributes : attribute_sets(false, dtype)) {
      for (size_t i = 1; i < kCount; ++i) {
        const std::vector<Arrangement> each = {kArrangements[i], kArrangements[(i + 3) % kCount],
                                               kArrangements[(i + 4) % kCount]};
        ASSERT_EQ(check(random_case(dtype, {{5, 37}}, attributes), each), "");
        if (dtype != representative_dtypes(op())[0]) continue;
        const Shape more = i % 2 == 0 ? Shape{2, 3, 1, 2, 19} : Shape{67};
        ASSERT_EQ(check(random_case(dtype, {more}, attributes), each), "");
      }
    }
  }
}

class ElementwiseJoining : public Elementwise {};

TEST_P(ElementwiseJoining, BroadcastsItsOperands) {
  const std::vector<Shape> kinds[] = {{{7, 33}, {33}, {}},     {{7, 1}, {1, 33}, {7, 33}}, {{}, {19}, {1}},
                                      {{19}, {}, {19}},        {{0, 4}, {4}, {}},          {{1}, {1, 1}, {}},
                                      {{2, 1, 9}, {3, 1}, {9}}};
  for (DType dtype : representative_dtypes(op())) {
    size_t turn = 0;
    for (const std::vector<Shape>& shapes : kinds) {
      ASSERT_EQ(check(random_case(dtype, shapes, {}), {dense}), "");
      const Arrangement second = kArrangements[turn++ % std::size(kArrangements)];
      ASSERT_EQ(check(random_case(dtype, shapes, {}), {transposed, second, reversed}), "");
    }
  }
}

std::vector<Op> elementwise_ops(bool unary) {
  std::vector<Op> ops = ops_of({OpFamily::Elementwise});
  std::erase_if(ops, [&](Op op) { return (info(op).arity == 1) != unary; });
  return ops;
}
std::vector<Op> half_precision_ops() {
  std::vector<Op> ops = elementwise_ops(true);
  std::erase_if(ops, [](Op op) { return !contains(record_of(op).dtypes, DType::f16); });
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, Elementwise, ::testing::ValuesIn(ops_of({OpFamily::Elementwise})),
                         op_test_name);
INSTANTIATE_TEST_SUITE_P(Ops, ElementwiseUnary, ::testing::ValuesIn(half_precision_ops()), op_test_name);
INSTANTIATE_TEST_SUITE_P(Ops, ElementwiseJoining, ::testing::ValuesIn(elementwise_ops(false)), op_test_name);

}  // namespace
}  // namespace tokamak::testing
