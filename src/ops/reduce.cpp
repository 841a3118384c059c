#include "ops/reduce.h"

#include <limits>

#include "ops/elementwise/scalar_code.h"
#include "ops/type_rules.h"

namespace tokamak {

namespace rules {

/// reduce_* {axes}: drops those axes.
TensorType reduce(const TypeContext& context) {
  require_dtype(context, 0, record_of(context.op).dtypes);
  const TensorType& from = context.inputs[0];
  const Ints& axes = require_axes(context, from);
  TensorType to{from.dtype, {}};
  size_t next = 0;
  for (size_t axis = 0; axis < from.shape.size(); ++axis) {
    if (next < axes.size() && axes[next] == static_cast<int64_t>(axis)) {
      ++next;
    } else {
      to.shape.push_back(from.shape[axis]);
    }
  }
  return to;
}

TensorType reduce_nonempty(const TypeContext& context) {
  TensorType to = reduce(context);
  const TensorType& from = context.inputs[0];
  for (int64_t axis : context.attributes.ints(Attr::axes)) {
    if (from.shape[static_cast<size_t>(axis)] == 0) {
      context.fail("axis " + std::to_string(axis) + " of " + to_string(from) +
                   " is empty, and nothing has no " + (context.op == Op::reduce_max ? "maximum" : "minimum"));
    }
  }
  return to;
}

/// argmax, argmin {axis}: drops the axis, gives i64.
TensorType arg_reduce(const TypeContext& context) {
  require_dtype(context, 0, record_of(context.op).dtypes);
  const TensorType& from = context.inputs[0];
  const size_t axis = require_axis(context, from);
  if (from.shape[axis] == 0) {
    context.fail("axis " + std::to_string(axis) + " of " + to_string(from) +
                 " is empty, and nothing has no " + (context.op == Op::argmax ? "maximum" : "minimum"));
  }
  TensorType to{DType::i64, from.shape};
  to.shape.erase(to.shape.begin() + static_cast<int64_t>(axis));
  return to;
}

}  // namespace rules

namespace {

/// The fold an op is made of, as the element-wise op of one step.
enum class Fold : uint8_t { sum, product, maximum, minimum, any, all };

Fold fold_of(Op op) {
  switch (op) {
    case Op::reduce_sum:
    case Op::cumsum:
      return Fold::sum;
    case Op::reduce_prod:
    case Op::cumprod:
      return Fold::product;
    case Op::reduce_max:
    case Op::cummax:
      return Fold::maximum;
    case Op::reduce_min:
    case Op::cummin:
      return Fold::minimum;
    case Op::reduce_any:
      return Fold::any;
    case Op::reduce_all:
      return Fold::all;
    default:
      throw InternalError(std::string(name_of(op)) + " is not a fold");
  }
}

/// The value every other is at least as large (or small) as.
Scalar extreme(ScalarBuilder& builder, DType dtype, bool lowest) {
  const Lane lane = lane_of(dtype);
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return builder.constant(lane, lowest ? -infinity : infinity);
  }
  if (scalar::is_unsigned(dtype)) return builder.integer(lane, lowest ? 0 : -1);
  const auto smallest = std::numeric_limits<int64_t>::min() >> (64 - bits_of(lane));
  return builder.integer(lane, lowest ? smallest : ~smallest);
}

}  // namespace

Scalar reduction_identity(ScalarBuilder& builder, Op op, DType dtype) {
  const Lane lane = lane_of(dtype);
  switch (fold_of(op)) {
    case Fold::sum:
      if (is_float(dtype)) return builder.constant(lane, op == Op::cumsum ? -0.0 : 0.0);
      return builder.integer(lane, 0);
    case Fold::product:
      return is_float(dtype) ? builder.constant(lane, 1) : builder.integer(lane, 1);
    case Fold::maximum:
      return extreme(builder, dtype, true);
    case Fold::minimum:
      return extreme(builder, dtype, false);
    case Fold::any:
      return builder.constant_bits(Lane::i1, 0);
    case Fold::all:
      return builder.constant_bits(Lane::i1, 1);
  }
  throw InternalError("no such fold");
}

Scalar reduction_step(ScalarBuilder& builder, Op op, DType dtype, Scalar accumulator, Scalar element) {
  Expr a{&builder, accumulator};
  Expr b{&builder, element};
  const bool rounds = family_of(op) == OpFamily::Cumulative;
  switch (fold_of(op)) {
    case Fold::sum:
      return rounds ? round_to(builder, dtype, a + b) : a + b;
    case Fold::product:
      return rounds ? round_to(builder, dtype, a * b) : a * b;
    case Fold::maximum:
      return scalar::maximum(dtype, a, b);
    case Fold::minimum:
      return scalar::minimum(dtype, a, b);
    case Fold::any:
      return a | b;
    case Fold::all:
      return a & b;
  }
  throw InternalError("no such fold");
}

Scalar better_number(ScalarBuilder& builder, Op op, Scalar best, Scalar element) {
  Expr old{&builder, best};
  Expr next{&builder, element};
  return op == Op::reduce_max ? select(next < old, old, next) : select(old < next, old, next);
}

Scalar arg_reduction_better(ScalarBuilder& builder, Op op, DType dtype, Scalar candidate, Scalar best) {
  Expr next{&builder, candidate};
  Expr old{&builder, best};
  const bool largest = op == Op::argmax;
  if (!is_float(dtype)) return largest ? scalar::less(dtype, old, next) : scalar::less(dtype, next, old);
  // A NaN is not less or equal: the first one is better than all numbers.
  Expr no_better = largest ? next <= old : old <= next;
  return (!no_better) & (old == old);
}

}  // namespace tokamak
