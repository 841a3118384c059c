#pragma once

// Steps that run together, a block of tasks after the other, so that what one step writes is still in the
// cache when the next one reads it.

#include <cstdint>
#include <vector>

namespace tokamak {

/// Consecutive steps of a program, each with one nest. Task t of a step belongs to block (t + shift) /
/// block_tasks. A step that shares memory with those before it has a shift that is large enough for all that a
/// block of it reads or overwrites to be written or read by them in the same block, or in those before; one
/// that shares none has none.
///
///   task      0 1 2 3 4 5 6 7 8 9
///   step 0    a a a a b b b b c c
///   step 1    a a a b b b b c c c      reads tasks t - 1 to t + 1 of step 0: shift 1
///   step 2    a a b b b b c c c c
///
/// Blocks run in order of their numbers, several at once: a block begins a step when the block before has
/// ended the one before it.
struct StepChain {
  size_t first;                 ///< step of the program
  std::vector<int64_t> shifts;  ///< by step
  int64_t block_tasks;
  int64_t blocks;

  size_t end() const { return first + shifts.size(); }
};

}  // namespace tokamak
