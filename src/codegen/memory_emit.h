#pragma once

#include "codegen/function_state.h"

namespace tokamak::codegen {

/// The loaded element, uniform or one per lane; zero where the guard does not hold.
llvm::Value* emit_load(FunctionState& f, const Load& load);

/// Stores the lanes that are on.
void emit_store(FunctionState& f, const Store& store);

void emit_transpose(FunctionState& f, const TransposeTile& tile);

/// Asks for the cache lines of all lanes, of which the first lies lowest.
void emit_prefetch(FunctionState& f, const Prefetch& prefetch);

}  // namespace tokamak::codegen
