#pragma once

#include "codegen/module.h"
#include "loops/nest.h"

namespace tokamak::codegen {

/// "<kernel>_<nest>": the function of a nest, a NestFunction.
std::string nest_symbol(const LoopKernel& kernel, size_t nest);

/// Adds the function of one nest to the module.
void emit_nest(const LoopKernel& kernel, size_t nest, CodeModule& code);

}  // namespace tokamak::codegen
