#pragma once

// Scalar code that several records share. Each function is written for lanes of any dtype its op takes.

#include "ops/math/expr.h"
#include "ops/record.h"

namespace tokamak::scalar {

inline Expr operand(const ScalarContext& c, size_t i) { return {&c.s, c.x[i]}; }
inline bool is_unsigned(DType dtype) { return dtype == DType::boolean || is_unsigned_integer(dtype); }

/// The larger and the smaller of two, NaN if either is. Of equal floats (which may be +0 and -0) it is the
/// second one, and for f16 the first: what NumPy does on x86-64.
Expr maximum(DType dtype, Expr a, Expr b);
Expr minimum(DType dtype, Expr a, Expr b);

/// a < b and a <= b in the order of the dtype; false < true.
Expr less(DType dtype, Expr a, Expr b);
Expr less_equal(DType dtype, Expr a, Expr b);

// Division. Integers give 0 for a divisor of 0, and wrap for the most negative number by -1.
Scalar floor_div(const ScalarContext& c);
Scalar mod(const ScalarContext& c);
Scalar fmod(const ScalarContext& c);

Scalar sign(const ScalarContext& c);
Scalar pow(const ScalarContext& c);
Scalar hypot(const ScalarContext& c);
Scalar nextafter(const ScalarContext& c);
Scalar convert(const ScalarContext& c);
Scalar bitcast(const ScalarContext& c);

}  // namespace tokamak::scalar
