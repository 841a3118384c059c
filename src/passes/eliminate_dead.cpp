#include "passes/eliminate_dead.h"

namespace tokamak {

Graph eliminate_dead(const Graph& graph) {
  std::vector<bool> needed(graph.size(), false);
  for (Value output : graph.outputs()) needed[index_of(output)] = true;
  for (size_t i = graph.size(); i-- > 0;) {  // readers come after what they read
    if (!needed[i]) continue;
    for (Value input : graph.nodes()[i].inputs) needed[index_of(input)] = true;
  }

  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    if (needed[i]) rewriter.copy(static_cast<Value>(i));
  }
  return rewriter.finish();
}

}  // namespace tokamak
