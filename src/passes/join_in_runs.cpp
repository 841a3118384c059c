#include "passes/join_in_runs.h"

#include <algorithm>

#include "ops/index.h"

namespace tokamak {
namespace {

using rules::kMostPieces;

constexpr int64_t kSmallBytes = 4 << 20;
constexpr size_t kVeryMany = 4 * kMostPieces;

bool is_joined_in_runs(const Node& node) {
  const size_t pieces = node.inputs.size();
  return node.op == Op::concatenate && pieces > kMostPieces &&
         (node.type.bytes() <= kSmallBytes || pieces > kVeryMany);
}

}  // namespace

Graph join_in_runs(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (!is_joined_in_runs(node)) {
      rewriter.copy(value);
      continue;
    }
    std::vector<Value> pieces = rewriter(node.inputs);
    while (pieces.size() > 1) {
      std::vector<Value> runs;
      for (size_t first = 0; first < pieces.size(); first += kMostPieces) {
        const size_t end = std::min(first + kMostPieces, pieces.size());
        std::vector<Value> run(pieces.begin() + static_cast<int64_t>(first),
                               pieces.begin() + static_cast<int64_t>(end));
        runs.push_back(run.size() == 1
                           ? run[0]
                           : rewriter.graph().add(Op::concatenate, run, node.attributes, node.where));
      }
      pieces = std::move(runs);
    }
    rewriter.map(value, pieces[0]);
  }
  return rewriter.finish();
}

}  // namespace tokamak
