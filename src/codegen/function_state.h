#pragma once

// What is known while the function of a nest is being written.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lanes.h"
#include "codegen/module.h"
#include "loops/nest.h"

namespace tokamak::codegen {

/// A loop whose body is being written.
struct OpenLoop {
  LoopVar var;
  unsigned lanes;               ///< more than 1: a vector loop
  llvm::BasicBlock* preheader;  ///< runs once before the loop; what does not change inside goes to its end
  llvm::Value* value;           ///< i64: the variable, in the first lane
  std::map<std::string, llvm::Value*> hoisted;   ///< what went to the preheader, by meaning
  std::optional<int64_t> rounds = std::nullopt;  ///< of what is being written, if it is known how many
};

/// A kernel's value and how many loops enclose its definition.
struct Defined {
  llvm::Value* value = nullptr;
  size_t depth = 0;
};

struct FunctionState {
  const LoopKernel& kernel;
  CodeModule& code;
  llvm::Function* function;
  Builder b;
  LaneBuilder lanes{code, b};
  std::vector<OpenLoop> loops;                ///< outermost first
  std::vector<Defined> values;                ///< by ValueId
  unsigned width = 1;                         ///< lanes of the enclosing vector loop
  bool often_full = false;                    ///< lanes.active_count is mostly `width`: testing for that pays
  bool fence = false;                         ///< non-temporal stores were written
  std::vector<llvm::AllocaInst*> promotable;  ///< become registers when the function is complete

  FunctionState(const LoopKernel& kernel_, CodeModule& code_, llvm::Function* function_)
      : kernel(kernel_),
        code(code_),
        function(function_),
        b(code_.builder()),
        values(kernel_.values.size()) {}

  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(*code.context, name, function);
  }
  llvm::Value* value(ValueId id) const { return values[static_cast<size_t>(id)].value; }
  void define(ValueId id, llvm::Value* value);

  /// Emits `make()` where only the outermost `depth` loops run: at the end of the next one's preheader, once
  /// per `key`.
  template <class Make>
  llvm::Value* at_depth(size_t depth, const std::string& key, Make make) {
    if (depth >= loops.size()) return make();
    if (auto known = loops[depth].hoisted.find(key); known != loops[depth].hoisted.end())
      return known->second;
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    b.SetInsertPoint(loops[depth].preheader->getTerminator());
    llvm::Value* made = make();
    loops[depth].hoisted.emplace(key, made);
    return made;
  }

  /// Stack space, allocated once per call of the function.
  llvm::AllocaInst* stack_slot(llvm::Type* type, const char* name);
  /// A variable that loops change: a stack slot that becomes a register when the function is complete. (A phi
  /// still without its last operand would be folded away as if it were constant.)
  llvm::AllocaInst* variable(llvm::Type* type, const char* name) {
    promotable.push_back(stack_slot(type, name));
    return promotable.back();
  }
  /// 64 zero bytes to read from, and 64 bytes to write to, in place of memory that must not be touched.
  llvm::Value* zeros();
  llvm::Value* sink();
  /// Room for the index of an access that is reported.
  llvm::AllocaInst* reported_index();

 private:
  llvm::AllocaInst* zeros_ = nullptr;
  llvm::AllocaInst* sink_ = nullptr;
  llvm::AllocaInst* reported_index_ = nullptr;
};

}  // namespace tokamak::codegen
