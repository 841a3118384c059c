#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Where a result is written into a larger array that is kept, later readers of the result read it back from
/// there. Otherwise they would compute it again: it has no memory of its own.
///   %3 = select %inside, (pad %new), %old;  ... = mul %new, 2.0
///   =>  %3 = select %inside, (pad %new), %old;  %4 = slice %3;  ... = mul %4, 2.0
Graph read_back(const Graph& graph);

}  // namespace tokamak
