#include "codegen/memory_emit.h"

#include <llvm/IR/MDBuilder.h>

#include "codegen/access_check.h"
#include "codegen/index_emit.h"
#include "loops/walk.h"
#include "support/cache_line.h"

namespace tokamak::codegen {
namespace {

using llvm::Value;
using Pattern = Address::Pattern;

/// Inputs may lie anywhere, and unaligned access costs nothing where the data happens to be aligned.
const llvm::Align kAnyAlign(1);

/// Whether one instruction loads or stores some of the lanes.
bool has_masked_access(const Cpu& cpu, llvm::Type* element) {
  if (cpu.avx512) return true;
  const unsigned bits = element->getScalarSizeInBits();
  return cpu.vector_bytes >= 32 && (bits == 32 || bits == 64);
}

/// condition ? yes() : no(), evaluating only the one that is needed.
template <class Yes, class No>
Value* branch(FunctionState& f, Value* condition, Yes yes, No no) {
  llvm::BasicBlock* yes_block = f.new_block("then");
  llvm::BasicBlock* no_block = f.new_block("else");
  llvm::BasicBlock* after = f.new_block("after");
  f.b.CreateCondBr(condition, yes_block, no_block,
                   llvm::MDBuilder(*f.code.context).createLikelyBranchWeights());
  f.b.SetInsertPoint(yes_block);
  Value* yes_value = yes();
  yes_block = f.b.GetInsertBlock();
  f.b.CreateBr(after);
  f.b.SetInsertPoint(no_block);
  Value* no_value = no();
  no_block = f.b.GetInsertBlock();
  f.b.CreateBr(after);
  f.b.SetInsertPoint(after);
  if (yes_value == nullptr) return nullptr;
  llvm::PHINode* result = f.b.CreatePHI(yes_value->getType(), 2);
  result->addIncoming(yes_value, yes_block);
  result->addIncoming(no_value, no_block);
  return result;
}

Value* all_lanes_on(FunctionState& f) {
  return f.b.CreateICmpEQ(f.lanes.active_count, f.b.getInt64(f.width));
}

/// `type->getNumElements()` neighbours from `pointer` where the mask is set, zeros elsewhere.
Value* load_masked(FunctionState& f, Value* pointer, llvm::FixedVectorType* type, Value* mask) {
  if (has_masked_access(f.code.cpu, type->getElementType()))
    return f.b.CreateMaskedLoad(type, pointer, kAnyAlign, mask, f.lanes.zero(type));
  auto* bytes = llvm::FixedVectorType::get(f.b.getInt8Ty(), f.width);
  return f.b.CreateCall(f.code.masked_load(type), {pointer, f.b.CreateZExt(mask, bytes)});
}

/// W neighbouring elements from `pointer`, in the lanes that are on and, if given, satisfy `condition`.
Value* load_neighbours(FunctionState& f, Value* pointer, llvm::FixedVectorType* type, Value* condition) {
  auto plain = [&]() -> Value* { return f.b.CreateAlignedLoad(type, pointer, kAnyAlign); };
  if (f.lanes.active_count == nullptr && condition == nullptr) return plain();
  llvm::Type* element = type->getElementType();
  Value* prefix = f.lanes.active_mask(f.width, element->getScalarSizeInBits());
  if (has_masked_access(f.code.cpu, element)) {
    Value* mask = f.lanes.both(prefix, condition);
    auto masked = [&]() -> Value* { return load_masked(f, pointer, type, mask); };
    if (condition == nullptr) return masked();
    // Where a guard holds for no lane the pointer may be outside of all memory, and a load there, though it
    // reads nothing, takes the processor hundreds of cycles.
    return branch(f, f.lanes.any(mask), masked, [&]() -> Value* { return f.lanes.zero(type); });
  }
  if (condition == nullptr) {
    auto some = [&]() -> Value* {
      return f.b.CreateCall(f.code.prefix_load(type), {pointer, f.lanes.active_count});
    };
    return f.often_full ? branch(f, all_lanes_on(f), plain, some) : some();
  }
  Value* mask = f.lanes.both(prefix, condition);
  return branch(f, f.lanes.all(mask), plain, [&]() -> Value* { return load_masked(f, pointer, type, mask); });
}

/// A pointer for every lane of a strided or irregular access; `elsewhere` for lanes outside of the mask.
llvm::SmallVector<Value*, 64> lane_pointers(FunctionState& f, const Address& address, Value* mask,
                                            Value* elsewhere) {
  llvm::SmallVector<Value*, 64> pointers;
  if (address.pattern != Pattern::irregular && mask == nullptr) {
    Value* pointer = address.first;
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(address.step);
    for (unsigned lane = 0; lane < f.width; ++lane) {
      if (constant != nullptr) {
        const int64_t offset = constant->getSExtValue() * static_cast<int64_t>(lane);
        pointer = f.b.CreateConstGEP1_64(f.b.getInt8Ty(), address.first, static_cast<uint64_t>(offset));
      } else if (lane > 0) {
        pointer = f.b.CreateGEP(f.b.getInt8Ty(), pointer, address.step);
      }
      pointers.push_back(pointer);
    }
    return pointers;
  }
  Value* offsets = address.offsets;
  if (offsets == nullptr) {
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (unsigned lane = 0; lane < f.width; ++lane) numbers.push_back(f.b.getInt64(lane));
    offsets = f.b.CreateMul(llvm::ConstantVector::get(numbers), f.lanes.spread(address.step, f.width));
  }
  Value* all = f.b.CreateGEP(f.b.getInt8Ty(), address.first, offsets);
  if (mask != nullptr) all = f.lanes.choose(mask, all, elsewhere);
  for (unsigned lane = 0; lane < f.width; ++lane) pointers.push_back(f.b.CreateExtractElement(all, lane));
  return pointers;
}

/// How many lanes are on, where that is known and nothing else says which: those are then all there is.
std::optional<unsigned> known_lanes(const FunctionState& f, const Address& address) {
  if (address.pattern == Pattern::irregular || f.lanes.active_count == nullptr) return std::nullopt;
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(f.lanes.active_count);
  if (count == nullptr || count->getSExtValue() < 0) return std::nullopt;
  return static_cast<unsigned>(std::min<int64_t>(count->getSExtValue(), f.width));
}

Value* load_lane_by_lane(FunctionState& f, const Address& address, llvm::FixedVectorType* type,
                         Value* condition) {
  if (const auto known = known_lanes(f, address); known && condition == nullptr) {
    Value* result = f.lanes.zero(type);
    const auto pointers = lane_pointers(f, address, nullptr, nullptr);
    for (unsigned lane = 0; lane < *known; ++lane) {
      Value* element = f.b.CreateAlignedLoad(type->getElementType(), pointers[lane], kAnyAlign);
      result = f.b.CreateInsertElement(result, element, lane);
    }
    return result;
  }
  Value* mask = f.lanes.both(f.lanes.active_mask(f.width, 64), condition);
  if (mask != nullptr) mask = f.lanes.spread(mask, f.width);
  Value* result = llvm::PoisonValue::get(type);
  auto pointers = lane_pointers(f, address, mask, mask == nullptr ? nullptr : f.zeros());
  for (unsigned lane = 0; lane < f.width; ++lane) {
    Value* element = f.b.CreateAlignedLoad(type->getElementType(), pointers[lane], kAnyAlign);
    result = f.b.CreateInsertElement(result, element, lane);
  }
  return result;
}

Value* reversed(FunctionState& f, Value* value) {
  llvm::SmallVector<int, 64> order;
  for (int lane = static_cast<int>(f.width); lane-- > 0;) order.push_back(lane);
  return f.b.CreateShuffleVector(value, order);
}

/// The lowest byte of a reversed access.
Value* lowest(FunctionState& f, const Address& address, llvm::Type* element) {
  const int64_t size = element->getScalarSizeInBits() / 8;
  const int64_t offset = -size * static_cast<int64_t>(f.width - 1);
  return f.b.CreateConstGEP1_64(f.b.getInt8Ty(), address.first, static_cast<uint64_t>(offset));
}

/// As load_neighbours, the last lane first.
Value* load_reversed(FunctionState& f, const Address& address, llvm::FixedVectorType* type,
                     Value* condition) {
  Value* pointer = lowest(f, address, type->getElementType());
  Value* mask = f.lanes.both(f.lanes.active_mask(f.width), condition);
  auto plain = [&]() -> Value* { return f.b.CreateAlignedLoad(type, pointer, kAnyAlign); };
  if (mask == nullptr) return reversed(f, plain());
  mask = reversed(f, f.lanes.spread(mask, f.width));
  Value* loaded = branch(
      f, f.lanes.any(mask), [&] { return load_masked(f, pointer, type, mask); },
      [&]() -> Value* { return f.lanes.zero(type); });
  return reversed(f, loaded);
}

/// The elements, each loaded once; of those that are only for lanes that are off, nothing.
Value* load_repeated(FunctionState& f, const Repetition& from, llvm::Type* element) {
  const unsigned times = f.width / from.count;
  auto* type = llvm::FixedVectorType::get(element, from.count);
  auto plain = [&]() -> Value* { return f.b.CreateAlignedLoad(type, from.first, kAnyAlign); };
  auto some = [&]() -> Value* {
    Value* on = f.lanes.active_count;
    Value* needed =
        from.in_turns ? on : f.b.CreateUDiv(f.b.CreateAdd(on, f.b.getInt64(times - 1)), f.b.getInt64(times));
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (unsigned i = 0; i < from.count; ++i) numbers.push_back(f.b.getInt64(i));
    Value* is_needed =
        f.b.CreateICmpULT(llvm::ConstantVector::get(numbers), f.lanes.spread(needed, from.count));
    if (has_masked_access(f.code.cpu, element))
      return f.b.CreateMaskedLoad(type, from.first, kAnyAlign, is_needed, f.lanes.zero(type));
    Value* result = f.lanes.zero(type);
    for (unsigned i = 0; i < from.count; ++i) {
      const uint64_t offset = uint64_t{i} * element->getScalarSizeInBits() / 8;
      Value* there = f.b.CreateConstGEP1_64(f.b.getInt8Ty(), from.first, offset);
      Value* pointer = f.b.CreateSelect(f.b.CreateExtractElement(is_needed, i), there, f.zeros());
      result = f.b.CreateInsertElement(result, f.b.CreateAlignedLoad(element, pointer, kAnyAlign), i);
    }
    return result;
  };
  if (from.count == 1) return f.lanes.spread(f.b.CreateAlignedLoad(element, from.first, kAnyAlign), f.width);
  Value* loaded = f.lanes.active_count == nullptr ? plain()
                  : f.often_full                  ? branch(f, all_lanes_on(f), plain, some)
                                                  : some();
  llvm::SmallVector<int, 64> order;
  for (unsigned lane = 0; lane < f.width; ++lane)
    order.push_back(static_cast<int>(from.in_turns ? lane % from.count : lane / times));
  return f.b.CreateShuffleVector(loaded, order);
}

/// Groups are loaded whole, as integers, and of each the bits of the element are taken.
Value* load_interleaved(FunctionState& f, const Interleaving& from, DType dtype) {
  llvm::Type* element = f.lanes.memory_type(dtype);
  llvm::Type* group = f.b.getIntNTy(static_cast<unsigned>(from.group) * 8);
  Value* groups = load_neighbours(f, from.first, llvm::FixedVectorType::get(group, f.width), nullptr);
  const auto shift = static_cast<uint64_t>(from.offset) * 8;
  if (dtype == DType::boolean) {
    Value* bits = f.b.CreateAnd(groups, llvm::ConstantInt::get(groups->getType(), uint64_t{0xff} << shift));
    return f.b.CreateICmpNE(bits, f.lanes.zero(groups->getType()));
  }
  llvm::Type* bits = with_lanes(f.b.getIntNTy(element->getScalarSizeInBits()), f.width);
  Value* elements = f.b.CreateTrunc(f.b.CreateLShr(groups, shift), bits);
  return f.lanes.from_memory(dtype, f.b.CreateBitCast(elements, with_lanes(element, f.width)));
}

Value* load_uniform(FunctionState& f, const Address& address, llvm::Type* element, Value* condition) {
  Value* needed = condition;
  if (condition != nullptr && is_vector(condition))
    needed = f.lanes.any(f.lanes.both(condition, f.lanes.active_mask(f.width)));
  Value* pointer = needed == nullptr ? address.first : f.b.CreateSelect(needed, address.first, f.zeros());
  Value* loaded = f.b.CreateAlignedLoad(element, pointer, kAnyAlign);
  if (condition == nullptr || !is_vector(condition)) return loaded;
  return f.lanes.choose(condition, loaded, f.lanes.zero(element));
}

/// Whether the position times `size` is a multiple of `bytes` in the first lane of every round.
bool is_multiple(const FunctionState& f, const Index& position, int64_t size, int64_t bytes) {
  if (position.constant * size % bytes != 0) return false;
  for (const IndexTerm& term : position.terms) {
    int64_t step = 1;
    if (const auto* var = std::get_if<LoopVar>(&term.atom)) {
      for (const OpenLoop& loop : f.loops) {
        if (loop.var == *var) step = loop.lanes;
      }
    }
    if (term.coefficient * step * size % bytes != 0) return false;
  }
  return true;
}

/// How far a store past the caches may rely on the address of its first lane: they go to outputs that are
/// aligned to 64 bytes.
llvm::Align alignment_of(const FunctionState& f, const Store& store) {
  const Buffer& buffer = f.kernel[store.buffer];
  const std::optional<Index> position = linear_position(buffer, store.index);
  if (!position || !store.non_temporal) return kAnyAlign;
  int64_t align = 64;
  while (align > 1 && !is_multiple(f, *position, static_cast<int64_t>(size_of(buffer.type.dtype)), align))
    align /= 2;
  return llvm::Align(static_cast<uint64_t>(align));
}

void store_neighbours(FunctionState& f, Value* pointer, Value* value, bool non_temporal, llvm::Align known) {
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  const auto bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  auto plain = [&]() -> Value* {
    f.b.CreateAlignedStore(value, pointer, kAnyAlign);
    return nullptr;
  };
  auto whole = [&]() -> Value* {
    if (!non_temporal || bytes < 16) return plain();
    const llvm::Align align(std::min<uint64_t>(bytes, static_cast<uint64_t>(f.code.cpu.vector_bytes)));
    f.fence = true;
    auto streaming = [&]() -> Value* {
      llvm::StoreInst* store = f.b.CreateAlignedStore(value, pointer, align);
      auto* one = llvm::ConstantAsMetadata::get(f.b.getInt32(1));
      store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(*f.code.context, one));
      return nullptr;
    };
    if (known >= align) return streaming();
    Value* low_bits =
        f.b.CreateAnd(f.b.CreatePtrToInt(pointer, f.b.getInt64Ty()), f.b.getInt64(align.value() - 1));
    return branch(f, f.b.CreateICmpEQ(low_bits, f.b.getInt64(0)), streaming, plain);
  };
  auto some = [&]() -> Value* {
    const auto* count = llvm::dyn_cast<llvm::ConstantInt>(f.lanes.active_count);
    if (count != nullptr && count->isOne()) {
      // LLVM 22 makes a store of the whole register of a masked one of one lane that it truncates on the way.
      f.b.CreateAlignedStore(f.b.CreateExtractElement(value, uint64_t{0}), pointer, kAnyAlign);
    } else if (has_masked_access(f.code.cpu, type->getElementType())) {
      Value* mask = f.lanes.active_mask(f.width, type->getScalarSizeInBits());
      f.b.CreateMaskedStore(value, pointer, kAnyAlign, mask);
    } else {
      f.b.CreateCall(f.code.prefix_store(type), {pointer, value, f.lanes.active_count});
    }
    return nullptr;
  };
  if (f.lanes.active_count == nullptr) {
    whole();
  } else if (f.often_full) {  // masked stores are slow on some processors
    branch(f, all_lanes_on(f), whole, some);
  } else {
    some();
  }
}

/// W neighbouring elements, of those lanes that are on, where the mask is set.
void store_masked(FunctionState& f, Value* pointer, Value* value, Value* mask) {
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  if (has_masked_access(f.code.cpu, type->getElementType())) {
    f.b.CreateMaskedStore(value, pointer, kAnyAlign, mask);
    return;
  }
  auto* bytes = llvm::FixedVectorType::get(f.b.getInt8Ty(), f.width);
  f.b.CreateCall(f.code.masked_store(type), {pointer, value, f.b.CreateZExt(mask, bytes)});
}

/// One element for all lanes: that of the last one that is on stays.
void store_uniform(FunctionState& f, Value* pointer, Value* value, Value* mask) {
  auto of_last_lane = [&](Value* lanes) {
    Value* last = f.lanes.active_count == nullptr ? f.b.getInt64(f.width - 1)
                                                  : f.b.CreateSub(f.lanes.active_count, f.b.getInt64(1));
    return is_vector(lanes) ? f.b.CreateExtractElement(lanes, last) : lanes;
  };
  auto store = [&]() -> Value* {
    f.b.CreateAlignedStore(of_last_lane(value), pointer, kAnyAlign);
    return nullptr;
  };
  if (mask == nullptr) {
    store();
  } else {
    branch(f, of_last_lane(mask), store, []() -> Value* { return nullptr; });
  }
}

void store_lane_by_lane(FunctionState& f, const Address& address, Value* value, Value* where) {
  if (const auto known = known_lanes(f, address); known && where == nullptr) {
    const auto pointers = lane_pointers(f, address, nullptr, nullptr);
    for (unsigned lane = 0; lane < *known; ++lane)
      f.b.CreateAlignedStore(f.b.CreateExtractElement(value, lane), pointers[lane], kAnyAlign);
    return;
  }
  Value* mask = f.lanes.both(f.lanes.active_mask(f.width, 64), where);
  if (mask != nullptr) mask = f.lanes.spread(mask, f.width);
  auto pointers = lane_pointers(f, address, mask, mask == nullptr ? nullptr : f.sink());
  for (unsigned lane = 0; lane < f.width; ++lane)
    f.b.CreateAlignedStore(f.b.CreateExtractElement(value, lane), pointers[lane], kAnyAlign);
}

}  // namespace

Value* emit_load(FunctionState& f, const Load& load) {
  const DType dtype = f.kernel[load.buffer].type.dtype;
  llvm::Type* element = f.lanes.memory_type(dtype);
  Value* condition = emit_guard(f, load.guard);
  if (condition == nullptr && f.width > 1 && !f.kernel.bounds_checked) {
    if (const auto repetition = emit_repetition(f, load.buffer, load.index))
      return f.lanes.from_memory(dtype, load_repeated(f, *repetition, element));
    if (const auto interleaving = emit_interleaving(f, load.buffer, load.index))
      return load_interleaved(f, *interleaving, dtype);
  }
  const Address address = emit_address(f, load.buffer, load.index);
  check_lanes(f, {load.buffer, false, load.index}, address, condition);
  if (address.pattern == Pattern::uniform)
    return f.lanes.from_memory(dtype, load_uniform(f, address, element, condition));

  auto* type = llvm::FixedVectorType::get(element, f.width);
  const bool one_for_all = condition != nullptr && !is_vector(condition);
  Value* per_lane = one_for_all ? nullptr : condition;
  auto read = [&]() -> Value* {
    if (address.pattern == Pattern::contiguous) return load_neighbours(f, address.first, type, per_lane);
    if (address.pattern == Pattern::reversed) return load_reversed(f, address, type, per_lane);
    return load_lane_by_lane(f, address, type, per_lane);
  };
  Value* raw =
      one_for_all ? branch(f, condition, read, [&]() -> Value* { return f.lanes.zero(type); }) : read();
  return f.lanes.from_memory(dtype, raw);
}

void emit_store(FunctionState& f, const Store& store) {
  const DType dtype = f.kernel[store.buffer].type.dtype;
  Value* value = f.lanes.to_memory(dtype, f.value(store.value));
  const Address address = emit_address(f, store.buffer, store.index);
  check_lanes(f, {store.buffer, true, store.index}, address, nullptr);
  Value* mask = store.mask ? f.value(*store.mask) : nullptr;
  if (address.pattern == Pattern::uniform) return store_uniform(f, address.first, value, mask);
  value = f.lanes.spread(value, f.width);
  if (mask != nullptr && address.pattern == Pattern::contiguous) {
    Value* prefix = f.lanes.active_mask(f.width, value->getType()->getScalarSizeInBits());
    return store_masked(f, address.first, value, f.lanes.spread(f.lanes.both(prefix, mask), f.width));
  }
  if (mask != nullptr) return store_lane_by_lane(f, address, value, mask);
  if (address.pattern == Pattern::contiguous)
    return store_neighbours(f, address.first, value, store.non_temporal, alignment_of(f, store));
  if (address.pattern == Pattern::reversed && f.lanes.active_count == nullptr)
    return store_neighbours(f, lowest(f, address, value->getType()), reversed(f, value), store.non_temporal,
                            kAnyAlign);
  store_lane_by_lane(f, address, value, nullptr);
}

/// From the first byte of a matrix to behind its last; 0 where it has no rows or no columns.
static Value* bytes_spanned(FunctionState& f, Value* rows, Value* row_bytes, Value* columns,
                            Value* element_bytes) {
  Value* zero = f.b.getInt64(0);
  Value* last_row = f.b.CreateMul(f.b.CreateSub(rows, f.b.getInt64(1)), row_bytes);
  Value* bytes = f.b.CreateAdd(last_row, f.b.CreateMul(columns, element_bytes));
  Value* is_empty = f.b.CreateOr(f.b.CreateICmpSLE(rows, zero), f.b.CreateICmpSLE(columns, zero));
  return f.b.CreateSelect(is_empty, zero, bytes);
}

void emit_transpose(FunctionState& f, const TransposeTile& tile) {
  const Buffer& scratch = f.kernel[tile.tile];
  const auto size = static_cast<int64_t>(size_of(scratch.type.dtype));
  auto number = [&](int64_t value) { return f.b.getInt64(static_cast<uint64_t>(value)); };
  Value* matrix = emit_address(f, tile.matrix, tile.index).first;
  Value* matrix_stride = number(tile.distance);
  Value* in_tile = emit_base(f, tile.tile);
  Value* tile_stride = number(scratch.strides[0]);
  Value* rows = emit_count(f, tile.rows);
  Value* columns = emit_count(f, tile.columns);
  if (f.kernel.bounds_checked) {
    const Index beginning[] = {Index(0), Index(0)};
    check_bytes(f, {tile.matrix, tile.to_matrix, tile.index}, matrix,
                bytes_spanned(f, rows, matrix_stride, columns, number(size)));
    check_bytes(f, {tile.tile, !tile.to_matrix, beginning}, in_tile,
                bytes_spanned(f, columns, tile_stride, rows, number(size)));
  }
  llvm::Function* transpose = f.code.transpose_tile(size);
  if (tile.to_matrix) {
    f.b.CreateCall(transpose, {matrix, matrix_stride, in_tile, tile_stride, columns, rows});
  } else {
    f.b.CreateCall(transpose, {in_tile, tile_stride, matrix, matrix_stride, rows, columns});
  }
}

void emit_prefetch(FunctionState& f, const Prefetch& prefetch) {
  const Address address = emit_address(f, prefetch.buffer, prefetch.index);
  const uint64_t bytes = size_of(f.kernel[prefetch.buffer].type.dtype) * f.width;
  Value* reading = f.b.getInt32(0);
  Value* close = f.b.getInt32(prefetch.to_first ? 3 : 2);
  Value* data = f.b.getInt32(1);
  auto fetch = [&](uint64_t offset) {
    Value* line = f.b.CreateConstGEP1_64(f.b.getInt8Ty(), address.first, offset);
    f.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, reading, close, data});
  };
  for (uint64_t offset = 0; offset < bytes; offset += kCacheLine) fetch(offset);
  bool lies_anywhere = false;
  for (const Index& index : prefetch.index) for_each_value(index, [&](ValueId) { lies_anywhere = true; });
  // It may begin within a line, and nothing that comes next has the one that it ends in.
  if (lies_anywhere && bytes > kCacheLine) fetch(bytes - 1);
}

}  // namespace tokamak::codegen
