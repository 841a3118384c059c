#pragma once

#include "fusion/kernel.h"
#include "ir/layout.h"
#include "loops/builder.h"

namespace tokamak {

/// Adds a buffer for every parameter of the body, then for every output. Slots for run-time strides follow
/// the parameters: a parameter that is not dense takes one per axis.
void add_kernel_buffers(const FusedKernel& fused, const std::vector<Layout>& layouts, NestBuilder& builder);

}  // namespace tokamak
