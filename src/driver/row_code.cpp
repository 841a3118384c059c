#include "driver/row_code.h"

#include "loops/walk.h"
#include "support/verification.h"
#include "tokamak/errors.h"

namespace tokamak {

RowCode compile_rows(BlockKernel block, int64_t rows, int64_t columns, CodeOptions code, const Cpu& cpu) {
  LoopKernel& loops = block.scheduled.loops;
  loops.relaxed_math = code.fast_math;
  loops.bounds_checked = code.bounds_checked;
  if (verification_enabled()) verify(loops);
  if (loops.nests.size() != 1) throw InternalError("products: " + loops.name + " has more than one nest");
  RowCode made;
  made.tasks_per_row = rows == 0 ? 1 : loops.nests[0].root.extent / rows;
  made.columns_per_task = block.columns_per_task;
  const int64_t expected = (columns + block.columns_per_task - 1) / block.columns_per_task;
  if (made.tasks_per_row != expected || made.tasks_per_row * rows != loops.nests[0].root.extent)
    throw InternalError("products: the tasks of " + loops.name + " are not its rows\n" + print(loops));
  made.code = compile(loops, cpu);
  made.loops = std::make_shared<const LoopKernel>(std::move(loops));
  return made;
}

}  // namespace tokamak
