#pragma once

// Scalar code that reads like algebra.
//
//   Expr x{&builder, scalar};
//   Expr y = select(x < 0.0, -x, mul_add(x, x, 1.0));
//
// An Expr is a scalar together with its builder. Numbers mix in freely and become constants of the lane of
// the other operand. Operators mean the machine operation of that lane: on float lanes IEEE arithmetic, on
// integer lanes wrapping arithmetic with signed comparison and logical right shift (arithmetic_shift_right is
// the other one).

#include <bit>
#include <concepts>
#include <cstdint>

#include "ops/scalar_builder.h"

namespace tokamak {

struct Expr {
  ScalarBuilder* builder;
  Scalar value;

  Lane lane() const { return builder->lane(value); }
  bool is_f32() const { return lane() == Lane::f32; }
  bool has_fma() const { return builder->has_fma(); }
  bool has_scale() const { return builder->has_scale(); }
  operator Scalar() const { return value; }
};

template <typename T>
concept Number = std::integral<T> || std::floating_point<T>;

inline Expr constant_bits(Expr like, Lane lane, uint64_t bits) {
  return {like.builder, like.builder->constant_bits(lane, bits)};
}

/// The number in the lane of `like`, rounded to nearest.
inline Expr constant(Expr like, Number auto number) {
  Lane lane = like.lane();
  if (lane == Lane::f32)
    return constant_bits(like, lane, std::bit_cast<uint32_t>(static_cast<float>(number)));
  if (lane == Lane::f64)
    return constant_bits(like, lane, std::bit_cast<uint64_t>(static_cast<double>(number)));
  uint64_t mask = bits_of(lane) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(lane)) - 1;
  return constant_bits(like, lane, static_cast<uint64_t>(static_cast<int64_t>(number)) & mask);
}

namespace expr_detail {
inline Expr apply(Prim prim, Expr a) { return {a.builder, a.builder->prim(prim, {a.value})}; }
inline Expr apply(Prim prim, Expr a, Expr b) {
  return {a.builder, a.builder->prim(prim, {a.value, b.value})};
}
inline Expr apply(Prim on_float, Prim on_integer, Expr a, Expr b) {
  return apply(is_float(a.lane()) ? on_float : on_integer, a, b);
}
}  // namespace expr_detail

#define TOKAMAK_EXPR_OPERATOR(symbol, on_float, on_integer)                              \
  inline Expr operator symbol(Expr a, Expr b) {                                          \
    return expr_detail::apply(Prim::on_float, Prim::on_integer, a, b);                   \
  }                                                                                      \
  inline Expr operator symbol(Expr a, Number auto b) { return a symbol constant(a, b); } \
  inline Expr operator symbol(Number auto a, Expr b) { return constant(b, a) symbol b; }
TOKAMAK_EXPR_OPERATOR(+, fadd, iadd)
TOKAMAK_EXPR_OPERATOR(-, fsub, isub)
TOKAMAK_EXPR_OPERATOR(*, fmul, imul)
TOKAMAK_EXPR_OPERATOR(<, flt, slt)
TOKAMAK_EXPR_OPERATOR(<=, fle, sle)
TOKAMAK_EXPR_OPERATOR(==, feq, ieq)
TOKAMAK_EXPR_OPERATOR(!=, fne, ine)
#undef TOKAMAK_EXPR_OPERATOR

#define TOKAMAK_EXPR_OPERATOR(symbol, prim)                                                    \
  inline Expr operator symbol(Expr a, Expr b) { return expr_detail::apply(Prim::prim, a, b); } \
  inline Expr operator symbol(Expr a, Number auto b) { return a symbol constant(a, b); }       \
  inline Expr operator symbol(Number auto a, Expr b) { return constant(b, a) symbol b; }
TOKAMAK_EXPR_OPERATOR(/, fdiv)  // float lanes only: integers must say sdiv or udiv
TOKAMAK_EXPR_OPERATOR(&, iand)
TOKAMAK_EXPR_OPERATOR(|, ior)
TOKAMAK_EXPR_OPERATOR(^, ixor)
TOKAMAK_EXPR_OPERATOR(<<, ishl)
TOKAMAK_EXPR_OPERATOR(>>, ilshr)
#undef TOKAMAK_EXPR_OPERATOR

inline Expr operator>(Expr a, Expr b) { return b < a; }
inline Expr operator>(Expr a, Number auto b) { return constant(a, b) < a; }
inline Expr operator>=(Expr a, Expr b) { return b <= a; }
inline Expr operator>=(Expr a, Number auto b) { return constant(a, b) <= a; }
inline Expr operator-(Expr a) { return expr_detail::apply(Prim::fneg, a); }  // float lanes only
inline Expr operator!(Expr condition) { return condition ^ 1; }

inline Expr abs(Expr a) { return expr_detail::apply(Prim::fabs, a); }
inline Expr sqrt(Expr a) { return expr_detail::apply(Prim::fsqrt, a); }
inline Expr floor(Expr a) { return expr_detail::apply(Prim::ffloor, a); }
inline Expr trunc(Expr a) { return expr_detail::apply(Prim::ftrunc, a); }
inline Expr round_even(Expr a) { return expr_detail::apply(Prim::fround_even, a); }
inline Expr copysign(Expr magnitude, Expr sign) {
  return expr_detail::apply(Prim::fcopysign, magnitude, sign);
}
inline Expr arithmetic_shift_right(Expr a, int amount) {
  return expr_detail::apply(Prim::iashr, a, constant(a, amount));
}
/// True where a is NaN.
inline Expr is_nan(Expr a) { return a != a; }

inline Expr select(Expr condition, Expr yes, Expr no) {
  return {yes.builder, yes.builder->prim(Prim::select, {condition.value, yes.value, no.value})};
}
inline Expr select(Expr condition, Number auto yes, Expr no) {
  return select(condition, constant(no, yes), no);
}
inline Expr select(Expr condition, Expr yes, Number auto no) {
  return select(condition, yes, constant(yes, no));
}

/// Minimum and maximum as one instruction of x86 does them: the second operand where either is NaN.
inline Expr min_or_second(Expr a, Expr b) { return select(a < b, a, b); }
inline Expr max_or_second(Expr a, Expr b) { return select(b < a, a, b); }

/// a*b + c, fused where the machine can.
inline Expr mul_add(Expr a, Expr b, Expr c) {
  if (!a.has_fma()) return a * b + c;
  return {a.builder, a.builder->prim(Prim::fma, {a.value, b.value, c.value})};
}
inline Expr mul_add(Expr a, Expr b, Number auto c) { return mul_add(a, b, constant(a, c)); }
inline Expr mul_add(Expr a, Number auto b, Number auto c) {
  return mul_add(a, constant(a, b), constant(a, c));
}
inline Expr mul_add(Expr a, Number auto b, Expr c) { return mul_add(a, constant(a, b), c); }

inline Expr cast(Cast kind, Expr a, Lane to) { return {a.builder, a.builder->cast(kind, a.value, to)}; }
/// The bits of a float lane as an integer lane, and back.
inline Expr bits(Expr a) { return cast(Cast::bitcast, a, a.is_f32() ? Lane::i32 : Lane::i64); }
inline Expr from_bits(Expr a) {
  return cast(Cast::bitcast, a, a.lane() == Lane::i32 ? Lane::f32 : Lane::f64);
}

/// The entry of the table that the lowest three bits of an i64 say.
inline Expr lookup(const LookupTable& table, Expr index) {
  return {index.builder, index.builder->lookup(table, index.value)};
}

/// `usual`, but where `rare` holds what `unusual()` gives. Its code runs only when some lane needs it.
template <typename Unusual>
Expr unlikely(Expr rare, Expr usual, Unusual unusual) {
  return {usual.builder,
          usual.builder->unlikely(rare.value, usual.value, [&]() -> Scalar { return unusual().value; })};
}

}  // namespace tokamak
