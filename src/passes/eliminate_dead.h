#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Drops nodes that no output needs. Parameters stay: they are the function's signature.
///   %0 = exp %x;  %1 = add %x, 1.0;  return %1
///   =>  %0 = add %x, 1.0;  return %0
Graph eliminate_dead(const Graph& graph);

}  // namespace tokamak
