#pragma once

// One LLVM module being filled: a kernel's functions and the small helpers they share.

#include <llvm/Analysis/InstSimplifyFolder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "codegen/kept_code.h"
#include "ops/scalar_builder.h"
#include "support/cpu.h"

namespace tokamak::codegen {

/// Folds x + 0 and the like as it goes; nothing cleans up afterwards.
using Builder = llvm::IRBuilder<llvm::InstSimplifyFolder>;

struct CodeModule {
  Cpu cpu;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::set<std::string> externals;  ///< what the code calls; see external_address

  /// An empty module for the processor. Without names, values are numbered: faster, less readable.
  CodeModule(const Cpu& cpu, const std::string& name, bool keep_names);

  Builder builder() { return Builder(*context, llvm::InstSimplifyFolder(module->getDataLayout())); }
  llvm::Type* lane_type(Lane lane);
  /// A function of the kernel or a helper, with the attributes all of them have.
  llvm::Function* add_function(const std::string& name, llvm::FunctionType* type, bool internal);

  /// A register full, in memory.
  llvm::GlobalVariable* register_of(llvm::Constant* content);
  /// Of many numbers, lets only those that are used most be kept in registers throughout a loop: where all
  /// were, there would be too few registers left, and loops full of moves between them.
  void leave_numbers_in_memory();
  /// A table in memory, of which entries are loaded one by one.
  llvm::GlobalVariable* table_of(llvm::Constant* entries);

  // Helpers, made when first asked for. LLVM expands the same things in place, and hugely.

  /// (ptr, i64 n) -> the first n elements, zeros behind them.
  llvm::Function* prefix_load(llvm::FixedVectorType* type);
  /// (ptr, vector, i64 n): stores the first n elements.
  llvm::Function* prefix_store(llvm::FixedVectorType* type);
  /// (ptr, <W x i8> mask) -> the elements where the mask is not zero, zeros elsewhere.
  llvm::Function* masked_load(llvm::FixedVectorType* type);
  /// (ptr, vector, <W x i8> mask): stores the elements where the mask is not zero.
  llvm::Function* masked_store(llvm::FixedVectorType* type);
  /// (C function, lanes of each operand..., i64 n): applies it lane by lane; the results replace the first
  /// operand. See lanewise.h.
  llvm::Function* lanewise(const LibmFunction& function);
  void define_lanewise(Lane lane, int arity);
  /// See support/transpose_tile.h.
  llvm::Function* transpose_tile(int64_t element_bytes);
  /// See access_report.h.
  llvm::Function* report_access();
  /// The C function itself.
  llvm::Function* external(const LibmFunction& function);

 private:
  std::map<llvm::Constant*, llvm::GlobalVariable*> registers_;
  std::vector<llvm::GlobalVariable*> numbers_;  ///< the same, in the order of their making
  std::map<llvm::Constant*, llvm::GlobalVariable*> tables_;
  llvm::Function* declare_lanewise(int arity, const std::string& name);
};

/// The module as an object file.
ObjectCode object_code(CodeModule& code);

}  // namespace tokamak::codegen
