#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "ops/record.h"
#include "passes/compare.h"
#include "passes/compose_views.h"
#include "passes/eliminate_common.h"
#include "passes/eliminate_dead.h"
#include "passes/expand_products.h"
#include "passes/expand_sums.h"
#include "passes/fold_constants.h"
#include "passes/fold_scales.h"
#include "passes/halve_symmetric.h"
#include "passes/join_in_runs.h"
#include "passes/narrow_sorts.h"
#include "passes/normalise_late.h"
#include "passes/orient_attention.h"
#include "passes/read_back.h"
#include "passes/simplify.h"
#include "passes/split_concatenated.h"

namespace tokamak {
namespace {

/// A rewrite can make room for another, but not often: two rounds settle nearly all programs.
constexpr int kMaxRounds = 4;

constexpr GraphPass kGraphPasses[] = {
    // First: the rules that follow see numbers instead of operations on numbers.
    {"fold-constants", "compute what depends on constants alone",
     [](const Graph& graph, const PipelineOptions& options) {
       return fold_constants(graph, options.fused_multiply_add);
     }},
    // After folding, which makes constants of the factors; before the next round folds them into the weights.
    {"fold-scales", "make the factors of a product part of its constant weights",
     [](const Graph& graph, const PipelineOptions&) { return fold_scales(graph); }, OpFamily::Contract},
    // Before those that look for the weights in the first operand, and for scores that are better not
    // expanded.
    {"orient-attention", "give scores a row for every query, and put weights before values",
     [](const Graph& graph, const PipelineOptions&) { return orient_attention(graph); }, OpFamily::Contract},
    {"normalise-late", "divide by the sums of a softmax after the product that follows",
     [](const Graph& graph, const PipelineOptions&) { return normalise_late(graph); }, OpFamily::Contract},
    // Before the rest: what it writes has views and conversions to simplify.
    {"expand-products", "write products without a matrix on one side as sums",
     [](const Graph& graph, const PipelineOptions& options) {
       return expand_products(graph, options.as_recorded);
     },
     OpFamily::Contract},
    // After those products are expanded that compute a concatenation on the way, and after normalise-late,
    // which
    // knows a softmax by all of its row.
    {"split-concatenated", "multiply few rows with the parts of a concatenation, where these lie",
     [](const Graph& graph, const PipelineOptions&) { return split_concatenated(graph); },
     OpFamily::Contract},
    {"expand-sums", "write short sums for all pairs of something as additions",
     [](const Graph& graph, const PipelineOptions&) { return expand_sums(graph); }, OpFamily::Reduce},
    {"halve-symmetric", "compute one half of a matrix of f16 or bf16 times its own transpose",
     [](const Graph& graph, const PipelineOptions&) { return halve_symmetric(graph); }, OpFamily::Contract},
    // Before the views: where an operand that made the shape goes away, a broadcast comes in its place.
    {"simplify", "algebra that keeps every bit",
     [](const Graph& graph, const PipelineOptions&) { return simplify(graph); }},
    // Before the merging of equal nodes: different chains of views can mean the same elements.
    {"compose-views", "merge views, drop those that change nothing",
     [](const Graph& graph, const PipelineOptions&) { return compose_views(graph); }},
    // After everything that makes equal nodes look equal.
    {"eliminate-common", "merge nodes that compute the same value",
     [](const Graph& graph, const PipelineOptions&) { return eliminate_common(graph); }},
    // After the views, which puts slices next to what they are of, and the merging: one sort for all that
    // look at it.
    {"narrow-sorts", "sort only as far as is looked at",
     [](const Graph& graph, const PipelineOptions&) { return narrow_sorts(graph); }, OpFamily::Sort},
    // Last: sweeps what the others left behind.
    {"eliminate-dead", "drop nodes that no output needs",
     [](const Graph& graph, const PipelineOptions&) { return eliminate_dead(graph); }},
    // When the views are composed, which finds the result behind the array it was written into.
    {.name = "read-back",
     .summary = "read what was written into a larger array from there",
     .run = [](const Graph& graph, const PipelineOptions&) { return read_back(graph); },
     .at_the_end = true},
    // When nobody looks for slices of what is joined any more, nor makes one concatenation of two.
    {.name = "join-in-runs",
     .summary = "join many pieces in runs, and then the runs",
     .run = [](const Graph& graph, const PipelineOptions&) { return join_in_runs(graph); },
     .at_the_end = true},
};

const GraphPass& pass_named(std::string_view name) {
  std::string known;
  for (const GraphPass& pass : kGraphPasses) {
    if (pass.name == name) return pass;
    known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  throw UserError("there is no pass '" + std::string(name) + "'; there are " + known);
}

std::vector<const GraphPass*> chosen_passes(const PipelineOptions& options) {
  std::vector<const GraphPass*> disabled;
  for (const std::string& name : options.disabled) disabled.push_back(&pass_named(name));
  std::vector<const GraphPass*> chosen;
  for (const std::string& name : options.passes) chosen.push_back(&pass_named(name));
  if (options.passes.empty()) {
    for (const GraphPass& pass : kGraphPasses) chosen.push_back(&pass);
  }
  std::erase_if(chosen, [&](const GraphPass* pass) {
    return std::find(disabled.begin(), disabled.end(), pass) != disabled.end();
  });
  return chosen;
}

void verify_after(const GraphPass& pass, const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    throw InternalError("after pass " + std::string(pass.name) + ": " + error.message(), error.where());
  }
}

bool has_work(const GraphPass& pass, const Graph& graph) {
  return !pass.about || std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                    [&](const Node& node) { return family_of(node.op) == *pass.about; });
}

/// One round of passes, each over what the one before it made. `before` stays as it is.
class Round {
 public:
  Round(const Graph& before, int number, const PipelineOptions& options)
      : before_(before), number_(number), options_(options) {}

  void run(const GraphPass& pass) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    std::optional<Graph> made;
    if (has_work(pass, graph())) made = pass.run(graph(), options_);
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    if (options_.verify) verify_after(pass, made ? *made : graph());
    if (options_.record != nullptr) {
      const bool changed = made && !same_structure(graph(), *made);
      options_.record->push_back({std::string(pass.name), number_, time.count(), graph().size(),
                                  made ? made->size() : graph().size(), changed});
    }
    if (made) made_ = std::move(made);
    if (options_.after_pass) options_.after_pass(pass.name, graph());
  }

  /// What the passes made; nullopt when none had work.
  std::optional<Graph> result() { return std::move(made_); }

 private:
  const Graph& graph() const { return made_ ? *made_ : before_; }

  const Graph& before_;
  int number_;
  const PipelineOptions& options_;
  std::optional<Graph> made_;
};

}  // namespace

std::span<const GraphPass> graph_passes() { return kGraphPasses; }

Graph run_pipeline(Graph graph, const PipelineOptions& options) {
  const std::vector<const GraphPass*> passes = chosen_passes(options);
  graph.forget_rewriting();
  const int rounds = options.passes.empty() ? kMaxRounds : 1;
  for (int number = 0; number < rounds; ++number) {
    Round round(graph, number, options);
    for (const GraphPass* pass : passes)
      if (!pass->at_the_end || !options.passes.empty()) round.run(*pass);
    std::optional<Graph> made = round.result();
    if (!made || same_structure(graph, *made)) break;
    graph = std::move(*made);
  }
  if (!options.passes.empty()) return graph;
  Round end(graph, rounds, options);
  for (const GraphPass* pass : passes)
    if (pass->at_the_end) end.run(*pass);
  std::optional<Graph> made = end.result();
  return made ? std::move(*made) : std::move(graph);
}

}  // namespace tokamak
