#include "ops/math/log.h"

#include <bit>
#include <limits>

#include "ops/math/libm.h"
#include "ops/math/math.h"

namespace tokamak::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t bits_of_sqrt_half(Expr x) { return x.is_f32() ? 0x3f3504f3 : 0x3fe6a09e667f3bcd; }

/// A logarithm's base b: 1 / ln b and log_b 2, each in two pieces.
struct Base {
  double inverse_ln;        ///< 1 / ln b
  double inverse_ln_rest;   ///< what is missing from it
  double inverse_ln_upper;  ///< its upper half of bits, for exact products without fma
  double inverse_ln_lower;  ///< what is missing from that
  double log_2_high;        ///< log_b 2, so short that products with exponents are exact
  double log_2_low;
};

/// log_b(1 + f), where f + small = ln(1 + f).
Expr log_of_mantissa(Expr f, Expr small, const Base& base) {
  if (f.has_fma())
    return mul_add(f, base.inverse_ln, mul_add(f, base.inverse_ln_rest, small * base.inverse_ln));
  Expr upper = upper_half(f);
  Expr rest = (f - upper) * base.inverse_ln_upper + f * base.inverse_ln_lower;
  return upper * base.inverse_ln_upper + (rest + small * base.inverse_ln);
}

/// Whether x is anything but a positive normal number. Bits that are moved so that those begin at the
/// smallest integer have all others behind them.
Expr is_special(Expr x) {
  const int64_t first = x.is_f32() ? INT32_MIN : INT64_MIN;
  const int64_t smallest = x.is_f32() ? 0x00800000 : 0x0010000000000000;
  const int64_t infinity = format_of(x).exponent_mask;
  return bits(x) - (smallest ^ first) > first + (infinity - smallest - 1);
}

/// A logarithm of x, which is y for positive normal numbers; the C library knows it of subnormals.
template <typename FromLibrary>
Expr with_special_cases(Expr x, Expr y, FromLibrary from_library) {
  return unlikely(is_special(x), y, [&] {
    Expr is_subnormal = select(x > 0.0, x, kInfinity) < by_format(x, 0x1p-126, 0x1p-1022);
    return unlikely(is_subnormal, log_special_cases(x, y), [&] { return from_library(x); });
  });
}

template <typename FromLibrary>
Expr log_in_base(Expr x, const Base& base, FromLibrary from_library) {
  LogReduction reduced = reduce_log(x);
  Expr mantissa = log_of_mantissa(reduced.f, log1p_minus_linear(reduced.f), base);
  if (base.log_2_low != 0) mantissa = mul_add(reduced.exponent, base.log_2_low, mantissa);
  return with_special_cases(x, mul_add(reduced.exponent, base.log_2_high, mantissa), from_library);
}

/// Added to exponents of f64, to have only positive ones.
constexpr int64_t kExponentOffset = 1536;

/// The bits to take from those of a number in [sqrt(1/2), sqrt(2)) * 2^exponent, to have 0 (or the offset) as
/// exponent.
int64_t origin_of(Expr x, int64_t exponent) {
  return bits_of_sqrt_half(x) +
         ((exponent - (x.is_f32() ? 0 : kExponentOffset)) << format_of(x).mantissa_bits);
}

/// The exponent of an f64 from the bits above an origin. Not all machines convert i64 or shift it
/// arithmetically: the offset exponent goes into the low bits of 2^52.
Expr exponent_above(Expr above) {
  return from_bits((above >> 52) | std::bit_cast<int64_t>(0x1p52)) - (0x1p52 + kExponentOffset);
}

LogReduction split_float(Expr x, Expr origin) {
  FloatFormat format = format_of(x);
  Expr above = bits(x) - origin;
  Expr one_and_f = from_bits((above & format.mantissa_mask) + bits_of_sqrt_half(x));
  if (x.is_f32()) {
    Expr exponent = cast(Cast::sitofp, arithmetic_shift_right(above, format.mantissa_bits), Lane::f32);
    return {exponent, one_and_f - 1.0};
  }
  return {exponent_above(above), one_and_f - 1.0};
}

/// The range [0.646, 1.292) in 8 pieces, those below 1 half as long as those above it; 1 is in the middle of
/// the sixth. Of each, a number c that is 1 / z for a z in its middle, and -log(c). The numbers are such that
/// their logarithms are multiples of 2^-43 but for 2^-61.3.
constexpr int64_t kFirstOfTable = 0x3fe4aaaa00000000;
constexpr int kBitsInPiece = 49;
constexpr LookupTable kInverses = {0x1.7a19e3ep+0,  0x1.5a2e2104p+0, 0x1.3f2b0ed4p+0,
                                   0x1.281374cp+0,  0x1.14314da4p+0, 1.0,
                                   0x1.cfb675ecp-1, 0x1.a080b86p-1};
constexpr LookupTable kLogarithms = {-0x1.8f5808ed78p-2, -0x1.350655ca528p-2, -0x1.c3aae1f1d4p-3,
                                     -0x1.29dbc87d67p-3, -0x1.36f8e885f4p-4,  0.0,
                                     0x1.95bf462084p-4,  0x1.a6c582ab39p-3};

/// log(x) of a positive normal f64, with fma. With x = 2^k z and r = z c - 1, |r| < 0.0567, it is k ln 2 -
/// log(c) + log(1 + r). Next to 1, c is 1 and k ln 2 - log(c) is 0.
Expr log_by_table(Expr x) {
  Expr above = bits(x) - (kFirstOfTable - (kExponentOffset << 52));
  Expr z = from_bits((above & format_of(x).mantissa_mask) + kFirstOfTable);
  Expr piece = above >> kBitsInPiece;
  Pair ratio = two_product(z, lookup(kInverses, piece));
  Expr r_high = ratio.high - 1.0;
  Expr r = r_high + ratio.low;
  // (log(1 + r) - r) / r^2; relative error of the logarithm 2^-58.6.
  Expr rest = polynomial_in_pairs(
      r, {-0x1.0000000000003p-1, 0x1.5555555555556p-2, -0x1.ffffffffee420p-3, 0x1.9999999973a64p-3,
          -0x1.555555cc95ed1p-3, 0x1.249249dc2bed1p-3, -0x1.fffd725fedbe0p-4, 0x1.c7194e8c6f875p-4,
          -0x1.9ca98c836d377p-4, 0x1.778f1836fa2cbp-4});
  Expr exponent = exponent_above(above);
  // Exact: all are multiples of 2^-43.
  Expr known = mul_add(exponent, ln2_high(x), lookup(kLogarithms, piece));
  Pair sum = fast_two_sum(known, r_high);
  Expr small = mul_add(exponent, ln2_low(x), sum.low + ratio.low);
  return sum.high + mul_add(square(r), rest, small);
}

}  // namespace

LogReduction reduce_log(Expr x) { return split_float(x, constant(bits(x), origin_of(x, 0))); }

LogReduction reduce_log_gradual(Expr x) {
  // Subnormals are scaled up, and their exponents start lower.
  int scale = format_of(x).mantissa_bits;
  Expr is_small = x < by_format(x, 0x1p-126, 0x1p-1022);
  Expr normal = select(is_small, x * by_format(x, 0x1p23, 0x1p52), x);
  return split_float(normal, select(is_small, origin_of(x, scale), constant(bits(x), origin_of(x, 0))));
}

Expr log1p_minus_linear(Expr f) {
  Expr f2 = square(f);
  Expr half_f2 = f2 * 0.5;
  if (f.is_f32()) {
    // log(1 + f) = f - f^2 / 2 + f^3 P(f): relative error 2^-27.3.
    Expr p = polynomial(f, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a02ap-3, -0x1.547216p-3, 0x1.22d798p-3,
                            -0x1.0d84f8p-3, 0x1.056a88p-3, -0x1.38d798p-4});
    return mul_add(f2 * f, p, -half_f2);
  }
  // With s = f / (2 + f), log(1 + f) = 2 atanh(s) = 2 s + s z R(z) for z = s^2 <= 0.0295: relative error
  // 2^-59.5. Since 2 s = f - s f = f - f^2 / 2 + s f^2 / 2, an error of s counts little.
  Expr s = f / (f + 2.0);
  Expr z = square(s);
  Expr r = polynomial_in_pairs(
      z, {0x1.5555555555592p-1, 0x1.999999997fee2p-2, 0x1.24924941e6dc2p-2, 0x1.c71c520e0d747p-3,
          0x1.74663e8b35ed9p-3, 0x1.39a1b725c3f85p-3, 0x1.2f05f96fb742dp-3});
  return mul_add(s, mul_add(z, r, half_f2), -half_f2);
}

Expr assemble_log(Expr exponent, Expr f, Expr small) {
  // The product is exact either way.
  Expr high = mul_add(exponent, ln2_high(f), f);
  Expr lost = mul_add(exponent, ln2_high(f), -high) + f;
  return high + (lost + mul_add(exponent, ln2_low(f), small));
}

Expr log_special_cases(Expr x, Expr y) {
  Expr not_positive = select(x == 0.0, -kInfinity, constant(x, kNaN));
  return select(x == kInfinity, x, select(x > 0.0, y, not_positive));
}

Scalar log(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  // Without fma, the division is faster.
  if (!x.is_f32() && x.has_fma()) return with_special_cases(x, log_by_table(x), libm::log);
  LogReduction reduced = reduce_log(x);
  Expr y = assemble_log(reduced.exponent, reduced.f, log1p_minus_linear(reduced.f));
  return with_special_cases(x, y, libm::log);
}

Scalar log2(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) {
    return log_in_base(x, {0x1.715476p+0, 0x1.4ae0c0p-26, 0x1.716p+0, -0x1.7135a8p-13, 1.0, 0.0}, libm::log2);
  }
  return log_in_base(
      x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 0x1.7154768p+0, -0x1.6a3e80f444178p-27, 1.0, 0.0},
      libm::log2);
}

Scalar log10(ScalarBuilder& s, Scalar value) {
  Expr x{&s, value};
  if (x.is_f32()) {
    return log_in_base(
        x, {0x1.bcb7b2p-2, -0x1.5b235ep-27, 0x1.bccp-2, -0x1.09d5b2p-15, 0x1.344p-2, 0x1.3509f8p-18},
        libm::log10);
  }
  return log_in_base(x,
                     {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29,
                      0x1.34413509f78p-2, 0x1.fef311f12b358p-46},
                     libm::log10);
}

// 1 + x = 2^n (1 + f), where f = 2^-n x + (2^-n - 1) takes one rounding, and none for n = 0.
Expr log1p(Expr x) {
  FloatFormat format = format_of(x);
  Expr u = x + 1.0;
  Expr exponent = reduce_log(u).exponent;
  // 2^(2-n), as 2^-n itself is subnormal for the largest n.
  Rounded n = round_scaled(exponent, -1.0, format.exponent_bias + 2);
  Expr scale = power_of_two(x, n.bits);
  Expr f = mul_add(x * 0.25, scale, scale * 0.25 - 1.0);
  Expr y = log_special_cases(u, assemble_log(exponent, f, log1p_minus_linear(f)));
  // Tiny x stand for themselves: -0 keeps its sign, subnormals their last bit.
  return select(abs(x) < by_format(x, 0x1p-25, 0x1p-54), x, y);
}

Scalar log1p(ScalarBuilder& s, Scalar value) { return log1p(Expr{&s, value}); }

}  // namespace tokamak::math
