#pragma once

#include "ir/graph.h"

namespace tokamak {

/// Turns attention that was written the other way round: scores have a row for every query, and the weights
/// made of them are the first operand of the product with the values. Transposes behind either product come
/// after the element-wise operations that read them, which then are done on blocks of the product.
///   %0 = dot %k, %q {contract: features};  %1 = mul %0, 0.125;  %2 = reduce_max %1 {axes=[0]};  ...
///   %8 = dot %v, %7 {contract: keys}
///   =>  %0 = dot %q, %k;  %1 = mul %0, 0.125;  %2 = transpose %1;  %3 = reduce_max %2 {axes=[0]};  ...
///       %8 = dot %7, %v;  %9 = transpose %8
Graph orient_attention(const Graph& graph);

}  // namespace tokamak
