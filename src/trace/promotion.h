#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <string_view>

#include "ir/op.h"
#include "tokamak/array.h"
#include "tokamak/functions.h"

namespace tokamak {

class Trace;

/// The dtype a number takes where no array says otherwise: bool, i64, u64 (beyond i64) or f64.
DType default_dtype(const Operand::Number& number);

/// The dtype that operands meet in: arrays promote, then numbers widen the kind if they must (bool < integer
/// < float).
DType common_dtype(std::span<const Operand> operands);

/// The dtype in which NumPy runs the element-wise `op` on operands whose common dtype is `common`. Where
/// NumPy refuses it is `common`, and the type rule of the op says why.
DType compute_dtype(Op op, DType common);

/// The float that functions of floats give for this dtype: f16 for bool and 8-bit, f32 for 16-bit, f64 for
/// wider integers; floats are themselves.
DType float_for(DType dtype);

/// What sums and products accumulate in: i64 or u64 for integers, i64 for bool, floats are themselves.
DType sum_dtype(DType dtype);

/// A rank-0 array of `dtype`. Integers that do not fit are a UserError, as in NumPy 2. It is recorded in
/// `trace`, or has memory when that is null.
Array number_array(const Operand::Number& number, DType dtype, Trace* trace, std::string_view op,
                   const std::source_location& where);

bool fits(const Operand::Number& number, DType dtype);

}  // namespace tokamak
