#pragma once

#include <map>
#include <string>

#include "support/cpu.h"

namespace tokamak::codegen {

/// Functions outside of generated code that it calls, by name.
using Externals = std::map<std::string, void*>;

std::string transpose_symbol(int64_t element_bytes);

/// The function that generated code for this processor calls by a name; null if none is called so.
void* external_address(const std::string& name, const Cpu& cpu);

}  // namespace tokamak::codegen
