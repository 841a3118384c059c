#pragma once

#include <span>
#include <string>
#include <vector>

#include "fusion/kernel.h"
#include "loops/nest.h"
#include "runtime/checked_access.h"

namespace tokamak {

/// The buffers of a kernel's code, by BufferId: after `own` others come those of `inputs`, then those of the
/// kernel's outputs, then what is nobody's value. `names` are those of the graph's values.
std::vector<BufferSite> buffer_sites(const Graph& graph, const std::vector<std::string>& names,
                                     const FusedKernel& kernel, const LoopKernel& loops,
                                     std::span<const Value> inputs, size_t own);

}  // namespace tokamak
