#pragma once

// Scalar code as LLVM instructions.
//
// A value is uniform (an LLVM scalar: the same for all lanes) or one vector with an element per lane.
// Operations on uniform operands stay scalar; where uniform and vector meet, the uniform one is spread over
// the lanes.

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "codegen/module.h"
#include "ops/scalar_builder.h"
#include "tokamak/types.h"

namespace tokamak::codegen {

inline unsigned lanes_of(const llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}
inline bool is_vector(const llvm::Value* value) { return value->getType()->isVectorTy(); }

/// `scalar`, or a vector of it when lanes > 1.
inline llvm::Type* with_lanes(llvm::Type* scalar, unsigned lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

class LaneBuilder final : public ScalarBuilder {
 public:
  LaneBuilder(CodeModule& module, Builder& builder) : module_(module), b_(builder) {}

  // ScalarBuilder
  Lane lane(Scalar value) const override;
  bool has_fma() const override { return module_.cpu.fma; }
  bool has_scale() const override { return module_.cpu.avx512; }
  Scalar constant_bits(Lane lane, uint64_t bits) override;
  using ScalarBuilder::prim;
  Scalar prim(Prim prim, std::span<const Scalar> operands) override;
  Scalar cast(Cast cast, Scalar value, Lane to) override;
  Scalar call(const LibmFunction& function, std::span<const Scalar> operands) override;
  Scalar lookup(const LookupTable& table, Scalar index) override;
  Scalar unlikely(Scalar rare, Scalar usual, const std::function<Scalar()>& unusual) override;

  /// LLVM values in and out of handles.
  Scalar handle(llvm::Value* value);
  llvm::Value* operator[](Scalar value) const { return values_[static_cast<size_t>(value)]; }

  /// The value in every one of `lanes` lanes; a vector stays what it is.
  llvm::Value* spread(llvm::Value* value, unsigned lanes);
  llvm::Constant* zero(llvm::Type* type) { return llvm::Constant::getNullValue(type); }
  /// Whether a condition holds in some lane, as a scalar i1.
  llvm::Value* any(llvm::Value* condition);
  llvm::Value* all(llvm::Value* condition);
  llvm::Value* both(llvm::Value* a, llvm::Value* b);  ///< either may be null: always true
  llvm::Value* choose(llvm::Value* condition, llvm::Value* yes, llvm::Value* no);

  /// Elements as they lie in memory (bool i8, f16 and bf16 i16) to lanes and back.
  llvm::Type* memory_type(DType dtype);
  llvm::Value* from_memory(DType dtype, llvm::Value* raw);
  llvm::Value* to_memory(DType dtype, llvm::Value* value);
  /// An f32 lane rounded to f16 or bf16; other dtypes as they are.
  llvm::Value* round_to(DType dtype, llvm::Value* value);
  /// An integer lane (signed unless the dtype is unsigned or bool) as an element of `to`.
  llvm::Value* number_of_index(llvm::Value* index, DType to);

  /// How many lanes are on, counted from the first (i64); null while all are.
  llvm::Value* active_count = nullptr;
  /// Which lanes are on, as i1; null while all are. `bits`: the width of the elements it is used with, which
  /// makes the cheapest mask.
  llvm::Value* active_mask(unsigned lanes, unsigned bits = 32);
  /// Floating-point results may be fused with what they feed (fast_math, and only around plain + - *).
  bool contract = false;
  int branches = 0;  ///< that are being emitted: what is emitted now may not run

 private:
  llvm::Value* emit(Prim prim, std::span<llvm::Value* const> x);
  /// A number in all lanes, from memory: instructions can read it there. LLVM would broadcast it into a
  /// register of its own first, and math functions have more numbers than there are registers.
  llvm::Value* number_in_lanes(llvm::Constant* number, unsigned lanes);
  /// A register full, from memory.
  /// Where something is done only on a condition, LLVM does not take what reads memory out of loops.
  llvm::Value* register_from_memory(llvm::Constant* content);
  /// and, or, xor. Conditions in more lanes than a register holds stay as wide as what was compared: LLVM
  /// would pack them into bytes and unpack them again.
  llvm::Value* logic(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b);
  /// Integers whose sign is the condition, as wide as what was compared; null where that is not known.
  llvm::Value* signs_of(llvm::Value* condition);
  /// x * 2^n, a register at a time.
  llvm::Value* scale(llvm::Value* x, llvm::Value* n);
  /// What a table has at those places, a register at a time.
  llvm::Value* permuted(const LookupTable& table, llvm::Value* index);
  llvm::Value* permuted_doubles(const LookupTable& table, llvm::Value* index);  ///< of AVX-512
  /// Of AVX2: one register has the lower halves of the entries, another the upper ones.
  llvm::Value* permuted_halves(const LookupTable& table, llvm::Value* index);
  /// The same of one that lies in memory: a load for each lane.
  llvm::Value* gathered(const LookupTable& table, llvm::Value* index);
  llvm::Value* round_in_place(Prim prim, llvm::Value* x);
  llvm::Value* intrinsic(llvm::Intrinsic::ID id, std::span<llvm::Value* const> x);
  llvm::Value* bits_constant(llvm::Value* like, uint64_t bits);
  llvm::Value* as_bits(llvm::Value* value);
  llvm::Value* as_float(llvm::Value* bits);
  llvm::Value* f16_bits_to_f32(llvm::Value* bits);
  llvm::Value* f32_to_f16_bits(llvm::Value* value);
  llvm::Value* bf16_bits_to_f32(llvm::Value* bits);
  llvm::Value* f32_to_bf16_bits(llvm::Value* value);
  llvm::Value* rounded_bf16_bits(llvm::Value* value);
  llvm::Value* register_of_f32(llvm::Value* value, unsigned first);  ///< the lanes from there on
  llvm::Value* is_subnormal(llvm::Value* value);
  llvm::Value* f64_to_f32_round_to_odd(llvm::Value* value);
  /// Where an operand of a C function is passed lane by lane.
  llvm::Value* argument_slot(size_t position, llvm::Type* type);

  CodeModule& module_;
  Builder& b_;
  std::vector<llvm::Value*> values_;
  std::map<std::pair<size_t, llvm::Type*>, llvm::Value*> argument_slots_;
};

}  // namespace tokamak::codegen
