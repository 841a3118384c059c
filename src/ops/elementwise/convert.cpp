#include "ops/elementwise/convert.h"

namespace tokamak {

namespace rules {

TensorType convert_type(const TypeContext& context) {
  return {context.attributes.dtype(Attr::dtype), context.inputs[0].shape};
}

/// Lanes hold the bits of integers, and of floats with 32 and 64.
TensorType bitcast_type(const TypeContext& context) {
  const DType from = context.inputs[0].dtype;
  const DType to = context.attributes.dtype(Attr::dtype);
  const auto has_bits = [](DType dtype) {
    return dtype != DType::boolean && !(is_float(dtype) && size_of(dtype) < 4);
  };
  if (from != to && (size_of(from) != size_of(to) || !has_bits(from) || !has_bits(to))) {
    context.fail(
        "the bits of " + std::string(name_of(from)) + " are not those of " + std::string(name_of(to)),
        UserError::Kind::type);
  }
  return {to, context.inputs[0].shape};
}

}  // namespace rules

namespace scalar {
namespace {

/// What x86's truncating conversion gives: the integer, or the most negative one where the value does not
/// fit.
Expr truncate_to_signed(Expr x, Lane to) {
  const double limit = to == Lane::i32 ? 0x1p31 : 0x1p63;
  // Anything between -limit - 1 and -limit truncates to -limit, which is what not fitting gives as well.
  Expr fits = (x >= -limit) & (x < limit);
  Expr truncated = cast(Cast::fptosi, select(fits, x, 0.0), to);
  return select(fits, truncated, constant_bits(x, to, to == Lane::i32 ? 0x80000000U : 0x8000000000000000U));
}

/// Values of 2^63 and more are converted with 2^63 taken off, and the top bit put back.
Expr truncate_to_u64(Expr x) {
  Expr large = x >= 0x1p63;
  Expr low = truncate_to_signed(select(large, x - 0x1p63, x), Lane::i64);
  return select(large, low ^ constant_bits(x, Lane::i64, 0x8000000000000000U), low);
}

/// Narrow integers go through i32 and u32 through i64, as NumPy's C casts do, and wrap from there.
Expr float_to_integer(Expr x, DType to) {
  if (to == DType::u64) return truncate_to_u64(x);
  if (to == DType::i64) return truncate_to_signed(x, Lane::i64);
  if (to == DType::u32) return cast(Cast::trunc, truncate_to_signed(x, Lane::i64), Lane::i32);
  Expr wide = truncate_to_signed(x, Lane::i32);
  return to == DType::i32 ? wide : cast(Cast::trunc, wide, lane_of(to));
}

Expr resize(Expr x, DType from, Lane to) {
  if (bits_of(to) == bits_of(x.lane())) return x;
  if (bits_of(to) < bits_of(x.lane())) return cast(Cast::trunc, x, to);
  return cast(is_unsigned(from) ? Cast::zext : Cast::sext, x, to);
}

/// A 64-bit integer as an f64 that rounds to a narrower float as the integer itself would: where it has more
/// bits than an f64 holds, the low ones are replaced by a single one that says whether any of them was set.
Expr wide_integer_to_f64(Expr x, DType from) {
  constexpr int64_t kLow = 0xfff;
  const Cast to_float = is_unsigned(from) ? Cast::uitofp : Cast::sitofp;
  Expr sticky = (x & ~kLow) | select((x & kLow) != 0, constant(x, 0x800), constant(x, 0));
  Expr magnitude = abs(cast(to_float, x, Lane::f64));
  return cast(to_float, select(magnitude < 0x1p53, x, sticky), Lane::f64);
}

Expr integer_to_float(Expr x, DType from, DType to) {
  const Cast to_float = is_unsigned(from) ? Cast::uitofp : Cast::sitofp;
  // Every integer that f16 does not turn into infinity is exact in f32.
  if (to == DType::f16) return {x.builder, round_to(*x.builder, to, cast(to_float, x, Lane::f32))};
  if (to == DType::bf16) {
    if (bits_of(x.lane()) < 32) return {x.builder, round_to(*x.builder, to, cast(to_float, x, Lane::f32))};
    Expr wide = bits_of(x.lane()) == 64 ? wide_integer_to_f64(x, from) : cast(to_float, x, Lane::f64);
    return cast(Cast::f64_to_bf16_value, wide, Lane::f32);
  }
  return cast(to_float, x, lane_of(to));
}

Expr float_to_float(Expr x, DType from, DType to) {
  if (to == DType::f64) return cast(Cast::fpext, x, Lane::f64);
  if (from != DType::f64) return {x.builder, round_to(*x.builder, to, x)};
  if (to == DType::f16) return cast(Cast::f64_to_f16_value, x, Lane::f32);
  if (to == DType::bf16) return cast(Cast::f64_to_bf16_value, x, Lane::f32);
  return cast(Cast::fptrunc, x, Lane::f32);
}

}  // namespace

Scalar convert(const ScalarContext& c) {
  const DType from = c.operand;
  const DType to = c.result;
  Expr x = operand(c, 0);
  if (from == to) return x;
  if (to == DType::boolean) return x != 0;
  if (from == DType::boolean) {
    if (!is_float(to)) return cast(Cast::zext, x, lane_of(to));
    Expr one{&c.s, c.s.constant(lane_of(to), 1)};
    return select(x, one, 0.0);
  }
  if (is_float(from)) return is_float(to) ? float_to_float(x, from, to) : float_to_integer(x, to);
  return is_float(to) ? integer_to_float(x, from, to) : resize(x, from, lane_of(to));
}

Scalar bitcast(const ScalarContext& c) {
  Expr x = operand(c, 0);
  if (c.operand == c.result) return x;
  if (is_float(c.operand) || is_float(c.result)) return cast(Cast::bitcast, x, lane_of(c.result));
  return resize(x, c.operand, lane_of(c.result));
}

}  // namespace scalar
}  // namespace tokamak
