#include "codegen/accumulators.h"

#include <bit>

#include "codegen/access_check.h"
#include "codegen/index_emit.h"
#include "ops/record.h"

namespace tokamak::codegen {
namespace {

using llvm::Value;

/// Parts of a pairwise sum at once: one per bit of how many were merged.
uint64_t levels_of(const Accumulator& accumulator) {
  constexpr uint64_t kEnough = 48;
  if (!accumulator.cascade) return 1;
  return std::min<uint64_t>(kEnough,
                            static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(accumulator.parts))));
}

/// Of a number of parts that is known, so many levels at most are folded without a loop.
constexpr int kFewLevels = 4;

unsigned lanes_in(const Accumulator& accumulator) { return static_cast<unsigned>(accumulator.lanes); }

}  // namespace

llvm::Type* Accumulators::value_type(const Accumulator& accumulator) {
  return with_lanes(f_.code.lane_type(lane_of(accumulator.dtype)), lanes_in(accumulator));
}

llvm::Type* Accumulators::position_type(const Accumulator& accumulator) {
  return with_lanes(f_.code.lane_type(lane_of(*accumulator.position)), lanes_in(accumulator));
}

Accumulators::Slots& Accumulators::slots(AccumulatorId id) {
  Slots& slots = slots_[static_cast<size_t>(id)];
  if (slots.value != nullptr) return slots;
  const Accumulator& accumulator = of(id);
  const uint64_t rounds = rounds_of(accumulator);
  auto make = [&](llvm::Type* type, const char* name) {
    const uint64_t count = rounds * levels_of(accumulator);
    if (accumulator.cascade || accumulator.each)
      return f_.stack_slot(llvm::ArrayType::get(type, count), name);
    return f_.variable(type, name);
  };
  slots.value = make(value_type(accumulator), "acc");
  if (accumulator.position) slots.position = make(position_type(accumulator), "acc.at");
  if (searches_floats(accumulator)) {
    const unsigned lanes = lanes_of_a_register(accumulator);
    const unsigned bits = f_.code.cpu.avx512 ? 1 : bits_of(lane_of(accumulator.dtype));
    slots.nan = f_.variable(llvm::FixedVectorType::get(f_.b.getIntNTy(bits), lanes), "acc.nan");
  }
  if (accumulator.cascade) {
    llvm::Type* count = f_.b.getInt64Ty();
    slots.parts = accumulator.each ? f_.stack_slot(llvm::ArrayType::get(count, rounds), "parts")
                                   : f_.variable(count, "parts");
  }
  return slots;
}

Value* Accumulators::identity_of(const Accumulator& accumulator) {
  return f_.lanes[reduction_identity(f_.lanes, accumulator.op, accumulator.dtype)];
}

Value* Accumulators::lanes_from(Value* value, unsigned begin, unsigned count) {
  if (lanes_of(value) == count) return value;
  if (count == 1) return f_.b.CreateExtractElement(value, begin);
  llvm::SmallVector<int, 32> order;
  for (unsigned i = 0; i < count; ++i) order.push_back(static_cast<int>(begin + i));
  return f_.b.CreateShuffleVector(value, order);
}

/// The largest or smallest float of the lanes of a loop. A NaN is what that comes to; to keep it at every
/// step would take as long as the search, so that is done beside it, for two registers at a time.
bool Accumulators::searches_floats(const Accumulator& accumulator) const {
  const Lane lane = lane_of(accumulator.dtype);
  return (accumulator.op == Op::reduce_max || accumulator.op == Op::reduce_min) && accumulator.across_lanes &&
         (lane == Lane::f32 || lane == Lane::f64) && accumulator.dtype != DType::f16 && !accumulator.each &&
         !accumulator.cascade && accumulator.lanes > 1;
}

unsigned Accumulators::lanes_of_a_register(const Accumulator& accumulator) const {
  const unsigned lanes =
      static_cast<unsigned>(f_.code.cpu.vector_bytes) / (bits_of(lane_of(accumulator.dtype)) / 8);
  return std::min(lanes, lanes_in(accumulator));
}

/// Of lanes that are a multiple of those of a register: whether any of them is, for each of that register. As
/// AVX-512 has it, in bits; else in whole lanes.
Value* Accumulators::some_are_nan(const Accumulator& accumulator, Value* value) {
  const unsigned lanes = lanes_of_a_register(accumulator);
  Value* found = nullptr;
  for (unsigned begin = 0; begin < lanes_of(value); begin += 2 * lanes) {
    Value* first = lanes_from(value, begin, lanes);
    Value* second = begin + lanes < lanes_of(value) ? lanes_from(value, begin + lanes, lanes) : first;
    Value* here = f_.b.CreateFCmpUNO(first, second);
    found = found == nullptr ? here : f_.b.CreateOr(found, here);
  }
  if (f_.code.cpu.avx512) return found;
  llvm::Type* bits = f_.b.getIntNTy(value->getType()->getScalarSizeInBits());
  return f_.b.CreateSExt(found, llvm::FixedVectorType::get(bits, lanes));
}

/// In which lanes of a register there was one.
Value* Accumulators::seen_nan(AccumulatorId id) {
  llvm::AllocaInst* slot = slots(id).nan;
  Value* seen = f_.b.CreateLoad(slot->getAllocatedType(), slot);
  return f_.code.cpu.avx512 ? seen : f_.b.CreateICmpNE(seen, f_.lanes.zero(seen->getType()));
}

Value* Accumulators::nan_where_seen(AccumulatorId id, Value* value) {
  Value* seen = seen_nan(id);
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < lanes_of(value); ++i) order.push_back(static_cast<int>(i % lanes_of(seen)));
  Value* nan = llvm::ConstantFP::getNaN(value->getType());
  return f_.b.CreateSelect(f_.b.CreateShuffleVector(seen, order), nan, value);
}

/// Folds in lanes that are a multiple of the accumulator's.
void Accumulators::search(AccumulatorId id, Value* value) {
  const Accumulator& accumulator = of(id);
  const unsigned lanes = lanes_in(accumulator);
  const Slots& slot = slots(id);
  Value* best = f_.b.CreateLoad(value_type(accumulator), slot.value);
  for (unsigned begin = 0; begin < lanes_of(value); begin += lanes) {
    Value* part = lanes_from(value, begin, lanes);
    best = f_.lanes[better_number(f_.lanes, accumulator.op, f_.lanes.handle(best), f_.lanes.handle(part))];
  }
  f_.b.CreateStore(best, slot.value);
  Value* seen = f_.b.CreateLoad(slot.nan->getAllocatedType(), slot.nan);
  f_.b.CreateStore(f_.b.CreateOr(seen, some_are_nan(accumulator, value)), slot.nan);
}

Accumulators::State Accumulators::neutral(const Accumulator& accumulator) {
  Op op = accumulator.op;
  if (op == Op::argmax) op = Op::reduce_max;
  if (op == Op::argmin) op = Op::reduce_min;
  Scalar identity = reduction_identity(f_.lanes, op, accumulator.dtype);
  // Lanes that find nothing better than the identity say that they found it in the first place of all, which
  // is the answer if no lane does.
  Value* position = accumulator.position ? f_.lanes.zero(position_type(accumulator)) : nullptr;
  return {f_.lanes.spread(f_.lanes[identity], lanes_in(accumulator)), position};
}

uint64_t Accumulators::rounds_of(const Accumulator& accumulator) const {
  if (!accumulator.each) return 1;
  const auto extent = static_cast<uint64_t>(f_.kernel.extents[static_cast<size_t>(*accumulator.each)]);
  return (extent + lanes_in(accumulator) - 1) / lanes_in(accumulator);
}

Value* Accumulators::place(const Accumulator& accumulator, llvm::AllocaInst* stack, Value* level) {
  llvm::Type* type = stack->getAllocatedType();
  if (!type->isArrayTy()) return stack;
  Value* number = f_.b.getInt64(0);
  if (accumulator.each) {
    const auto loop = std::find_if(f_.loops.begin(), f_.loops.end(),
                                   [&](const OpenLoop& open) { return open.var == *accumulator.each; });
    if (loop == f_.loops.end()) throw InternalError("an accumulator for each round outside of the loop");
    number = f_.b.CreateUDiv(loop->value, f_.b.getInt64(lanes_in(accumulator)));
  }
  if (level != nullptr)
    number = f_.b.CreateAdd(f_.b.CreateMul(level, f_.b.getInt64(rounds_of(accumulator))), number);
  return f_.b.CreateGEP(type->getArrayElementType(), stack, number);
}

void Accumulators::set(AccumulatorId id, State state) {
  Slots& slot = slots(id);
  f_.b.CreateStore(state.value, place(of(id), slot.value));
  if (slot.position != nullptr) f_.b.CreateStore(state.position, place(of(id), slot.position));
  if (slot.nan != nullptr) f_.b.CreateStore(some_are_nan(of(id), state.value), slot.nan);
}

Accumulators::State Accumulators::current(AccumulatorId id) {
  const Accumulator& accumulator = of(id);
  Slots& slot = slots(id);
  if (accumulator.cascade) return fold_cascade(id);
  auto load = [&](llvm::Type* type, llvm::AllocaInst* stack) {
    llvm::LoadInst* loaded = f_.b.CreateLoad(type, place(accumulator, stack));
    // LLVM would store what changed with a mask, which takes some processors far longer than storing all.
    loaded->setVolatile(accumulator.each.has_value());
    return loaded;
  };
  State state{load(value_type(accumulator), slot.value)};
  if (slot.position != nullptr) state.position = load(position_type(accumulator), slot.position);
  if (slot.nan != nullptr) state.value = nan_where_seen(id, state.value);
  return state;
}

void Accumulators::declare(AccumulatorId id) {
  if (of(id).cascade) {
    Slots& cascade = slots(id);
    // One for each round of a loop is declared in another loop than it is merged into.
    if (!of(id).parts_before && !of(id).each) cascade.merged = 0;
    cascade.depth = f_.loops.size();
    cascade.branches = f_.lanes.branches;
    Value* parts = f_.b.getInt64(0);
    if (of(id).parts_before) {
      parts = emit_uniform_index(f_, *of(id).parts_before);
      const State nothing = neutral(of(id));
      for (uint64_t i = 0; i < levels_of(of(id)); ++i) set_level(id, f_.b.getInt64(i), nothing);
    }
    f_.b.CreateStore(parts, place(of(id), cascade.parts));
  } else {
    set(id, neutral(of(id)));
  }
}

Value* Accumulators::better(const Accumulator& accumulator, Value* candidate, Value* best) {
  LaneBuilder& lanes = f_.lanes;
  return lanes[arg_reduction_better(lanes, accumulator.op, accumulator.dtype, lanes.handle(candidate),
                                    lanes.handle(best))];
}

Value* Accumulators::accumulate(const Accumulate& step) {
  const Accumulator& accumulator = of(step.accumulator);
  const unsigned lanes = lanes_in(accumulator);
  Value* value = f_.value(step.value);
  if (accumulator.across_lanes && f_.width > lanes) value = f_.lanes.spread(value, f_.width);
  const bool in_turn = lanes_of(value) > lanes;
  if (accumulator.cascade || (in_turn && (step.running || step.position)))
    throw InternalError("a value cannot be accumulated into this accumulator");
  if (searches_floats(accumulator)) {
    if (!in_turn) value = f_.lanes.spread(value, lanes);
    const unsigned bits = value->getType()->getScalarSizeInBits();
    Value* on = lanes_of(value) == f_.width ? f_.lanes.active_mask(f_.width, bits) : nullptr;
    if (on != nullptr) value = f_.lanes.choose(on, value, identity_of(accumulator));
    search(step.accumulator, value);
    return nullptr;
  }
  if (in_turn) {
    if (!accumulate_count(step.accumulator, value)) accumulate_in_turn(step.accumulator, value);
    return nullptr;
  }
  value = f_.lanes.spread(value, lanes);
  State old = current(step.accumulator);
  State next;
  Value* on =
      f_.width == lanes ? f_.lanes.active_mask(lanes, value->getType()->getScalarSizeInBits()) : nullptr;
  if (accumulator.position) {
    Value* position = f_.lanes.number_of_index(emit_index(f_, *step.position), *accumulator.position);
    Value* replace = f_.lanes.both(better(accumulator, value, old.value), on);
    next = {f_.lanes.choose(replace, value, old.value), f_.lanes.choose(replace, position, old.position)};
  } else {
    Scalar stepped = reduction_step(f_.lanes, accumulator.op, accumulator.dtype, f_.lanes.handle(old.value),
                                    f_.lanes.handle(value));
    next.value = f_.lanes[stepped];
    if (on != nullptr) next.value = f_.lanes.choose(on, next.value, old.value);
  }
  set(step.accumulator, next);
  return step.running ? rounded(accumulator, next.value) : nullptr;
}

/// Adds in how many lanes a condition holds, where `value` is 1 there and 0 elsewhere: any lane of an integer
/// sum may take it.
bool Accumulators::accumulate_count(AccumulatorId id, Value* value) {
  const Accumulator& accumulator = of(id);
  auto* number = llvm::dyn_cast<llvm::ZExtInst>(value);
  if (number == nullptr || !number->getOperand(0)->getType()->isIntOrIntVectorTy(1)) return false;
  if (!accumulator.across_lanes || accumulator.op != Op::reduce_sum || !is_integer(accumulator.dtype))
    return false;
  const unsigned lanes = lanes_of(value);
  Value* holds = f_.lanes.both(number->getOperand(0), f_.lanes.active_mask(lanes, 8));
  Value* count =
      f_.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, f_.b.CreateBitCast(holds, f_.b.getIntNTy(lanes)));
  llvm::Type* type = value_type(accumulator);
  count = f_.b.CreateZExtOrTrunc(count, type->getScalarType());
  Value* in_first =
      type->isVectorTy() ? f_.b.CreateInsertElement(f_.lanes.zero(type), count, uint64_t{0}) : count;
  set(id, {f_.b.CreateAdd(current(id).value, in_first), nullptr});
  return true;
}

/// As many lanes at a time as the accumulator has. Lanes that are off take the neutral element, which changes
/// nothing: a sum that begins with +0 is never -0.
void Accumulators::accumulate_in_turn(AccumulatorId id, Value* value) {
  const unsigned lanes = lanes_in(of(id));
  const unsigned bits = value->getType()->getScalarSizeInBits();
  if (Value* on = f_.lanes.active_mask(lanes_of(value), bits))
    value = f_.lanes.choose(on, value, identity_of(of(id)));
  for (unsigned begin = 0; begin < lanes_of(value); begin += lanes) {
    set(id, combined(of(id), current(id), {lanes_from(value, begin, lanes), nullptr}));
  }
}

/// For arg*: the better value, the smaller position among equals.
Accumulators::State Accumulators::combined(const Accumulator& accumulator, State earlier, State later) {
  if (!accumulator.position) {
    Scalar stepped = reduction_step(f_.lanes, accumulator.op, accumulator.dtype,
                                    f_.lanes.handle(earlier.value), f_.lanes.handle(later.value));
    return {f_.lanes[stepped], nullptr};
  }
  Value* later_better = better(accumulator, later.value, earlier.value);
  Value* equal = f_.b.CreateNot(f_.b.CreateOr(later_better, better(accumulator, earlier.value, later.value)));
  Value* comes_first = f_.b.CreateAnd(equal, f_.b.CreateICmpSLT(later.position, earlier.position));
  Value* take = f_.b.CreateOr(later_better, comes_first);
  return {f_.b.CreateSelect(take, later.value, earlier.value),
          f_.b.CreateSelect(take, later.position, earlier.position)};
}

void Accumulators::merge(AccumulatorId into, AccumulatorId from) {
  State part = current(from);
  if (of(into).cascade) {
    push(into, part);
  } else {
    set(into, combined(of(into), current(into), part));
  }
}

Accumulators::State Accumulators::level(AccumulatorId id, Value* number) {
  auto load = [&](llvm::AllocaInst* stack) -> Value* {
    if (stack == nullptr) return nullptr;
    return f_.b.CreateLoad(stack->getAllocatedType()->getArrayElementType(), place(of(id), stack, number));
  };
  return {load(slots(id).value), load(slots(id).position)};
}

void Accumulators::set_level(AccumulatorId id, Value* number, State state) {
  auto store = [&](llvm::AllocaInst* stack, Value* value) {
    if (stack != nullptr) f_.b.CreateStore(value, place(of(id), stack, number));
  };
  store(slots(id).value, state.value);
  store(slots(id).position, state.position);
}

/// A state that a loop of ours changes.
struct Accumulators::Variable {
  Variable(FunctionState& function, State start)
      : f(function), value(f.variable(start.value->getType(), "part")) {
    if (start.position != nullptr) position = f.variable(start.position->getType(), "part.at");
    set(start);
  }
  void set(State state) {
    f.b.CreateStore(state.value, value);
    if (position != nullptr) f.b.CreateStore(state.position, position);
  }
  State get() {
    auto load = [&](llvm::AllocaInst* slot) -> Value* {
      return slot == nullptr ? nullptr : f.b.CreateLoad(slot->getAllocatedType(), slot);
    };
    return {load(value), load(position)};
  }

  FunctionState& f;
  llvm::AllocaInst* value;
  llvm::AllocaInst* position = nullptr;
};

/// Counts a part that is merged here, as often as the loops since the cascade's declaration run.
void Accumulators::count_part(Slots& cascade) {
  int64_t times = 1;
  bool is_known = cascade.merged && f_.lanes.branches == cascade.branches;
  for (size_t i = cascade.depth; is_known && i < f_.loops.size(); ++i) {
    is_known = f_.loops[i].rounds.has_value();
    times *= f_.loops[i].rounds.value_or(1);
  }
  cascade.merged = is_known ? std::optional(*cascade.merged + times) : std::nullopt;
}

/// How many parts a cascade has that is read here, if it is known.
std::optional<uint64_t> Accumulators::parts_here(const Slots& cascade) const {
  if (!cascade.merged || f_.loops.size() != cascade.depth) return std::nullopt;
  return static_cast<uint64_t>(*cascade.merged);
}

/// level = 0; while (parts has bit `level`) part = stack[level++] + part; stack[level] = part; ++parts
void Accumulators::push(AccumulatorId into, State start) {
  count_part(slots(into));
  Builder& b = f_.b;
  llvm::Type* i64 = b.getInt64Ty();
  llvm::BasicBlock* head = f_.new_block("cascade");
  llvm::BasicBlock* join = f_.new_block("cascade.join");
  llvm::BasicBlock* done = f_.new_block("cascade.done");
  Value* parts = b.CreateLoad(i64, place(of(into), slots(into).parts));
  Variable part(f_, start);
  llvm::AllocaInst* height = f_.variable(i64, "level");
  b.CreateStore(b.getInt64(0), height);
  b.CreateBr(head);

  b.SetInsertPoint(head);
  Value* number = b.CreateLoad(i64, height);
  Value* occupied = b.CreateTrunc(b.CreateLShr(parts, number), b.getInt1Ty());
  b.CreateCondBr(occupied, join, done);

  b.SetInsertPoint(join);
  part.set(combined(of(into), level(into, number), part.get()));
  b.CreateStore(b.CreateAdd(number, b.getInt64(1)), height);
  b.CreateBr(head);

  b.SetInsertPoint(done);
  set_level(into, number, part.get());
  b.CreateStore(b.CreateAdd(parts, b.getInt64(1)), place(of(into), slots(into).parts));
}

/// The same where the number of parts is known.
Accumulators::State Accumulators::fold_levels(AccumulatorId id, uint64_t parts) {
  if (parts == 0) return neutral(of(id));
  auto next = [&] {
    const int lowest = std::countr_zero(parts);
    parts &= parts - 1;
    return level(id, f_.b.getInt64(static_cast<uint64_t>(lowest)));
  };
  State folded = next();
  while (parts != 0) folded = combined(of(id), next(), folded);
  return folded;
}

/// The occupied levels, folded from the lowest (the latest parts) up; the neutral element when there are
/// none.
Accumulators::State Accumulators::fold_cascade(AccumulatorId id) {
  const std::optional<uint64_t> known = parts_here(slots(id));
  if (known && std::popcount(*known) <= kFewLevels) return fold_levels(id, *known);
  Builder& b = f_.b;
  llvm::Type* i64 = b.getInt64Ty();
  auto lowest = [&](Value* bits) {
    return b.CreateIntrinsic(i64, llvm::Intrinsic::cttz, {bits, b.getTrue()});
  };
  auto without_lowest = [&](Value* bits) { return b.CreateAnd(bits, b.CreateSub(bits, b.getInt64(1))); };
  llvm::BasicBlock* first = f_.new_block("fold");
  llvm::BasicBlock* head = f_.new_block("fold.more");
  llvm::BasicBlock* join = f_.new_block("fold.join");
  llvm::BasicBlock* done = f_.new_block("folded");
  Value* parts = b.CreateLoad(i64, place(of(id), slots(id).parts));
  Variable part(f_, neutral(of(id)));
  llvm::AllocaInst* left = f_.variable(i64, "left");
  b.CreateCondBr(b.CreateICmpEQ(parts, b.getInt64(0)), done, first);

  b.SetInsertPoint(first);
  part.set(level(id, lowest(parts)));
  b.CreateStore(without_lowest(parts), left);
  b.CreateBr(head);

  b.SetInsertPoint(head);
  Value* rest = b.CreateLoad(i64, left);
  b.CreateCondBr(b.CreateICmpEQ(rest, b.getInt64(0)), done, join);

  b.SetInsertPoint(join);
  part.set(combined(of(id), level(id, lowest(rest)), part.get()));
  b.CreateStore(without_lowest(rest), left);
  b.CreateBr(head);

  b.SetInsertPoint(done);
  return part.get();
}

/// Halves are combined until one lane is left: the same tree for any number of rounds.
Accumulators::State Accumulators::across_lanes(const Accumulator& accumulator, State state) {
  auto half_of = [&](Value* value, unsigned begin, unsigned count) {
    return value == nullptr ? nullptr : lanes_from(value, begin, count);
  };
  for (unsigned lanes = lanes_in(accumulator); lanes > 1; lanes /= 2) {
    if (lanes % 2 != 0) throw InternalError("lanes are a power of two");
    const unsigned half = lanes / 2;
    State low{half_of(state.value, 0, half), half_of(state.position, 0, half)};
    State high{half_of(state.value, half, half), half_of(state.position, half, half)};
    state = combined(accumulator, low, high);
  }
  return state;
}

Value* Accumulators::rounded(const Accumulator& accumulator, Value* value) {
  const bool inexact = accumulator.op == Op::reduce_sum || accumulator.op == Op::reduce_prod ||
                       accumulator.op == Op::cumsum || accumulator.op == Op::cumprod;
  return inexact ? f_.lanes.round_to(accumulator.dtype, value) : value;
}

/// The lanes of a search are joined as they were found, and one look tells whether there was a NaN.
Value* Accumulators::found(AccumulatorId id) {
  const Accumulator& accumulator = of(id);
  Value* best = f_.b.CreateLoad(value_type(accumulator), slots(id).value);
  for (unsigned half = lanes_in(accumulator) / 2; half > 0; half /= 2) {
    const Scalar low = f_.lanes.handle(lanes_from(best, 0, half));
    const Scalar high = f_.lanes.handle(lanes_from(best, half, half));
    best = f_.lanes[better_number(f_.lanes, accumulator.op, low, high)];
  }
  return f_.b.CreateSelect(f_.lanes.any(seen_nan(id)), llvm::ConstantFP::getNaN(best->getType()), best);
}

Value* Accumulators::read(const Read& read) {
  const Accumulator& accumulator = of(read.accumulator);
  if (searches_floats(accumulator)) return found(read.accumulator);
  State state = current(read.accumulator);
  if (accumulator.across_lanes) state = across_lanes(accumulator, state);
  if (!accumulator.position) return rounded(accumulator, state.value);
  return f_.lanes.number_of_index(state.position, f_.kernel[read.result]);
}

/// Slot `slot` of a partial buffer, `offset` bytes in.
Value* Accumulators::partial_slot(const Accumulator& accumulator, BufferId buffer, const Index& slot,
                                  int64_t offset) {
  const int64_t bytes = accumulator_lane_bytes(accumulator) * accumulator.lanes;
  Value* where = emit_uniform_index(f_, slot * bytes + Index(offset));
  return f_.b.CreateGEP(f_.b.getInt8Ty(), emit_base(f_, buffer), where);
}

void Accumulators::check_slot(const Accumulator& accumulator, BufferId buffer, const Index& slot,
                              bool writes) {
  const int64_t bytes = accumulator_lane_bytes(accumulator) * accumulator.lanes;
  check_bytes(f_, {buffer, writes, {&slot, 1}}, partial_slot(accumulator, buffer, slot, 0),
              f_.b.getInt64(static_cast<uint64_t>(bytes)));
}

void Accumulators::spill(const Spill& spill) {
  const Accumulator& accumulator = of(spill.accumulator);
  check_slot(accumulator, spill.buffer, spill.slot, true);
  State state = current(spill.accumulator);
  Value* raw = state.value;
  if (lane_of(accumulator.dtype) == Lane::i1) raw = f_.lanes.to_memory(DType::boolean, raw);
  f_.b.CreateAlignedStore(raw, partial_slot(accumulator, spill.buffer, spill.slot, 0), llvm::Align(1));
  if (!accumulator.position) return;
  const int64_t values = accumulator_value_bytes(accumulator) * accumulator.lanes;
  f_.b.CreateAlignedStore(state.position, partial_slot(accumulator, spill.buffer, spill.slot, values),
                          llvm::Align(1));
}

void Accumulators::unspill(const Unspill& unspill) {
  const Accumulator& accumulator = of(unspill.accumulator);
  check_slot(accumulator, unspill.buffer, unspill.slot, false);
  const bool is_bool = lane_of(accumulator.dtype) == Lane::i1;
  llvm::Type* type = is_bool ? with_lanes(f_.b.getInt8Ty(), lanes_in(accumulator)) : value_type(accumulator);
  State state;
  state.value = f_.b.CreateAlignedLoad(type, partial_slot(accumulator, unspill.buffer, unspill.slot, 0),
                                       llvm::Align(1));
  if (is_bool) state.value = f_.lanes.from_memory(DType::boolean, state.value);
  if (accumulator.position) {
    const int64_t values = accumulator_value_bytes(accumulator) * accumulator.lanes;
    Value* where = partial_slot(accumulator, unspill.buffer, unspill.slot, values);
    state.position = f_.b.CreateAlignedLoad(position_type(accumulator), where, llvm::Align(1));
  }
  if (accumulator.cascade) {  // a cascade was spilled as its sum: one part
    slots(unspill.accumulator).merged.reset();
    set_level(unspill.accumulator, f_.b.getInt64(0), state);
    f_.b.CreateStore(f_.b.getInt64(1), place(accumulator, slots(unspill.accumulator).parts));
  } else {
    set(unspill.accumulator, state);
  }
}

}  // namespace tokamak::codegen
