#pragma once

#include "loops/lower.h"

namespace tokamak {

/// Lowers a kernel whose one operation is a scatter, in two nests: the operand is copied, then the updates go
/// in, in order.
LoopKernel lower_scatter(const FusedKernel& kernel, const std::vector<Layout>& layouts);

}  // namespace tokamak
