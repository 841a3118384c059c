#pragma once

// Kernels that sort, compiled: how the operand is read, and by which method it is sorted.

#include <memory>
#include <string>
#include <vector>

#include "fusion/product.h"
#include "library/sort.h"
#include "support/cpu.h"

namespace tokamak {

struct CompiledSort {
  OperandRead read;
  std::shared_ptr<const SortMethod> method;
  std::vector<int64_t> result_strides;  ///< bytes, by axis of the lines
  int64_t result_stride = 0;            ///< bytes, along a line
  double line_cost = 0;
  std::string description;
};

CompiledSort compile_sort(const FusedKernel& kernel, const Cpu& cpu);

}  // namespace tokamak
