#pragma once

#include "codegen/function_state.h"

namespace tokamak::codegen {

/// The loaded element, uniform or one per lane; zero where the guard does not hold.
llvm::Value* emit_load(FunctionState& f, const Load& load);

/// Stores the lanes that are on.
void emit_store(FunctionState& f, const Store& store);

}  // namespace tokamak::codegen
