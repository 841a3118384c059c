#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Multiplies few rows with the two parts of a concatenation, one of which has a single line, where they lie:
/// joining them would copy what the product reads only once. So it is when a token is decoded, and its key
/// and its value come behind those of all before. What is done to the products is done to each, until a
/// reduction or another such product takes both.
///   %0 = concatenate %keys, %key {axis=0};  %1 = dot %q, %0 {rhs_contract=[1]};  %2 = reduce_max %1
///   {axes=[1]}
///   =>  %0 = dot %q, %key;  %1 = dot %q, %keys;  %2 = reduce_max %1;  %3 = max %2, %0
Graph split_concatenated(const Graph& graph);

}  // namespace tokamak
