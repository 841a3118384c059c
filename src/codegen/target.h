#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "support/cpu.h"

namespace tokamak::codegen {

/// Sets what a module for the processor starts with: its triple and data layout.
void set_target(llvm::Module& module, const Cpu& cpu);

/// The instruction sets of the processor beyond those its name implies, as LLVM writes them.
std::string target_features(const Cpu& cpu);

/// The module as an object file or as assembly.
llvm::SmallVector<char, 0> machine_code(llvm::Module& module, const Cpu& cpu, llvm::CodeGenFileType kind);

}  // namespace tokamak::codegen
