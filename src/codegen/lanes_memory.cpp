// Elements in memory against lanes in registers, and the 16-bit float formats.

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>

#include <bit>

#include "codegen/lanes.h"
#include "tokamak/errors.h"

namespace tokamak::codegen {

using llvm::Value;

namespace {

constexpr unsigned kLanesOfF32 = 16;  ///< of a register of 64 bytes

/// The 16-bit floats that lanes of f32 were made of by f16_bits_to_f32 or bf16_bits_to_f32; null of others.
/// They are what rounding the lanes would give.
Value* bits_behind(Value* value, DType dtype) {
  using namespace llvm::PatternMatch;
  Value* bits = nullptr;
  const bool is_found = dtype == DType::bf16
                            ? match(value, m_BitCast(m_Shl(m_ZExt(m_Value(bits)), m_SpecificInt(16))))
                            : match(value, m_FPExt(m_BitCast(m_Value(bits))));
  return is_found && bits->getType()->getScalarType()->isIntegerTy(16) ? bits : nullptr;
}

}  // namespace

llvm::Type* LaneBuilder::memory_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return b_.getInt8Ty();
    case DType::f16:
    case DType::bf16:
      return b_.getInt16Ty();
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::f32:
    case DType::f64:
      return module_.lane_type(lane_of(dtype));
  }
  __builtin_unreachable();
}

Value* LaneBuilder::from_memory(DType dtype, Value* raw) {
  switch (dtype) {
    case DType::boolean:
      return b_.CreateICmpNE(raw, zero(raw->getType()));
    case DType::f16:
      return f16_bits_to_f32(raw);
    case DType::bf16:
      return bf16_bits_to_f32(raw);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::f32:
    case DType::f64:
      return raw;
  }
  __builtin_unreachable();
}

Value* LaneBuilder::to_memory(DType dtype, Value* value) {
  switch (dtype) {
    case DType::boolean:
      return b_.CreateZExt(value, with_lanes(b_.getInt8Ty(), lanes_of(value)));
    case DType::f16:
      return f32_to_f16_bits(value);
    case DType::bf16:
      return f32_to_bf16_bits(value);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::f32:
    case DType::f64:
      return value;
  }
  __builtin_unreachable();
}

Value* LaneBuilder::round_to(DType dtype, Value* value) {
  if (dtype == DType::f16) return f16_bits_to_f32(f32_to_f16_bits(value));
  if (dtype == DType::bf16) return bf16_bits_to_f32(f32_to_bf16_bits(value));
  return value;
}

Value* LaneBuilder::number_of_index(Value* index, DType to) {
  const unsigned lanes = lanes_of(index);
  llvm::Type* type = with_lanes(module_.lane_type(lane_of(to)), lanes);
  if (to == DType::boolean) return b_.CreateICmpNE(index, zero(index->getType()));
  if (to == DType::f16 || to == DType::bf16) {
    Value* exact = b_.CreateSIToFP(index, with_lanes(b_.getDoubleTy(), lanes));
    return round_to(to, f64_to_f32_round_to_odd(exact));
  }
  if (is_float(to)) return b_.CreateSIToFP(index, type);
  return b_.CreateSExtOrTrunc(index, type);
}

Value* LaneBuilder::bits_constant(Value* like, uint64_t bits) {
  return llvm::ConstantInt::get(like->getType(), bits);
}

Value* LaneBuilder::as_bits(Value* value) {
  const bool is_f32 = value->getType()->getScalarType()->isFloatTy();
  return b_.CreateBitCast(value, with_lanes(is_f32 ? b_.getInt32Ty() : b_.getInt64Ty(), lanes_of(value)));
}

Value* LaneBuilder::as_float(Value* bits) {
  return b_.CreateBitCast(bits, with_lanes(b_.getFloatTy(), lanes_of(bits)));
}

// The exponent and mantissa of an f16, moved to where an f32 has them, are the value divided by 2^112,
// subnormals included; multiplying by it is exact.
Value* LaneBuilder::f16_bits_to_f32(Value* bits) {
  const unsigned lanes = lanes_of(bits);
  if (module_.cpu.f16c)
    return b_.CreateFPExt(b_.CreateBitCast(bits, with_lanes(b_.getHalfTy(), lanes)),
                          with_lanes(b_.getFloatTy(), lanes));
  Value* wide = b_.CreateZExt(bits, with_lanes(b_.getInt32Ty(), lanes));
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, bits_constant(wide, 0x8000)), 16);
  Value* magnitude = b_.CreateShl(b_.CreateAnd(wide, bits_constant(wide, 0x7fff)), 13);
  Value* scale = llvm::ConstantFP::get(with_lanes(b_.getFloatTy(), lanes), 0x1p112);
  Value* finite = as_bits(b_.CreateFMul(as_float(magnitude), scale));
  constexpr uint64_t kInfinity = 0x7c00 << 13;
  Value* special = b_.CreateOr(magnitude, bits_constant(wide, 0x7f800000));
  Value* quiet = b_.CreateOr(special, bits_constant(wide, 0x00400000));
  special = b_.CreateSelect(b_.CreateICmpSGT(magnitude, bits_constant(wide, kInfinity)), quiet, special);
  Value* is_special = b_.CreateICmpSGE(magnitude, bits_constant(wide, kInfinity));
  return as_float(b_.CreateOr(b_.CreateSelect(is_special, special, finite), sign));
}

Value* LaneBuilder::f32_to_f16_bits(Value* value) {
  if (Value* bits = bits_behind(value, DType::f16)) return bits;
  const unsigned lanes = lanes_of(value);
  llvm::Type* narrow = with_lanes(b_.getInt16Ty(), lanes);
  if (module_.cpu.f16c)
    return b_.CreateBitCast(b_.CreateFPTrunc(value, with_lanes(b_.getHalfTy(), lanes)), narrow);
  Value* bits = as_bits(value);
  Value* magnitude = b_.CreateAnd(bits, bits_constant(bits, 0x7fffffff));
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 16), bits_constant(bits, 0x8000));

  // Normal: rebias the exponent and round the 13 bits that go; a carry steps the exponent, up to infinity.
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), bits_constant(bits, 1));
  constexpr uint32_t kRebiasAndHalf = (static_cast<uint32_t>(15 - 127) << 23) + 0xfff;
  Value* normal = b_.CreateAdd(b_.CreateAdd(magnitude, bits_constant(bits, kRebiasAndHalf)), odd);
  normal = b_.CreateLShr(normal, 13);
  // Subnormal: adding 0.5, whose last place is 2^-24, rounds to a multiple of that.
  Value* half = llvm::ConstantFP::get(value->getType(), 0.5);
  Value* subnormal = as_bits(b_.CreateFAdd(as_float(magnitude), half));
  subnormal = b_.CreateSub(subnormal, bits_constant(bits, std::bit_cast<uint32_t>(0.5F)));
  Value* payload = b_.CreateAnd(b_.CreateLShr(magnitude, 13), bits_constant(bits, 0x3ff));
  Value* nan = b_.CreateOr(payload, bits_constant(bits, 0x7e00));

  constexpr uint32_t kSmallestNormal = 0x38800000, kTooBig = 0x47800000, kInfinity = 0x7f800000;
  Value* result =
      b_.CreateSelect(b_.CreateICmpSLT(magnitude, bits_constant(bits, kSmallestNormal)), subnormal, normal);
  result = b_.CreateSelect(b_.CreateICmpSGE(magnitude, bits_constant(bits, kTooBig)),
                           bits_constant(bits, 0x7c00), result);
  result = b_.CreateSelect(b_.CreateICmpSGT(magnitude, bits_constant(bits, kInfinity)), nan, result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), narrow);
}

Value* LaneBuilder::bf16_bits_to_f32(Value* bits) {
  Value* wide = b_.CreateZExt(bits, with_lanes(b_.getInt32Ty(), lanes_of(bits)));
  return as_float(b_.CreateShl(wide, 16));
}

// The instruction takes subnormal numbers for zero. All others it rounds as the code below does.
Value* LaneBuilder::f32_to_bf16_bits(Value* value) {
  if (Value* bits = bits_behind(value, DType::bf16)) return bits;
  const unsigned lanes = lanes_of(value);
  if (!module_.cpu.avx512_bf16 || lanes % kLanesOfF32 != 0) return rounded_bf16_bits(value);
  // A register at a time: of more, LLVM makes code that it cannot select where there is AVX512-FP16.
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned first = 0; first < lanes; first += kLanesOfF32) {
    Value* part =
        b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {register_of_f32(value, first)});
    parts.push_back(b_.CreateBitCast(part, with_lanes(b_.getInt16Ty(), kLanesOfF32)));
  }
  return (*this)[unlikely(handle(is_subnormal(value)), handle(llvm::concatenateVectors(b_, parts)),
                          [&] { return handle(rounded_bf16_bits(value)); })];
}

Value* LaneBuilder::register_of_f32(Value* value, unsigned first) {
  if (lanes_of(value) == kLanesOfF32) return value;
  return b_.CreateShuffleVector(value, llvm::createSequentialMask(first, kLanesOfF32, 0));
}

Value* LaneBuilder::is_subnormal(Value* value) {
  constexpr int kSubnormal = 0x20;
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned first = 0; first < lanes_of(value); first += kLanesOfF32) {
    parts.push_back(b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_fpclass_ps_512,
                                       {register_of_f32(value, first), b_.getInt32(kSubnormal)}));
  }
  return llvm::concatenateVectors(b_, parts);
}

Value* LaneBuilder::rounded_bf16_bits(Value* value) {
  Value* bits = as_bits(value);
  Value* top = b_.CreateLShr(bits, 16);
  Value* half = b_.CreateAdd(b_.CreateAnd(top, bits_constant(bits, 1)), bits_constant(bits, 0x7fff));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, half), 16);
  Value* quiet = b_.CreateOr(top, bits_constant(bits, 0x40));
  Value* result = b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, rounded);
  return b_.CreateTrunc(result, with_lanes(b_.getInt16Ty(), lanes_of(value)));
}

// Rounds to odd: where f32 cannot hold the value, the neighbour with an odd last bit. Rounding that once
// more, to a type with at least two bits less, gives what one rounding from f64 would.
Value* LaneBuilder::f64_to_f32_round_to_odd(Value* value) {
  const unsigned lanes = lanes_of(value);
  Value* nearest = b_.CreateFPTrunc(value, with_lanes(b_.getFloatTy(), lanes));
  Value* back = b_.CreateFPExt(nearest, value->getType());
  auto magnitude = [&](Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
  Value* inexact = b_.CreateFCmpONE(back, value);
  Value* went_up = b_.CreateFCmpOGT(magnitude(back), magnitude(value));
  Value* bits = as_bits(nearest);
  Value* toward_zero = b_.CreateSub(bits, b_.CreateZExt(went_up, bits->getType()));
  Value* odd = b_.CreateOr(toward_zero, bits_constant(bits, 1));
  return as_float(b_.CreateSelect(inexact, odd, bits));
}

}  // namespace tokamak::codegen
