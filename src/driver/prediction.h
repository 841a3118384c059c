#pragma once

// What a kernel will take, from what it does and from what the machine can do. Rough: within a factor of two
// for most.

#include "driver/kernel_cache.h"
#include "runtime/roofline.h"
#include "support/cpu.h"
#include "tokamak/explanation.h"

namespace tokamak {

/// The arithmetic of a kernel, its loads and stores included: as many multiplications and additions of f32 as
/// a core can do in the time that it takes, where memory does not hold it up.
double work_of(const CompiledKernel& kernel, int64_t tasks, const Cpu& cpu);

/// With the threads that the roofline is for.
double predicted_seconds(const KernelReport& kernel, const Roofline& roofline);

}  // namespace tokamak
