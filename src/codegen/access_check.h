#pragma once

// Accesses that are looked at before they are made, in kernels with LoopKernel::bounds_checked: one that
// would leave the memory of its buffer is reported, and ends the function. Nothing is emitted in others.

#include <span>

#include "codegen/function_state.h"
#include "codegen/index_emit.h"

namespace tokamak::codegen {

/// What is read or written; the index is for the report.
struct Access {
  BufferId buffer;
  bool writes;
  std::span<const Index> index;
};

/// An element for each lane that is on and satisfies the condition (null: each does).
void check_lanes(FunctionState& f, const Access& access, const Address& address, llvm::Value* condition);

/// `bytes` (i64) from `first` on; nothing where they are 0 or less.
void check_bytes(FunctionState& f, const Access& access, llvm::Value* first, llvm::Value* bytes);

}  // namespace tokamak::codegen
