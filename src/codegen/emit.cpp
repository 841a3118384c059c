#include "codegen/emit.h"

#include <algorithm>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "codegen/accumulators.h"
#include "codegen/codegen.h"
#include "codegen/function_state.h"
#include "codegen/index_emit.h"
#include "codegen/memory_emit.h"
#include "ops/record.h"

namespace tokamak::codegen {
namespace {

using llvm::Value;

/// Above this many vector instructions a body is written once, with masks, instead of twice (full rounds and
/// tail): compile time halves, at a few per cent of run time.
constexpr double kLargeBody = 150;

class NestEmitter {
 public:
  NestEmitter(const LoopKernel& kernel, CodeModule& code, llvm::Function* function)
      : kernel_(kernel), f_(kernel, code, function), accumulators_(f_) {}

  void emit(const Loop& root);

 private:
  void body(const std::vector<Stmt>& statements) {
    for (const Stmt& statement : statements) std::visit([&](const auto& s) { on(s); }, statement);
  }

  void on(const Literal& literal);
  Value* bits_of_number(const Literal& literal);
  void on(const IndexValue& value);
  void on(const Test& test);
  void on(const Load& load) { f_.define(load.result, emit_load(f_, load)); }
  void on(const Compute& compute);
  void on(const Store& store) { emit_store(f_, store); }
  void on(const Declare& declare) { accumulators_.declare(declare.accumulator); }
  void on(const Accumulate& accumulate) {
    Value* running = accumulators_.accumulate(accumulate);
    if (accumulate.running) f_.define(*accumulate.running, running);
  }
  void on(const Merge& merge) { accumulators_.merge(merge.into, merge.from); }
  void on(const Read& read) { f_.define(read.result, accumulators_.read(read)); }
  void on(const Spill& spill) { accumulators_.spill(spill); }
  void on(const Unspill& unspill) { accumulators_.unspill(unspill); }
  void on(const CheckRange& check);
  void on(const TransposeTile& tile) { emit_transpose(f_, tile); }
  void on(const Prefetch& prefetch) { emit_prefetch(f_, prefetch); }
  void on(const std::shared_ptr<Branch>& branch);
  void on(const std::shared_ptr<Loop>& loop);

  Value* frame_field(llvm::Type* type, size_t offset, const char* name);
  void open_range(llvm::BasicBlock* entry);
  void open_numbers(llvm::BasicBlock* entry);
  Value* rounds(const Loop& loop);
  llvm::BasicBlock* open(const Loop& loop, Value* count, unsigned lanes);
  template <class Prepare>
  void repeat(const Loop& loop, llvm::BasicBlock* head, Value* begin, Value* end, llvm::BasicBlock* exit,
              Prepare prepare);
  void serial_loop(const Loop& loop);
  void vector_loop(const Loop& loop);
  void full_rounds_and_tail(const Loop& loop, Value* count, llvm::BasicBlock* exit);
  void masked_rounds(const Loop& loop, Value* count, llvm::BasicBlock* exit);
  double size_of_body(const std::vector<Stmt>& statements) const;

  const LoopKernel& kernel_;
  FunctionState f_;
  Accumulators accumulators_;
};

void NestEmitter::on(const Literal& literal) {
  const DType dtype = literal.value.type().dtype;
  LaneBuilder& lanes = f_.lanes;
  if (literal.bits) return f_.define(literal.result, lanes.from_memory(dtype, bits_of_number(literal)));
  uint64_t bits = 0;
  std::memcpy(&bits, literal.value.data(), size_of(dtype));
  if (dtype == DType::boolean) bits = bits != 0;
  if (dtype == DType::f16) bits = std::bit_cast<uint32_t>(f16_to_f32(static_cast<uint16_t>(bits)));
  if (dtype == DType::bf16) bits = std::bit_cast<uint32_t>(bf16_to_f32(static_cast<uint16_t>(bits)));
  f_.define(literal.result, lanes[lanes.constant_bits(lane_of(dtype), bits)]);
}

/// The number as memory has it.
Value* NestEmitter::bits_of_number(const Literal& literal) {
  llvm::Type* type = f_.lanes.memory_type(literal.value.type().dtype);
  Value* bits = f_.b.CreateTrunc(emit_uniform_index(f_, Index::of(*literal.bits)),
                                 f_.b.getIntNTy(type->getScalarSizeInBits()));
  return f_.b.CreateBitCast(bits, type);
}

void NestEmitter::on(const IndexValue& value) {
  f_.define(value.result, f_.lanes.number_of_index(emit_index(f_, value.index), kernel_[value.result]));
}

void NestEmitter::on(const Test& test) {
  Value* holds = emit_guard(f_, test.guard);
  f_.define(test.result, holds == nullptr ? f_.b.getTrue() : holds);
}

void NestEmitter::on(const Compute& compute) {
  LaneBuilder& lanes = f_.lanes;
  llvm::SmallVector<Scalar, 3> operands;
  llvm::SmallVector<DType, 3> dtypes;
  for (ValueId operand : compute.operands) {
    operands.push_back(lanes.handle(f_.value(operand)));
    dtypes.push_back(kernel_[operand]);
  }
  const DType result = kernel_[compute.result];
  const bool plain = compute.op == Op::add || compute.op == Op::sub || compute.op == Op::mul;
  lanes.contract = kernel_.relaxed_math && plain && (result == DType::f32 || result == DType::f64);
  Scalar value = emit_scalar(lanes, compute.op, {operands.data(), operands.size()},
                             {dtypes.data(), dtypes.size()}, result);
  lanes.contract = false;
  f_.define(compute.result, lanes[value]);
}

void NestEmitter::on(const CheckRange& check) {
  Builder& b = f_.b;
  Value* value = f_.value(check.value);
  const DType dtype = kernel_[check.value];
  // Unsigned comparison catches negative numbers too, once the extent is a number of the same width.
  const unsigned bits = value->getType()->getScalarSizeInBits();
  const bool fits = bits == 64 || check.extent < (int64_t{1} << (bits - 1));
  if (!fits) {
    llvm::Type* wide = with_lanes(b.getInt64Ty(), lanes_of(value));
    value = is_signed_integer(dtype) ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide);
  }
  Value* extent = llvm::ConstantInt::get(value->getType(), static_cast<uint64_t>(check.extent));
  Value* outside = b.CreateICmpUGE(value, extent);
  if (is_vector(outside)) outside = f_.lanes.any(f_.lanes.both(outside, f_.lanes.active_mask(f_.width)));
  llvm::BasicBlock* failed = f_.new_block("out_of_range");
  llvm::BasicBlock* after = f_.new_block("in_range");
  b.CreateCondBr(outside, failed, after, llvm::MDBuilder(*f_.code.context).createUnlikelyBranchWeights());
  b.SetInsertPoint(failed);
  Value* field =
      b.CreateConstGEP1_64(b.getInt8Ty(), f_.function->getArg(0), offsetof(KernelFrame, failed_check));
  llvm::StoreInst* report =
      b.CreateAlignedStore(b.getInt32(check.check + 1), b.CreateLoad(b.getPtrTy(), field), llvm::Align(4));
  report->setAtomic(llvm::AtomicOrdering::Monotonic);  // other tasks may report at the same time
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void NestEmitter::on(const std::shared_ptr<Branch>& branch) {
  Builder& b = f_.b;
  Value* holds = emit_guard(f_, branch->guard);
  if (holds == nullptr) holds = b.getTrue();
  llvm::BasicBlock* then = f_.new_block("holds");
  llvm::BasicBlock* otherwise = f_.new_block("otherwise");
  llvm::BasicBlock* after = f_.new_block("joined");
  b.CreateCondBr(holds, then, otherwise);
  ++f_.lanes.branches;
  b.SetInsertPoint(then);
  body(branch->body);
  b.CreateBr(after);
  b.SetInsertPoint(otherwise);
  body(branch->otherwise);
  b.CreateBr(after);
  --f_.lanes.branches;
  b.SetInsertPoint(after);
}

void NestEmitter::on(const std::shared_ptr<Loop>& loop) {
  switch (loop->kind) {
    case LoopKind::parallel:
      throw InternalError("a parallel loop inside of another");
    case LoopKind::serial:
      return serial_loop(*loop);
    case LoopKind::vector:
      return loop->lanes == 1 ? serial_loop(*loop) : vector_loop(*loop);
  }
}

/// How many values the variable takes: a constant, or an i64 that may be below 1.
Value* NestEmitter::rounds(const Loop& loop) { return emit_count(f_, {loop.extent, loop.bound}); }

/// Opens a loop of at least one round: from here on code goes to its preheader. Gives the block after the
/// loop.
llvm::BasicBlock* NestEmitter::open(const Loop& loop, Value* count, unsigned lanes) {
  Builder& b = f_.b;
  llvm::BasicBlock* preheader = f_.new_block("before");
  llvm::BasicBlock* exit = f_.new_block("end");
  if (llvm::isa<llvm::ConstantInt>(count)) {
    b.CreateBr(preheader);
  } else {
    b.CreateCondBr(b.CreateICmpSGT(count, b.getInt64(0)), preheader, exit);
  }
  b.SetInsertPoint(preheader);
  f_.loops.push_back({loop.var, lanes, preheader, nullptr, {}});
  return exit;
}

/// How many rounds a loop over such values has, if that is known.
static std::optional<int64_t> rounds_between(Value* begin, Value* end, unsigned lanes) {
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first == nullptr || last == nullptr) return std::nullopt;
  return (last->getSExtValue() - first->getSExtValue() + lanes - 1) / lanes;
}

/// The body of the open loop, for v = begin; v < end; v += lanes, at least one round; then to `exit`. The
/// preheader branches to `head` already.
template <class Prepare>
void NestEmitter::repeat(const Loop& loop, llvm::BasicBlock* head, Value* begin, Value* end,
                         llvm::BasicBlock* exit, Prepare prepare) {
  Builder& b = f_.b;
  f_.loops.back().rounds = rounds_between(begin, end, f_.loops.back().lanes);
  if (f_.loops.back().rounds == 1) {
    b.SetInsertPoint(head);
    f_.loops.back().value = begin;
    prepare(begin);
    body(loop.body);
    b.CreateBr(exit);
    b.SetInsertPoint(exit);
    return;
  }
  llvm::AllocaInst* variable =
      f_.variable(b.getInt64Ty(), kernel_.variables[static_cast<size_t>(loop.var)].c_str());
  b.SetInsertPoint(f_.loops.back().preheader->getTerminator());
  b.CreateStore(begin, variable);
  b.SetInsertPoint(head);
  Value* v = b.CreateLoad(b.getInt64Ty(), variable);
  f_.loops.back().value = v;
  prepare(v);
  body(loop.body);
  Value* next = b.CreateAdd(v, b.getInt64(f_.loops.back().lanes), "", /*HasNUW=*/true, /*HasNSW=*/true);
  b.CreateStore(next, variable);
  b.CreateCondBr(b.CreateICmpSLT(next, end), head, exit);
  b.SetInsertPoint(exit);
}

bool never_runs(Value* count) {
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
  return known != nullptr && known->getSExtValue() <= 0;
}

void NestEmitter::serial_loop(const Loop& loop) {
  Value* count = rounds(loop);
  if (never_runs(count)) return;
  llvm::BasicBlock* exit = open(loop, count, 1);
  llvm::BasicBlock* head = f_.new_block("loop");
  f_.b.CreateBr(head);
  repeat(loop, head, f_.b.getInt64(0), count, exit, [](Value*) {});
  f_.loops.pop_back();
}

/// Whether the loop's trip count is a multiple of its lanes whatever the loops around it do: then no lane is
/// ever off.
static bool only_full_rounds(const Loop& loop) {
  if (loop.extent % loop.lanes != 0) return false;
  if (!loop.bound) return true;
  return loop.bound->constant % loop.lanes == 0 &&
         std::all_of(loop.bound->terms.begin(), loop.bound->terms.end(),
                     [&](const IndexTerm& term) { return term.coefficient % loop.lanes == 0; });
}

void NestEmitter::vector_loop(const Loop& loop) {
  if (f_.width != 1) throw InternalError("a vector loop inside of another");
  Value* count = rounds(loop);
  if (never_runs(count)) return;
  llvm::BasicBlock* exit = open(loop, count, static_cast<unsigned>(loop.lanes));
  f_.width = static_cast<unsigned>(loop.lanes);
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
  const bool tail_only = known != nullptr && known->getSExtValue() < loop.lanes;
  const bool no_tail = only_full_rounds(loop);
  if (!tail_only && !no_tail && size_of_body(loop.body) > kLargeBody) {
    masked_rounds(loop, count, exit);
  } else {
    full_rounds_and_tail(loop, count, exit);
  }
  f_.width = 1;
  f_.loops.pop_back();
}

/// One body, with masks in every round.
void NestEmitter::masked_rounds(const Loop& loop, Value* count, llvm::BasicBlock* exit) {
  Builder& b = f_.b;
  llvm::BasicBlock* head = f_.new_block("rounds");
  b.CreateBr(head);
  repeat(loop, head, b.getInt64(0), count, exit, [&](Value* v) {
    Value* lanes = b.getInt64(static_cast<uint64_t>(loop.lanes));
    f_.lanes.active_count =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateSub(count, v), lanes, {}, "on");
    f_.often_full = true;
  });
  f_.lanes.active_count = nullptr;
  f_.often_full = false;
}

/// Rounds with all lanes on, then at most one with the rest.
void NestEmitter::full_rounds_and_tail(const Loop& loop, Value* count, llvm::BasicBlock* exit) {
  Builder& b = f_.b;
  Value* zero = b.getInt64(0);
  Value* lanes = b.getInt64(static_cast<uint64_t>(loop.lanes));
  Value* full = only_full_rounds(loop) ? count : b.CreateSub(count, b.CreateURem(count, lanes), "full");
  auto* known_full = llvm::dyn_cast<llvm::ConstantInt>(full);
  const bool has_main = known_full == nullptr || !known_full->isZero();
  const bool has_tail = full != count;
  llvm::BasicBlock* main = has_main ? f_.new_block("rounds") : nullptr;
  llvm::BasicBlock* rest = has_tail ? f_.new_block("rest") : exit;
  if (!has_main) {
    b.CreateBr(rest);
  } else if (known_full != nullptr) {
    b.CreateBr(main);
  } else {
    b.CreateCondBr(b.CreateICmpNE(full, zero), main, rest);
  }
  if (has_main) repeat(loop, main, zero, full, rest, [](Value*) {});
  if (!has_tail) return;

  b.SetInsertPoint(rest);
  Value* left = b.CreateSub(count, full, "left");
  f_.loops.back().rounds = rounds_between(full, count, f_.loops.back().lanes);
  if (!llvm::isa<llvm::ConstantInt>(left)) {
    llvm::BasicBlock* tail = f_.new_block("tail");
    b.CreateCondBr(b.CreateICmpNE(left, zero), tail, exit);
    b.SetInsertPoint(tail);
  }
  f_.loops.back().value = full;
  f_.lanes.active_count = left;
  body(loop.body);
  f_.lanes.active_count = nullptr;
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
}

double NestEmitter::size_of_body(const std::vector<Stmt>& statements) const {
  double size = 0;
  for (const Stmt& statement : statements) {
    if (const auto* compute = std::get_if<Compute>(&statement)) {
      size += scalar_cost(compute->op, kernel_[compute->operands.back()], kernel_[compute->result]);
    } else if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&statement)) {
      size += size_of_body((*loop)->body);
    } else if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&statement)) {
      size += size_of_body((*branch)->body) + size_of_body((*branch)->otherwise);
    } else {
      size += 1;
    }
  }
  return size;
}

Value* NestEmitter::frame_field(llvm::Type* type, size_t offset, const char* name) {
  Value* address = f_.b.CreateConstGEP1_64(f_.b.getInt8Ty(), f_.function->getArg(0), offset);
  return f_.b.CreateLoad(type, address, name);
}

/// The ends of the swept range are as variables of loops around everything.
void NestEmitter::open_range(llvm::BasicBlock* entry) {
  if (!kernel_.range) return;
  auto field = [&](size_t offset, const char* name) { return frame_field(f_.b.getInt64Ty(), offset, name); };
  f_.loops.push_back({kernel_.range->first, 1, entry, field(offsetof(KernelFrame, first), "first"), {}});
  f_.loops.push_back({kernel_.range->end, 1, entry, field(offsetof(KernelFrame, end), "end"), {}});
}

/// So are the numbers that are known at run time only.
void NestEmitter::open_numbers(llvm::BasicBlock* entry) {
  if (kernel_.numbers.empty()) return;
  Value* numbers = frame_field(f_.b.getPtrTy(), offsetof(KernelFrame, numbers), "numbers");
  for (size_t i = 0; i < kernel_.numbers.size(); ++i) {
    const LoopVar number = kernel_.numbers[i];
    Value* address = f_.b.CreateConstGEP1_64(f_.b.getInt64Ty(), numbers, i);
    const std::string& name = kernel_.variables[static_cast<size_t>(number)];
    f_.loops.push_back({number, 1, entry, f_.b.CreateLoad(f_.b.getInt64Ty(), address, name), {}});
  }
}

void NestEmitter::emit(const Loop& root) {
  Builder& b = f_.b;
  Value* begin = f_.function->getArg(1);
  Value* end = f_.function->getArg(2);
  llvm::BasicBlock* entry = f_.new_block("entry");
  llvm::BasicBlock* head = f_.new_block("tasks");
  llvm::BasicBlock* exit = f_.new_block("end");
  b.SetInsertPoint(entry);
  open_range(entry);
  open_numbers(entry);
  if (root.bound)
    end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, emit_uniform_index(f_, *root.bound));
  b.CreateCondBr(b.CreateICmpSLT(begin, end), head, exit);
  f_.loops.push_back({root.var, 1, entry, nullptr, {}});
  repeat(root, head, begin, end, exit, [](Value*) {});
  f_.loops.clear();
  if (f_.fence) b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {});
  b.CreateRetVoid();
  llvm::DominatorTree dominators(*f_.function);
  llvm::PromoteMemToReg(f_.promotable, dominators);
}

}  // namespace

std::string nest_symbol(const LoopKernel& kernel, size_t nest) {
  return kernel.name + "_" + std::to_string(nest);
}

void emit_nest(const LoopKernel& kernel, size_t nest, CodeModule& code) {
  Builder b = code.builder();
  auto* signature = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(), b.getPtrTy()}, false);
  llvm::Function* function = code.add_function(nest_symbol(kernel, nest), signature, false);
  const char* names[] = {"frame", "begin", "end", "scratch"};
  for (unsigned i = 0; i < 4; ++i) function->getArg(i)->setName(names[i]);
  NestEmitter(kernel, code, function).emit(kernel.nests[nest].root);
}

}  // namespace tokamak::codegen
