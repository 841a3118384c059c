#pragma once

// Code of kernels that are called for some rows at a time.

#include <cstdint>
#include <memory>

#include "codegen/codegen.h"
#include "schedule/schedule.h"
#include "support/cpu.h"

namespace tokamak {

/// How code is made, besides what it does.
struct CodeOptions {
  bool fast_math = false;
  bool bounds_checked = false;  ///< see LoopKernel
};

struct RowCode {
  std::shared_ptr<const NativeKernel> code;
  std::shared_ptr<const LoopKernel> loops;
  int64_t tasks_per_row = 1;
  int64_t columns_per_task = 1;  ///< the last task of a row may have fewer
};

/// Compiles a kernel whose tasks are those of so many rows and columns.
RowCode compile_rows(BlockKernel block, int64_t rows, int64_t columns, CodeOptions code, const Cpu& cpu);

}  // namespace tokamak
