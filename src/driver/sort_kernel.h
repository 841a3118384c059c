#pragma once

// Kernels that sort, compiled: how the operand is read, and by which method it is sorted.

#include <string>

#include "fusion/kernel.h"
#include "runtime/sort_step.h"
#include "support/cpu.h"

namespace tokamak {

struct CompiledSort {
  SortStep step;  ///< without the places of its memory, as if the operand were dense
  std::string description;
};

CompiledSort compile_sort(const FusedKernel& kernel, const Cpu& cpu);

}  // namespace tokamak
