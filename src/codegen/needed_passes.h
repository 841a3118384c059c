#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/LegacyPassManager.h>

namespace tokamak::codegen {

/// Hands passes of LLVM's code generator on, but for those that kernels have nothing for. Each of them would
/// look at every instruction, and ask for analyses that nobody else needs.
class NeededPasses final : public llvm::legacy::PassManagerBase {
 public:
  explicit NeededPasses(llvm::legacy::PassManagerBase& to) : to_(to) {}

  void add(llvm::Pass* pass) override;

 private:
  llvm::legacy::PassManagerBase& to_;
};

/// The passes that are left out, as LLVM's command line names them.
llvm::ArrayRef<llvm::StringRef> passes_left_out();

}  // namespace tokamak::codegen
