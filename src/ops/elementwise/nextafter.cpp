#include <limits>

#include "ops/elementwise/scalar_code.h"

namespace tokamak::scalar {
namespace {

/// The magnitude next to `magnitude` (a float that is not NaN, sign cleared), away from zero or towards it.
/// Towards zero it is asked only for what is not zero.
Expr next_magnitude(DType dtype, Expr magnitude, Expr away) {
  Expr pattern = bits(magnitude);
  if (dtype == DType::f32 || dtype == DType::f64) return from_bits(select(away, pattern + 1, pattern - 1));
  if (dtype == DType::bf16) return from_bits(select(away, pattern + 0x10000, pattern - 0x10000));
  // f16 values in an f32: below 2^-14 they are evenly spaced, above it a step is 2^13 units of f32.
  constexpr double kSmallestNormal = 0x1p-14;
  constexpr double kSpacing = 0x1p-24;
  Expr up = select(magnitude < kSmallestNormal, magnitude + kSpacing, from_bits(pattern + 0x2000));
  Expr down = select(magnitude <= kSmallestNormal, magnitude - kSpacing, from_bits(pattern - 0x2000));
  down = select(magnitude == std::numeric_limits<double>::infinity(), constant(magnitude, 65504.0), down);
  return select(away, up, down);
}

}  // namespace

/// Of equal operands (+0 and -0 too) it is the second, and for f16 the first, as in NumPy.
Scalar nextafter(const ScalarContext& c) {
  Expr from = operand(c, 0);
  Expr to = operand(c, 1);
  Expr is_zero = from == 0.0;
  Expr away = is_zero | ((from < to) ^ (from < 0.0));
  Expr sign = select(is_zero, to, from);
  Expr next = copysign(next_magnitude(c.operand, abs(from), away), sign);
  Expr stays = c.operand == DType::f16 ? from : to;
  Expr result = select(from == to, stays, next);
  return select(is_nan(from) | is_nan(to), from + to, result);
}

}  // namespace tokamak::scalar
