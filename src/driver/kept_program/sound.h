#pragma once

#include "runtime/program.h"

namespace tokamak::kept {

/// Whether everything that a program refers to by number is there. What a process has kept always is so; it
/// is asked of whatever else has the right checksum.
bool is_sound(const Program& program);

}  // namespace tokamak::kept
