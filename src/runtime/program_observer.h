#pragma once

#include "runtime/block_step.h"
#include "tokamak/errors.h"

namespace tokamak {

/// Looks at the memory of a program while it runs, and throws what it finds.
class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;

  virtual void after_step(size_t step, const BlockMemory& memory) const = 0;
  virtual void after_run(const BlockMemory& memory) const = 0;
};

}  // namespace tokamak
