#pragma once

#include "runtime/block_step.h"

namespace tokamak {

/// Runs a step whose k is cut into chunks: their sums are made side by side, then added in order.
void run_deep_product(const BlockStep& step, const BlockMemory& memory);

}  // namespace tokamak
