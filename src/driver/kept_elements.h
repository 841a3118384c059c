#pragma once

#include <optional>
#include <vector>

#include "loops/nest.h"

namespace tokamak {

/// An input that lies where an output does: element 0 of the output is element `offset` of the input.
struct InputBelow {
  BufferId buffer;
  int64_t offset = 0;
};

/// The kernel as it is when `output` lies where the inputs do: elements that would be given back as they were
/// are not stored. Nothing where there are none.
///   v0 = %a0[i];  v3 = select v1, v2, v0;  %out0[i] = v3   =>   ...  %out0[i] = v2 where v1
///   v0 = %a0[i];  %out0[i] = v0                            =>   nothing
/// What may_overwrite allows is presupposed. A nest that does nothing but copy stays: running it is up to the
/// program (Program::Step::copy).
std::optional<LoopKernel> without_kept_elements(const LoopKernel& kernel, BufferId output,
                                                const std::vector<InputBelow>& inputs);

}  // namespace tokamak
