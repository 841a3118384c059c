#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "ir/attributes.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "ops/scalar_builder.h"

namespace tokamak {

/// Sets of dtypes an op is defined for.
enum class DTypes : uint8_t {
  floats,             ///< f16 bf16 f32 f64
  numbers,            ///< integers and floats
  any,                ///< numbers and bool
  integers,           ///< i8..i64 u8..u64
  integers_and_bool,  ///< integers and bool
  boolean,
};
bool contains(DTypes set, DType dtype);

/// What a type rule sees. `fail` throws UserError with the op's name in front and the user's line behind.
struct TypeContext {
  Op op;
  std::span<const TensorType> inputs;
  const Attributes& attributes;
  const SourceLocation& where;

  [[noreturn]] void fail(const std::string& message, UserError::Kind kind = UserError::Kind::value) const;
};
using TypeRule = TensorType (*)(const TypeContext& context);

/// What scalar code sees: the operands as lanes, and the types it is for.
struct ScalarContext {
  ScalarBuilder& s;
  std::span<const Scalar> x;  ///< operands, in lanes of their dtype
  DType operand;              ///< dtype of the last operand (select: of its branches)
  DType result;               ///< dtype of the result
};
/// f16 and bf16 are handled around it: for them it runs on f32 lanes and the result is rounded afterwards.
using ScalarRule = Scalar (*)(const ScalarContext& context);

/// Inputs that tests draw: uniformly from [low, high], plus special values.
struct TestRange {
  double low = -10;
  double high = 10;
};

/// A set of attribute names, one bit each.
using AttrSet = uint32_t;
constexpr AttrSet attr_set(std::initializer_list<Attr> names) {
  AttrSet set = 0;
  for (Attr name : names) set |= AttrSet{1} << static_cast<int>(name);
  return set;
}
constexpr bool contains(AttrSet set, Attr name) { return (set >> static_cast<int>(name) & 1) != 0; }

/// All rules of one op, next to each other. The tables are in elementwise/*.h, reduce.h, cumulative.h,
/// sort.h, view.h, index.h and source.h, with the longer rules in the .cpp of the same name.
struct OpRecord {
  Op op;
  DTypes dtypes;  ///< of the operands; select, gather, scatter and dynamic slices say more in their type rule
  TypeRule type;
  ScalarRule scalar = nullptr;  ///< Elementwise only
  TestRange test = {};
  int max_ulp = 0;         ///< promised error against the true value for floats; 0 = correctly rounded
  AttrSet attributes = 0;  ///< all of them required, no others allowed
  AttrSet optional = 0;    ///< but these
  bool exact = false;      ///< f16 and bf16 results are representable as they are and need no rounding
};

/// The record of every op; a missing one does not compile.
const OpRecord& record_of(Op op);

/// Scalar code of an element-wise op for operands of `operand_dtypes`, including the f16/bf16 rounding.
Scalar emit_scalar(ScalarBuilder& builder, Op op, std::span<const Scalar> operands,
                   std::span<const DType> operand_dtypes, DType result);

/// NumPy's broadcasting rule: the common shape, or nullopt when there is none.
std::optional<Shape> broadcast_shapes(std::span<const Shape> shapes);

// Reductions as a fold. The lane type of the accumulator: f16/bf16 sums and products accumulate in f32 lanes,
// and are rounded at the end; everything else accumulates in its own lane.

/// The neutral element of reduce_* and cum* (not argmax/argmin), in the accumulator's lane. A float sum
/// starts from +0, as NumPy's does (so that a sum of negative zeros is +0); cumsum starts from -0, which
/// leaves its first element as it is.
Scalar reduction_identity(ScalarBuilder& builder, Op op, DType dtype);
/// One step of the fold: `element` into `accumulator`. The steps of cumsum and cumprod round f16 and bf16
/// each time, those of reduce_sum and reduce_prod never: whoever ends the fold rounds (round_to).
Scalar reduction_step(ScalarBuilder& builder, Op op, DType dtype, Scalar accumulator, Scalar element);
/// A step of reduce_max or reduce_min of floats, as long as there is no NaN.
Scalar better_number(ScalarBuilder& builder, Op op, Scalar best, Scalar element);
/// Whether `candidate` replaces `best` in argmax/argmin when it comes later: strictly better, or the first
/// NaN.
Scalar arg_reduction_better(ScalarBuilder& builder, Op op, DType dtype, Scalar candidate, Scalar best);

/// An f32 lane rounded to `dtype` when that is f16 or bf16; any other value as it is.
Scalar round_to(ScalarBuilder& builder, DType dtype, Scalar value);

/// Relative cost of one element of an op, in units of a simple vector instruction (add = 1); counted from its
/// scalar code.
double scalar_cost(Op op, DType operand, DType result);

/// Re-derives every type and checks every operand and output; throws InternalError naming the node that is
/// wrong.
void verify(const Graph& graph);

}  // namespace tokamak
