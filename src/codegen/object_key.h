#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/digest.h"
#include "loops/nest.h"
#include "support/cpu.h"

namespace tokamak::codegen {

/// All that the object code of a kernel depends on: the loops, the processor with its features, the parts
/// that are turned off, this build of Tokamak and that of LLVM. None where it cannot be known which build
/// this is.
std::optional<Digest> object_key(const LoopKernel& kernel, const Cpu& cpu);

/// The loops alone: equal ones have equal code.
std::string fingerprint_of(const LoopKernel& kernel);

/// The same for code that is not a kernel's and is always the same, by its name.
std::optional<Digest> object_key(std::string_view name, const Cpu& cpu);

}  // namespace tokamak::codegen
