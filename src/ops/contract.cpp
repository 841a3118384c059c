#include "ops/contract.h"

#include <algorithm>

#include "ops/type_rules.h"

namespace tokamak {
namespace {

bool has(const Ints& axes, int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

Ints free_axes(int64_t rank, const Ints& batch, const Ints& contract) {
  Ints free;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!has(batch, axis) && !has(contract, axis)) free.push_back(axis);
  }
  return free;
}

}  // namespace

DotAxes dot_axes(const Attributes& attributes, int64_t lhs_rank, int64_t rhs_rank) {
  DotAxes axes;
  axes.lhs_batch = attributes.ints(Attr::lhs_batch);
  axes.rhs_batch = attributes.ints(Attr::rhs_batch);
  axes.lhs_contract = attributes.ints(Attr::lhs_contract);
  axes.rhs_contract = attributes.ints(Attr::rhs_contract);
  axes.lhs_free = free_axes(lhs_rank, axes.lhs_batch, axes.lhs_contract);
  axes.rhs_free = free_axes(rhs_rank, axes.rhs_batch, axes.rhs_contract);
  return axes;
}

int64_t extent_of(const Shape& shape, const Ints& axes) {
  int64_t extent = 1;
  for (int64_t axis : axes) extent *= shape[static_cast<size_t>(axis)];
  return extent;
}

bool leaves_rows_to_threads(int64_t rows, int64_t multiplications) {
  constexpr int64_t kMultiplicationsOfOneThread = 64 << 10;
  constexpr int64_t kEnoughRows = 4;
  return multiplications <= kMultiplicationsOfOneThread || rows >= kEnoughRows;
}

namespace rules {
namespace {

/// Every axis within the rank, and none twice, over both lists.
void require_distinct(const TypeContext& context, const TensorType& type, const Ints& batch,
                      const Ints& contract) {
  Ints all = batch;
  all.insert(all.end(), contract.begin(), contract.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] < 0 || all[i] >= type.rank())
      context.fail("axis " + std::to_string(all[i]) + " is out of range for " + to_string(type));
    if (std::find(all.begin(), all.begin() + static_cast<int64_t>(i), all[i]) !=
        all.begin() + static_cast<int64_t>(i))
      context.fail("axis " + std::to_string(all[i]) + " of " + to_string(type) + " is named twice");
  }
}

void require_pairs(const TypeContext& context, const Ints& lhs_axes, const Ints& rhs_axes, const char* what) {
  const TensorType& lhs = context.inputs[0];
  const TensorType& rhs = context.inputs[1];
  if (lhs_axes.size() != rhs_axes.size()) {
    context.fail(std::to_string(lhs_axes.size()) + " " + what + " axes of the first operand and " +
                 std::to_string(rhs_axes.size()) + " of the second do not pair up");
  }
  for (size_t i = 0; i < lhs_axes.size(); ++i) {
    const int64_t left = lhs.shape[static_cast<size_t>(lhs_axes[i])];
    const int64_t right = rhs.shape[static_cast<size_t>(rhs_axes[i])];
    if (left == right) continue;
    context.fail(to_string(lhs) + " and " + to_string(rhs) + " do not match: " + what + " axis " +
                 std::to_string(lhs_axes[i]) + " of the first is " + std::to_string(left) + ", axis " +
                 std::to_string(rhs_axes[i]) + " of the second is " + std::to_string(right));
  }
}

}  // namespace

/// dot {lhs_batch, rhs_batch, lhs_contract, rhs_contract}: for every element of the batch axes, the sums over
/// the contracted axes of the products of elements. Sums of f16 and bf16 are kept in f32 and rounded at the
/// end, integers wrap, and for bool the sum is "or" and the product is "and".
///   dot f32[8,4,16], f32[8,16,5] {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}  =>
///   f32[8,4,5]
TensorType dot(const TypeContext& context) {
  const TensorType& lhs = context.inputs[0];
  const TensorType& rhs = context.inputs[1];
  if (lhs.dtype != rhs.dtype)
    context.fail("operands " + list_of(context.inputs) + " have different dtypes", UserError::Kind::type);
  const DotAxes axes = dot_axes(context.attributes, lhs.rank(), rhs.rank());
  require_distinct(context, lhs, axes.lhs_batch, axes.lhs_contract);
  require_distinct(context, rhs, axes.rhs_batch, axes.rhs_contract);
  require_pairs(context, axes.lhs_batch, axes.rhs_batch, "batch");
  require_pairs(context, axes.lhs_contract, axes.rhs_contract, "contracted");
  TensorType result{lhs.dtype, {}};
  for (int64_t axis : axes.lhs_batch) result.shape.push_back(lhs.shape[static_cast<size_t>(axis)]);
  for (int64_t axis : axes.lhs_free) result.shape.push_back(lhs.shape[static_cast<size_t>(axis)]);
  for (int64_t axis : axes.rhs_free) result.shape.push_back(rhs.shape[static_cast<size_t>(axis)]);
  return result;
}

}  // namespace rules
}  // namespace tokamak
