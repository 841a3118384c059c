#pragma once

// C functions applied to every lane of a vector: the rare ways out of vector code (a sine of 1e30), and the
// functions that have no vector code.
//
// The functions that do it are generated once per process and linked to every kernel that needs them. They
// preserve all registers, so that a call which almost never happens costs the loop around it nothing, and a
// kernel with such calls takes no longer to compile.

#include <string>

#include "ops/scalar_builder.h"
#include "support/cpu.h"

namespace tokamak::codegen {

std::string lanewise_symbol(Lane lane, int arity);

/// The function behind the symbol, for a processor; generated when first asked for.
void* lanewise_address(Lane lane, int arity, const Cpu& cpu);

}  // namespace tokamak::codegen
