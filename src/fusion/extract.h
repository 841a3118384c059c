#pragma once

#include <span>
#include <vector>

#include "fusion/groups.h"

namespace tokamak {

/// The kernels that are needed for `roots`, each cut out as a graph of its own. Values that every reader
/// computes again are never stored, and groups that nothing is needed from disappear.
std::vector<FusedKernel> extract_kernels(const Groups& state, std::span<const Value> roots);

}  // namespace tokamak
