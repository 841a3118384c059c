#include "driver/row_code.h"

#include <algorithm>

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
  const int64_t tasks = loops.nests[0].root.extent;
  made.columns_per_task = std::max<int64_t>(block.columns_per_task, 1);
  made.tasks_per_row = (columns + made.columns_per_task - 1) / made.columns_per_task;
  const bool is_empty = rows == 0 || columns == 0;  // whatever tasks there are: none is run
  if (!is_empty && made.tasks_per_row * rows != tasks)
    throw InternalError("products: the tasks of " + loops.name + " are not its rows\n" + print(loops));
  made.code = compile(loops, cpu);
  made.loops = std::make_shared<const LoopKernel>(std::move(loops));
  return made;
}

}  // namespace tokamak
