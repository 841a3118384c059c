#pragma once

#include "loops/nest.h"

namespace tokamak {

/// Whether the kernel may write `output` over the memory of `input`: it reads every element of the input only
/// where, and before, it writes the same element of the output.
bool may_overwrite(const LoopKernel& kernel, BufferId output, BufferId input);

}  // namespace tokamak
