#pragma once

#include <memory>
#include <span>

#include "tokamak/types.h"

namespace tokamak {

/// Gets the memory of large results ready while something else goes on: the system clears a fresh page when
/// it is first written, which takes as long as computing what goes there. A thread of its own takes the
/// blocks from the pool, writes to every page, and leaves them there for the run. The destructor waits for
/// it.
class PagePreparation {
 public:
  explicit PagePreparation(std::span<const TensorType> results);
  ~PagePreparation();
  PagePreparation(const PagePreparation&) = delete;
  PagePreparation& operator=(const PagePreparation&) = delete;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace tokamak
