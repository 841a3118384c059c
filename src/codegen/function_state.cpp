#include "codegen/function_state.h"

#include <algorithm>

namespace tokamak::codegen {

void FunctionState::define(ValueId id, llvm::Value* value) {
  const auto number = static_cast<size_t>(id);
  if (llvm::isa<llvm::Instruction>(value) && !value->hasName()) value->setName("v" + std::to_string(number));
  values[number] = {value, loops.size()};
}

llvm::AllocaInst* FunctionState::stack_slot(llvm::Type* type, const char* name) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(&entry, entry.begin());
  return b.CreateAlloca(type, nullptr, name);
}

llvm::Value* FunctionState::zeros() {
  if (zeros_ == nullptr) {
    auto* type = llvm::ArrayType::get(b.getInt64Ty(), 8);
    zeros_ = stack_slot(type, "zeros");
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    b.SetInsertPoint(function->getEntryBlock().getTerminator());
    for (unsigned i = 0; i < 8; ++i) b.CreateStore(b.getInt64(0), b.CreateConstGEP2_32(type, zeros_, 0, i));
  }
  return zeros_;
}

llvm::Value* FunctionState::sink() {
  if (sink_ == nullptr) sink_ = stack_slot(llvm::ArrayType::get(b.getInt64Ty(), 8), "sink");
  return sink_;
}

llvm::AllocaInst* FunctionState::reported_index() {
  if (reported_index_ == nullptr) {
    size_t rank = 1;
    for (const Buffer& buffer : kernel.buffers) rank = std::max(rank, buffer.type.shape.size());
    reported_index_ = stack_slot(llvm::ArrayType::get(b.getInt64Ty(), rank), "index");
  }
  return reported_index_;
}

}  // namespace tokamak::codegen
