#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Algebra that keeps every bit, by the rules of rules/.
///   %0 = neg %y;  %1 = sub %x, %0;  %2 = div %1, 4.0
///   =>  %0 = neg %y;  %1 = add %x, %y;  %2 = mul %1, 0.25
/// What becomes unused stays for eliminate_dead.
Graph simplify(const Graph& graph);

}  // namespace tokamak
