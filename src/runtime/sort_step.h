#pragma once

// Steps that sort. Lines are shared between the threads; where there are fewer lines than threads, and they
// are long, all threads work on one line after the other.

#include <cstdint>
#include <memory>
#include <vector>

#include "fusion/product.h"
#include "library/sort.h"
#include "runtime/block_step.h"

namespace tokamak {

struct SortStep {
  std::shared_ptr<const SortMethod> method;
  OperandRead read;              ///< its `array` is not used
  Place place;                   ///< of the array
  std::vector<int64_t> strides;  ///< bytes, by axis of the array
  int strided_input = -1;        ///< a program input whose strides are known at run time: those instead
  Place result;                  ///< dense
  std::vector<int64_t> result_strides;  ///< bytes, by axis of the lines
  int64_t result_stride = 0;            ///< bytes, along a line
  double line_cost = 0;                 ///< nanoseconds, roughly
};

void run_sort_step(const SortStep& step, const BlockMemory& memory);

/// What run_sort_step takes for all the threads that there are now.
int64_t sort_scratch_bytes(const SortStep& step, const BlockMemory& memory);

/// What sorting a line costs, in nanoseconds, roughly.
double sort_cost(int64_t length, int64_t key_bytes);

}  // namespace tokamak
