#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Whether both have the same nodes in the same order: parameters, operations, operands, attributes, outputs.
/// The users' lines do not count.
bool same_structure(const Graph& a, const Graph& b);

}  // namespace tokamak
