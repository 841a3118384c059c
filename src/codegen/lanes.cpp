#include "codegen/lanes.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tokamak/errors.h"

namespace tokamak::codegen {

using llvm::Value;

Lane LaneBuilder::lane(Scalar value) const {
  llvm::Type* type = (*this)[value]->getType()->getScalarType();
  if (type->isFloatTy()) return Lane::f32;
  if (type->isDoubleTy()) return Lane::f64;
  switch (type->getIntegerBitWidth()) {
    case 1:
      return Lane::i1;
    case 8:
      return Lane::i8;
    case 16:
      return Lane::i16;
    case 32:
      return Lane::i32;
    case 64:
      return Lane::i64;
    default:
      throw InternalError("a value of no lane type");
  }
}

Scalar LaneBuilder::handle(Value* value) {
  values_.push_back(value);
  return static_cast<Scalar>(values_.size() - 1);
}

Scalar LaneBuilder::constant_bits(Lane lane, uint64_t bits) {
  llvm::APInt number(static_cast<unsigned>(bits_of(lane)), bits, false, /*implicitTrunc=*/true);
  llvm::Type* type = module_.lane_type(lane);
  if (type->isIntegerTy()) return handle(llvm::ConstantInt::get(type, number));
  return handle(llvm::ConstantFP::get(*module_.context, llvm::APFloat(type->getFltSemantics(), number)));
}

Value* LaneBuilder::spread(Value* value, unsigned lanes) {
  if (lanes == 1 || is_vector(value)) return value;
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), constant);
  return b_.CreateVectorSplat(lanes, value);
}

Value* LaneBuilder::any(Value* condition) {
  if (!is_vector(condition)) return condition;
  llvm::Type* bits = b_.getIntNTy(lanes_of(condition));
  return b_.CreateICmpNE(b_.CreateBitCast(condition, bits), zero(bits));
}

Value* LaneBuilder::all(Value* condition) {
  if (!is_vector(condition)) return condition;
  llvm::Type* bits = b_.getIntNTy(lanes_of(condition));
  return b_.CreateICmpEQ(b_.CreateBitCast(condition, bits), llvm::Constant::getAllOnesValue(bits));
}

Value* LaneBuilder::active_mask(unsigned lanes, unsigned bits) {
  if (active_count == nullptr) return nullptr;
  llvm::Type* type = b_.getIntNTy(std::max(bits, 16U));  // 8 bits could not count 256 lanes
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned lane = 0; lane < lanes; ++lane) numbers.push_back(llvm::ConstantInt::get(type, lane));
  Value* count = spread(b_.CreateTrunc(active_count, type), lanes);
  return b_.CreateICmpSGT(count, llvm::ConstantVector::get(numbers));
}

Value* LaneBuilder::both(Value* a, Value* b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  const unsigned lanes = std::max(lanes_of(a), lanes_of(b));
  return logic(llvm::Instruction::And, spread(a, lanes), spread(b, lanes));
}

Value* LaneBuilder::choose(Value* condition, Value* yes, Value* no) {
  const unsigned lanes = std::max({lanes_of(condition), lanes_of(yes), lanes_of(no)});
  return b_.CreateSelect(spread(condition, lanes), spread(yes, lanes), spread(no, lanes));
}

Value* LaneBuilder::register_from_memory(llvm::Constant* content) {
  if (branches > 0 && module_.cpu.avx512) return content;
  llvm::GlobalVariable* memory = module_.register_of(content);
  llvm::LoadInst* load = b_.CreateAlignedLoad(content->getType(), memory, memory->getAlign());
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(*module_.context, {}));
  return load;
}

Value* LaneBuilder::number_in_lanes(llvm::Constant* number, unsigned lanes) {
  const unsigned bytes = number->getType()->getScalarSizeInBits() / 8;
  const unsigned in_register = static_cast<unsigned>(module_.cpu.vector_bytes) / bytes;
  if (lanes % in_register != 0) return spread(number, lanes);
  Value* load =
      register_from_memory(llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(in_register), number));
  if (lanes == in_register) return load;
  llvm::SmallVector<int, 64> repeated;
  for (unsigned lane = 0; lane < lanes; ++lane) repeated.push_back(static_cast<int>(lane % in_register));
  return b_.CreateShuffleVector(load, repeated);
}

/// Whether an operand of the instruction may lie in memory, and is not simpler as a number.
static bool reads_memory(Prim prim) {
  return prim == Prim::fadd || prim == Prim::fsub || prim == Prim::fmul || prim == Prim::fma;
}

Scalar LaneBuilder::prim(Prim prim, std::span<const Scalar> operands) {
  unsigned lanes = 1;
  for (Scalar operand : operands) lanes = std::max(lanes, lanes_of((*this)[operand]));
  llvm::SmallVector<Value*, 3> x;
  for (Scalar operand : operands) {
    auto* number = llvm::dyn_cast<llvm::ConstantFP>((*this)[operand]);
    const bool from_memory = number != nullptr && reads_memory(prim) && !number->isZero();
    x.push_back(from_memory ? number_in_lanes(number, lanes) : spread((*this)[operand], lanes));
  }
  if (contract) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    b_.setFastMathFlags(flags);
  }
  Value* result = emit(prim, x);
  b_.clearFastMathFlags();
  return handle(result);
}

Value* LaneBuilder::intrinsic(llvm::Intrinsic::ID id, std::span<Value* const> x) {
  return b_.CreateIntrinsic(x[0]->getType(), id, llvm::ArrayRef<Value*>(x.data(), x.size()));
}

Value* LaneBuilder::emit(Prim prim, std::span<Value* const> x) {
  switch (prim) {
    case Prim::fadd:
      return b_.CreateFAdd(x[0], x[1]);
    case Prim::fsub:
      return b_.CreateFSub(x[0], x[1]);
    case Prim::fmul:
      return b_.CreateFMul(x[0], x[1]);
    case Prim::fdiv:
      return b_.CreateFDiv(x[0], x[1]);
    case Prim::fsqrt:
      return intrinsic(llvm::Intrinsic::sqrt, x);
    case Prim::fneg:
      return b_.CreateFNeg(x[0]);
    case Prim::fabs:
      return intrinsic(llvm::Intrinsic::fabs, x);
    case Prim::fcopysign:
      return intrinsic(llvm::Intrinsic::copysign, x);
    case Prim::ffloor:
    case Prim::fceil:
    case Prim::ftrunc:
    case Prim::fround_even:
      return round_in_place(prim, x[0]);
    case Prim::fma:
      if (!has_fma()) throw InternalError("fma for a processor without it");
      return intrinsic(llvm::Intrinsic::fma, x);
    case Prim::fscale:
      if (!has_scale()) throw InternalError("fscale for a processor without it");
      return scale(x[0], x[1]);
    case Prim::feq:
      return b_.CreateFCmpOEQ(x[0], x[1]);
    case Prim::fne:
      return b_.CreateFCmpUNE(x[0], x[1]);
    case Prim::flt:
      return b_.CreateFCmpOLT(x[0], x[1]);
    case Prim::fle:
      return b_.CreateFCmpOLE(x[0], x[1]);
    case Prim::iadd:
      return b_.CreateAdd(x[0], x[1]);
    case Prim::isub:
      return b_.CreateSub(x[0], x[1]);
    case Prim::imul:
      return b_.CreateMul(x[0], x[1]);
    case Prim::iand:
      return logic(llvm::Instruction::And, x[0], x[1]);
    case Prim::ior:
      return logic(llvm::Instruction::Or, x[0], x[1]);
    case Prim::ixor:
      return logic(llvm::Instruction::Xor, x[0], x[1]);
    case Prim::popcount:
      return intrinsic(llvm::Intrinsic::ctpop, x);
    case Prim::ishl:
      return b_.CreateShl(x[0], x[1]);
    case Prim::ilshr:
      return b_.CreateLShr(x[0], x[1]);
    case Prim::iashr:
      return b_.CreateAShr(x[0], x[1]);
    case Prim::sdiv:
      return b_.CreateSDiv(x[0], x[1]);
    case Prim::udiv:
      return b_.CreateUDiv(x[0], x[1]);
    case Prim::srem:
      return b_.CreateSRem(x[0], x[1]);
    case Prim::urem:
      return b_.CreateURem(x[0], x[1]);
    case Prim::ieq:
      return b_.CreateICmpEQ(x[0], x[1]);
    case Prim::ine:
      return b_.CreateICmpNE(x[0], x[1]);
    case Prim::slt:
      return b_.CreateICmpSLT(x[0], x[1]);
    case Prim::sle:
      return b_.CreateICmpSLE(x[0], x[1]);
    case Prim::ult:
      return b_.CreateICmpULT(x[0], x[1]);
    case Prim::ule:
      return b_.CreateICmpULE(x[0], x[1]);
    case Prim::select:
      return b_.CreateSelect(x[0], x[1], x[2]);
    case Prim::round_f16:
      return round_to(DType::f16, x[0]);
    case Prim::round_bf16:
      return round_to(DType::bf16, x[0]);
  }
  __builtin_unreachable();
}

Value* LaneBuilder::scale(Value* x, Value* n) {
  const unsigned lanes = lanes_of(x);
  llvm::Type* scalar = x->getType()->getScalarType();
  const bool is_f32 = scalar->isFloatTy();
  const unsigned bytes = std::clamp(std::bit_ceil(lanes) * (is_f32 ? 4U : 8U), 16U, 64U);
  const unsigned in_register = bytes / (is_f32 ? 4 : 8);
  auto part_of = [&](Value* value, unsigned first) {
    if (lanes == in_register) return value;
    if (lanes == 1)
      return b_.CreateInsertElement(llvm::PoisonValue::get(with_lanes(scalar, in_register)), value,
                                    uint64_t{0});
    const unsigned used = std::min(in_register, lanes - first);
    return b_.CreateShuffleVector(value, llvm::createSequentialMask(first, used, in_register - used));
  };
  llvm::Intrinsic::ID id = bytes == 64   ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                           : bytes == 32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                         : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
  if (!is_f32)
    id = bytes == 64   ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
         : bytes == 32 ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                       : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128;
  constexpr int kCurrentRounding = 4;
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned first = 0; first < lanes; first += in_register) {
    Value* part = part_of(x, first);
    llvm::Type* mask = b_.getIntNTy(std::max(in_register, 8U));
    llvm::SmallVector<Value*, 5> arguments{part, part_of(n, first), part,
                                           llvm::Constant::getAllOnesValue(mask)};
    if (bytes == 64) arguments.push_back(b_.getInt32(kCurrentRounding));
    parts.push_back(b_.CreateIntrinsic(id, arguments));
  }
  if (lanes == 1) return b_.CreateExtractElement(parts[0], uint64_t{0});
  Value* all = llvm::concatenateVectors(b_, parts);
  return lanes_of(all) == lanes ? all : b_.CreateShuffleVector(all, llvm::createSequentialMask(0, lanes, 0));
}

Scalar LaneBuilder::lookup(const LookupTable& table, Scalar index) {
  Value* places = (*this)[index];
  const bool in_registers = module_.cpu.vector_bytes >= 32 && is_vector(places);
  return handle(in_registers ? permuted(table, places) : gathered(table, places));
}

Value* LaneBuilder::permuted(const LookupTable& table, Value* index) {
  const unsigned lanes = lanes_of(index);
  const unsigned in_register = module_.cpu.avx512 ? 8 : 4;
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned first = 0; first < lanes; first += in_register) {
    const unsigned used = std::min(in_register, lanes - first);
    Value* part = index;
    if (lanes != in_register)
      part = b_.CreateShuffleVector(index, llvm::createSequentialMask(first, used, in_register - used));
    parts.push_back(module_.cpu.avx512 ? permuted_doubles(table, part) : permuted_halves(table, part));
  }
  Value* all = llvm::concatenateVectors(b_, parts);
  return lanes_of(all) == lanes ? all : b_.CreateShuffleVector(all, llvm::createSequentialMask(0, lanes, 0));
}

Value* LaneBuilder::permuted_doubles(const LookupTable& table, Value* index) {
  Value* entries = register_from_memory(llvm::ConstantDataVector::get(*module_.context, table));
  return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_df_512, {entries, index});
}

Value* LaneBuilder::permuted_halves(const LookupTable& table, Value* index) {
  llvm::Type* halves = with_lanes(b_.getInt32Ty(), 8);
  Value* index_of_both =
      b_.CreateShuffleVector(b_.CreateBitCast(index, halves), llvm::ArrayRef{0, 0, 2, 2, 4, 4, 6, 6});
  auto half = [&](int shift) {
    std::array<uint32_t, std::tuple_size_v<LookupTable>> bits;
    std::transform(table.begin(), table.end(), bits.begin(), [&](double entry) {
      return static_cast<uint32_t>(std::bit_cast<uint64_t>(entry) >> shift);
    });
    Value* halves_of_entries = register_from_memory(llvm::ConstantDataVector::get(*module_.context, bits));
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {halves_of_entries, index_of_both});
  };
  Value* joined = b_.CreateShuffleVector(half(0), half(32), llvm::ArrayRef{0, 9, 2, 11, 4, 13, 6, 15});
  return b_.CreateBitCast(joined, with_lanes(b_.getDoubleTy(), 4));
}

Value* LaneBuilder::gathered(const LookupTable& table, Value* index) {
  llvm::GlobalVariable* memory = module_.table_of(llvm::ConstantDataArray::get(*module_.context, table));
  llvm::Type* f64 = b_.getDoubleTy();
  auto entry = [&](Value* place) -> Value* {
    return b_.CreateLoad(f64, b_.CreateInBoundsGEP(f64, memory, b_.CreateAnd(place, table.size() - 1)));
  };
  if (!is_vector(index)) return entry(index);
  Value* all = llvm::PoisonValue::get(with_lanes(f64, lanes_of(index)));
  for (uint64_t lane = 0; lane < lanes_of(index); ++lane)
    all = b_.CreateInsertElement(all, entry(b_.CreateExtractElement(index, lane)), lane);
  return all;
}

Value* LaneBuilder::signs_of(Value* condition) {
  auto* compare = llvm::dyn_cast<llvm::CmpInst>(condition);
  if (compare == nullptr) return nullptr;
  Value* compared = compare->getOperand(0);
  if (compare->getPredicate() == llvm::CmpInst::ICMP_SLT &&
      llvm::isa<llvm::ConstantAggregateZero>(compare->getOperand(1)))
    return compared;
  llvm::Type* width = b_.getIntNTy(compared->getType()->getScalarSizeInBits());
  return b_.CreateSExt(condition, with_lanes(width, lanes_of(condition)));
}

Value* LaneBuilder::logic(llvm::Instruction::BinaryOps op, Value* a, Value* b) {
  const bool is_condition = a->getType()->isIntOrIntVectorTy(1) && is_vector(a);
  if (!is_condition || module_.cpu.avx512) return b_.CreateBinOp(op, a, b);
  auto* compare = llvm::dyn_cast<llvm::CmpInst>(a);
  if (auto* all = llvm::dyn_cast<llvm::Constant>(b);
      op == llvm::Instruction::Xor && compare != nullptr && all != nullptr && all->isAllOnesValue())
    return b_.CreateCmp(compare->getInversePredicate(), compare->getOperand(0), compare->getOperand(1));
  auto is_wide = [&](Value* signs) {
    return signs != nullptr &&
           signs->getType()->getPrimitiveSizeInBits() > 8 * static_cast<uint64_t>(module_.cpu.vector_bytes);
  };
  Value* wide_a = signs_of(a);
  Value* wide_b = is_wide(wide_a) ? signs_of(b) : nullptr;
  if (wide_b == nullptr || wide_a->getType() != wide_b->getType()) return b_.CreateBinOp(op, a, b);
  Value* signs = b_.CreateBinOp(op, wide_a, wide_b);
  return b_.CreateICmpSLT(signs, zero(signs->getType()));
}

// SSE2 has no rounding instruction. Adding and subtracting 2^mantissa rounds to the nearest even integer, and
// from there floor, ceil and trunc are one correction away. Larger values, infinities and NaN are integers
// already.
Value* LaneBuilder::round_in_place(Prim prim, Value* x) {
  if (module_.cpu.vector_bytes >= 32) {
    llvm::Intrinsic::ID id = prim == Prim::ffloor   ? llvm::Intrinsic::floor
                             : prim == Prim::fceil  ? llvm::Intrinsic::ceil
                             : prim == Prim::ftrunc ? llvm::Intrinsic::trunc
                                                    : llvm::Intrinsic::roundeven;
    return intrinsic(id, std::array{x});
  }
  llvm::Type* type = x->getType();
  const bool is_f32 = type->getScalarType()->isFloatTy();
  Value* magic = llvm::ConstantFP::get(type, is_f32 ? 0x1p23 : 0x1p52);
  Value* one = llvm::ConstantFP::get(type, 1.0);
  Value* magnitude = intrinsic(llvm::Intrinsic::fabs, std::array{x});
  Value* nearest = b_.CreateFSub(b_.CreateFAdd(magnitude, magic), magic);  // of the magnitude
  Value* result = nearest;
  if (prim == Prim::ftrunc)
    result = b_.CreateSelect(b_.CreateFCmpOGT(nearest, magnitude), b_.CreateFSub(nearest, one), nearest);
  result = intrinsic(llvm::Intrinsic::copysign, std::array{result, x});
  if (prim == Prim::ffloor)
    result = b_.CreateSelect(b_.CreateFCmpOGT(result, x), b_.CreateFSub(result, one), result);
  if (prim == Prim::fceil) {
    result = b_.CreateSelect(b_.CreateFCmpOLT(result, x), b_.CreateFAdd(result, one), result);
    result = intrinsic(llvm::Intrinsic::copysign, std::array{result, x});  // -0.5 becomes -0
  }
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, magic), result, x);
}

Scalar LaneBuilder::cast(Cast cast, Scalar operand, Lane to) {
  Value* x = (*this)[operand];
  llvm::Type* type = with_lanes(module_.lane_type(to), lanes_of(x));
  switch (cast) {
    case Cast::sext:
      return handle(b_.CreateSExt(x, type));
    case Cast::zext:
      return handle(b_.CreateZExt(x, type));
    case Cast::trunc:
      return handle(b_.CreateTrunc(x, type));
    case Cast::sitofp:
      return handle(b_.CreateSIToFP(x, type));
    case Cast::uitofp:
      return handle(b_.CreateUIToFP(x, type));
    case Cast::fptosi:
      return handle(b_.CreateFPToSI(x, type));
    case Cast::fpext:
      return handle(b_.CreateFPExt(x, type));
    case Cast::fptrunc:
      return handle(b_.CreateFPTrunc(x, type));
    case Cast::bitcast:
      return handle(b_.CreateBitCast(x, type));
    case Cast::f64_to_f16_value:
      return handle(round_to(DType::f16, f64_to_f32_round_to_odd(x)));
    case Cast::f64_to_bf16_value:
      return handle(round_to(DType::bf16, f64_to_f32_round_to_odd(x)));
  }
  __builtin_unreachable();
}

Scalar LaneBuilder::call(const LibmFunction& function, std::span<const Scalar> operands) {
  unsigned lanes = 1;
  for (Scalar operand : operands) lanes = std::max(lanes, lanes_of((*this)[operand]));
  llvm::SmallVector<Value*, 2> x;
  for (Scalar operand : operands) x.push_back(spread((*this)[operand], lanes));
  llvm::Function* callee = module_.external(function);
  if (lanes == 1) return handle(b_.CreateCall(callee, x));

  llvm::SmallVector<Value*, 4> arguments{callee};
  for (size_t i = 0; i < x.size(); ++i) {
    arguments.push_back(argument_slot(i, x[i]->getType()));
    b_.CreateStore(x[i], arguments.back());
  }
  arguments.push_back(b_.getInt64(lanes));
  llvm::Function* each = module_.lanewise(function);
  b_.CreateCall(each, arguments)->setCallingConv(each->getCallingConv());
  return handle(b_.CreateLoad(x[0]->getType(), arguments[1]));
}

llvm::Value* LaneBuilder::argument_slot(size_t position, llvm::Type* type) {
  Value*& slot = argument_slots_[{position, type}];
  if (slot == nullptr) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    b_.SetInsertPoint(&entry, entry.begin());
    slot = b_.CreateAlloca(type, nullptr, "lanes");
  }
  return slot;
}

Scalar LaneBuilder::unlikely(Scalar rare_handle, Scalar usual_handle,
                             const std::function<Scalar()>& unusual) {
  Value* usual = (*this)[usual_handle];
  Value* rare = (*this)[rare_handle];
  Value* needed = rare;
  if (is_vector(rare)) needed = both(rare, active_mask(lanes_of(rare)));
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* cold = llvm::BasicBlock::Create(*module_.context, "rare", function);
  auto* after = llvm::BasicBlock::Create(*module_.context, "usual", function);
  b_.CreateCondBr(any(needed), cold, after, llvm::MDBuilder(*module_.context).createUnlikelyBranchWeights());

  b_.SetInsertPoint(cold);
  Value* found = choose(rare, (*this)[unusual()], usual);
  const unsigned lanes = lanes_of(found);
  llvm::BasicBlock* cold_end = b_.GetInsertBlock();
  b_.CreateBr(after);

  if (lanes != lanes_of(usual)) {  // `usual` was uniform: it is spread before the branch
    b_.SetInsertPoint(before->getTerminator());
    usual = spread(usual, lanes);
  }
  b_.SetInsertPoint(after);
  llvm::PHINode* result = b_.CreatePHI(found->getType(), 2);
  result->addIncoming(usual, before);
  result->addIncoming(found, cold_end);
  return handle(result);
}

}  // namespace tokamak::codegen
