#pragma once

#include <vector>

#include "ir/graph.h"

namespace tokamak {

/// Two products with a softmax between them: the first makes a score for each query and key, the second
/// weighs values with what becomes of the scores.
struct Attention {
  Value scores;
  Value mixed;
  size_t weights;      ///< the operand of `mixed` that comes from the scores
  bool keys_are_rows;  ///< of the scores, while the queries are their columns
};

/// Every attention of a graph, in the order of its last products. Between the products are element-wise
/// operations, an exponential among them, and views that change the order of axes or add some of extent 1;
/// something of it is reduced.
std::vector<Attention> find_attention(const Graph& graph);

}  // namespace tokamak
