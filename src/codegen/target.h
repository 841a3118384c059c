#pragma once

#include <llvm/Target/TargetMachine.h>

#include "support/cpu.h"

namespace tokamak::codegen {

/// The code generator for a processor; one per thread and processor, kept for the life of the thread.
llvm::TargetMachine& target_machine(const Cpu& cpu);

}  // namespace tokamak::codegen
