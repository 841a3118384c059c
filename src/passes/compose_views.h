#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Merges views with the views they look through, drops those that change nothing, and lets readers look past
/// them.
///   %0 = transpose %x {permutation=[1,0]};  %1 = transpose %0 {permutation=[1,0]};  %2 = exp %1
///   =>  %2 = exp %x
///   %0 = broadcast %b {shape=[4,8]};  %1 = add %x, %0
///   =>  %1 = add %x, %b
///   %0 = concatenate %a, %b {axis=0};  %1 = slice %0 ...   (of elements of %b)
///   =>  %1 = slice %b ...
/// What becomes unused stays for eliminate_dead. The rules are in views/, by the operation they start from.
Graph compose_views(const Graph& graph);

}  // namespace tokamak
