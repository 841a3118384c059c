#pragma once

#include "runtime/block_step.h"

namespace tokamak {

/// Runs a step whose k is cut into chunks: their sums are made side by side, then added in order.
/// `failed_check` is that of run_block_step.
void run_deep_product(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check);

/// What that takes for all the threads that there are now.
int64_t deep_product_scratch_bytes(const BlockStep& step, const BlockMemory& memory);

}  // namespace tokamak
