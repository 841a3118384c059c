#pragma once

#include "loops/nest.h"
#include "support/cpu.h"

namespace tokamak {

/// What one task of a nest does.
struct TaskWork {
  double instructions = 0;  ///< of vectors, without loads and stores
  double accesses = 0;      ///< loads and stores, as so many instructions when the caches have what they want
  double memory_bytes = 0;  ///< of these
  double scratch_bytes = 0;  ///< the same in scratch
};
TaskWork task_work(const LoopKernel& kernel, const Nest& nest, const Cpu& cpu);

/// Nanoseconds that one task of the nest takes on one core: rather too much, for the size of the chunks that
/// threads take. What it will take is in driver/prediction.h.
double task_cost(const LoopKernel& kernel, const Nest& nest, const Cpu& cpu);

}  // namespace tokamak
