#pragma once

// What the functions built on exp share.

#include "ops/math/double_double.h"

namespace tokamak::math {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;

/// x = n ln 2 + r, where r = r_high + r_low up to one rounding of each, r_high is exact and |r| <= ln 2 / 2.
struct ExpReduction {
  Rounded n;
  Expr r_high;
  Expr r_low;  ///< - n * (ln 2 - its leading bits)
  Expr r;      ///< r_high + r_low, rounded
};

/// ln 2 in two pieces; the product of the first with the n of any finite exp is exact, with or without fma.
inline double ln2_high(Expr x) { return by_format(x, 0x1.62e4p-1, 0x1.62e42fefa38p-1); }
inline double ln2_low(Expr x) { return by_format(x, 0x1.7f7d1cp-20, 0x1.ef35793c7673p-45); }

/// `n` is the integer nearest to x / ln 2.
inline ExpReduction reduce_exp(Expr x, Rounded n) {
  Expr r_high = mul_add(n.number, -ln2_high(x), x);
  Expr r_low = n.number * -ln2_low(x);
  return {n, r_high, r_low, r_high + r_low};
}

/// The low bits of n hold n + offset.
inline ExpReduction reduce_exp(Expr x, int offset) { return reduce_exp(x, round_scaled(x, kLog2E, offset)); }

/// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2; relative error of r + r^2 q against expm1: 2^-31 (f32),
/// 2^-61.5 (f64).
inline Expr expm1_remainder(Expr r) {
  if (r.is_f32()) {
    return polynomial(r,
                      {0x1p-1, 0x1.555554p-3, 0x1.5554f8p-5, 0x1.1112d2p-7, 0x1.6d3a5p-10, 0x1.9e815ap-13});
  }
  return polynomial(
      r, {0x1p-1, 0x1.5555555555559p-3, 0x1.5555555555558p-5, 0x1.111111110f701p-7, 0x1.6c16c16c178bcp-10,
          0x1.a01a01afaa391p-13, 0x1.a01a019809784p-16, 0x1.71ddf9015ccaap-19, 0x1.27e506447d4d4p-22,
          0x1.af5d7f7be6cf5p-26, 0x1.1f2565ed06382p-29});
}

/// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2; error of 1 + r + r^2 q against exp: 2^-28.2 (f32), 2^-57.9
/// (f64).
inline Expr exp_remainder(Expr r) {
  if (r.is_f32()) {
    return polynomial(r, {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558bp-5, 0x1.12399cp-7, 0x1.6a4ed2p-10});
  }
  return polynomial_in_fours(
      r, {0x1.000000000000ap-1, 0x1.555555555550ap-3, 0x1.55555555507a2p-5, 0x1.1111111124e37p-7,
          0x1.6c16c1843a542p-10, 0x1.a01a0135f0181p-13, 0x1.a0199a033d265p-16, 0x1.71df10fee9948p-19,
          0x1.28ad6d45865bdp-22, 0x1.ad998faeb2512p-26});
}

/// (2^r - 1) / r for |r| <= 1/2.
Expr exp2_slope(Expr r);

/// mantissa * 2^n, to be put together by times_power_of_two(mantissa, exponent).
struct UnscaledExp {
  Pair mantissa;
  Rounded exponent;
};

/// exp of a pair whose high part is in the range of exp_in_range.
UnscaledExp exp_of_pair(Pair x);

/// exp of an x that `limit_exponent` has limited, or that needs no limits.
Expr exp_in_range(Expr x);

/// The same without a table, of either format.
Expr exp_by_polynomial(Expr x);

}  // namespace tokamak::math
