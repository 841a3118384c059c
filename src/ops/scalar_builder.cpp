#include "ops/scalar_builder.h"

#include <array>
#include <bit>

#include "ops/record.h"

namespace tokamak {

Lane lane_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return Lane::i1;
    case DType::i8:
    case DType::u8:
      return Lane::i8;
    case DType::i16:
    case DType::u16:
      return Lane::i16;
    case DType::i32:
    case DType::u32:
      return Lane::i32;
    case DType::i64:
    case DType::u64:
      return Lane::i64;
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return Lane::f32;
    case DType::f64:
      return Lane::f64;
  }
  throw InternalError("no such dtype");
}

int bits_of(Lane lane) {
  switch (lane) {
    case Lane::i1:
      return 1;
    case Lane::i8:
      return 8;
    case Lane::i16:
      return 16;
    case Lane::i32:
    case Lane::f32:
      return 32;
    case Lane::i64:
    case Lane::f64:
      return 64;
  }
  throw InternalError("no such lane");
}

const char* name_of(Prim prim) {
  static constexpr std::array<const char*, kPrimCount> kNames = {
#define PRIM(name, arity) #name,
      TOKAMAK_PRIMS(PRIM)
#undef PRIM
  };
  return kNames[static_cast<size_t>(prim)];
}

Scalar ScalarBuilder::constant(Lane lane, double value) {
  if (lane == Lane::f32) return constant_bits(lane, std::bit_cast<uint32_t>(static_cast<float>(value)));
  return constant_bits(lane, std::bit_cast<uint64_t>(value));
}

Scalar ScalarBuilder::integer(Lane lane, int64_t value) {
  const uint64_t mask = ~uint64_t{0} >> (64 - bits_of(lane));
  return constant_bits(lane, static_cast<uint64_t>(value) & mask);
}

Scalar ScalarBuilder::mul_add(Scalar a, Scalar b, Scalar c) {
  if (has_fma()) return prim(Prim::fma, {a, b, c});
  return prim(Prim::fadd, {prim(Prim::fmul, {a, b}), c});
}

Scalar round_to(ScalarBuilder& builder, DType dtype, Scalar value) {
  if (dtype == DType::f16) return builder.prim(Prim::round_f16, {value});
  if (dtype == DType::bf16) return builder.prim(Prim::round_bf16, {value});
  return value;
}

Scalar emit_scalar(ScalarBuilder& builder, Op op, std::span<const Scalar> operands,
                   std::span<const DType> operand_dtypes, DType result) {
  const OpRecord& record = record_of(op);
  if (record.scalar == nullptr) throw InternalError(std::string(name_of(op)) + " is not element-wise");
  const Scalar value = record.scalar({builder, operands, operand_dtypes.back(), result});
  return record.exact ? value : round_to(builder, result, value);
}

}  // namespace tokamak
