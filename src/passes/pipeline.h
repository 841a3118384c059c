#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "support/verification.h"

namespace tokamak {

/// One run of one pass.
struct PassRecord {
  std::string name;
  int round = 0;
  double milliseconds = 0;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  bool changed = false;
};

struct PipelineOptions {
  bool as_recorded = false;                   ///< only what kernels cannot do without, nothing for speed
  bool fused_multiply_add = true;             ///< as the CPU the code is for; constants fold with it
  std::vector<std::string> passes;            ///< just these, in this order, once; empty: the whole pipeline
  std::vector<std::string> disabled;          ///< left out
  bool verify = verification_enabled();       ///< re-derive every type after every pass
  std::vector<PassRecord>* record = nullptr;  ///< what ran, appended
  /// Called when the record of the pass is there.
  std::function<void(std::string_view pass, const Graph& graph)> after_pass;
};

struct GraphPass {
  std::string_view name;
  std::string_view summary;
  Graph (*run)(const Graph& graph, const PipelineOptions& options);
  std::optional<OpFamily> about = std::nullopt;  ///< it leaves graphs without these ops as they are
  bool at_the_end = false;  ///< runs once, when the others have settled: they would undo it
};

/// Every pass, in the order of the pipeline.
std::span<const GraphPass> graph_passes();

/// Runs the passes, round after round until one changes nothing, a few rounds at most, and then those for the
/// end. The result knows what became of the values of `graph` (Graph::successor_of). Throws UserError for a
/// pass that does not exist, InternalError for a pass that breaks the graph.
Graph run_pipeline(Graph graph, const PipelineOptions& options = {});

}  // namespace tokamak
