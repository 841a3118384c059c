#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace tokamak {

/// A folded value has at most this many elements, or as many as the largest constant it was made from.
inline constexpr int64_t kFoldResultElements = 4096;
/// Folding reads and writes at most this many elements per node: compiling must stay quick.
inline constexpr int64_t kFoldWorkElements = int64_t{1} << 20;

/// Computes what depends on constants alone, with the interpreter, so that the bits are those of compiled
/// code.
///   %0 = mul f32(2.0), f32(3.0);  %1 = add %x, %0
///   =>  %0 = add %x, 6.0
/// Left alone: iota and broadcast, which are cheaper as index arithmetic than as memory; what would be large;
/// and what fails when computed, such as a checked gather out of range, which is the running program's error
/// to raise.
Graph fold_constants(const Graph& graph, bool fused_multiply_add);

}  // namespace tokamak
