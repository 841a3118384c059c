#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Sorts only as far as is looked at: where slices read all that is read of a sorted array, it becomes the
/// range of the sorted lines that they read. Selecting a range takes one pass over a line, about; sorting
/// takes many.
///   %0 = argsort %x {axis=0};  %1 = slice %0 {starts=[0], limits=[5], steps=[1]}
///   =>  %0 = argsort %x {axis=0, starts=[0], limits=[5]}
Graph narrow_sorts(const Graph& graph);

}  // namespace tokamak
