#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "driver/assemble.h"
#include "driver/kernel_cache.h"
#include "fusion/fuse.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "support/cpu.h"
#include "tokamak/explanation.h"

namespace tokamak {

/// How reports print graphs, with names that last from the trace to the program where they are given.
inline constexpr PrintOptions kForPeople{.types = false, .locations = false, .max_constant_elements = 16};
inline PrintOptions for_people(const std::vector<std::string>& names) {
  PrintOptions options = kForPeople;
  options.names = &names;
  return options;
}

/// Times the stages of a compilation, for its explanation and for profiles, which use the same clock.
class StageClock {
 public:
  /// Says that the stage that began with the last call (or the making of the clock) is over.
  void finish(const char* stage);
  const std::vector<StageTime>& times() const { return times_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<StageTime> times_;
};

/// Keeps and logs what every pass did, from when it is made to when the pipeline has run.
class PassJournal {
 public:
  /// Adds itself to the options, and stays where it is while they are used. `keeps_graphs`: as text, after
  /// each pass that changed something; then a pass that changed nothing of the text, as one that merges equal
  /// numbers, is said to have changed nothing.
  PassJournal(PipelineOptions& options, const Graph& before, const LastingNames& names, bool keeps_graphs);
  PassJournal(const PassJournal&) = delete;
  PassJournal& operator=(const PassJournal&) = delete;

  std::vector<PassReport> passes() const;

 private:
  bool keeps_graphs_;
  std::vector<PassRecord> records_;
  std::vector<std::string> graphs_;  ///< by record, if they are kept; empty where nothing changed
  std::string latest_;               ///< the graph as it was kept last, or before all passes
};

/// How the passes are run for a program.
PipelineOptions pipeline_for(const CompileOptions& options, const Cpu& cpu);

/// What the explanation of a compilation is made from.
struct Journey {
  Graph traced;
  Graph optimized;
  LastingNames names;
  std::vector<PassReport> passes;
  bool has_pass_graphs;  ///< otherwise the passes are run again when somebody wants to see what they did
  std::vector<Layout> layouts;
  CompileOptions options;
  FusionResult fusion;
  std::vector<std::shared_ptr<const CompiledKernel>> kernels;
  Assembled assembled;
  const Cpu& cpu;  ///< one that stays
  int threads;
};

/// Whether the explanation of the program is to be made together with it: somebody wants to see it already,
/// or what it is made from has much memory of its own.
bool is_explained_at_once(const Graph& graph);

std::shared_ptr<Explanation> explain(Journey journey, std::vector<StageTime> times, bool at_once);

/// The layouts of a kernel's inputs: those of the function's parameters, dense for everything the program
/// makes itself.
std::vector<Layout> input_layouts(const Graph& graph, const FusedKernel& kernel,
                                  std::span<const Layout> parameters);

}  // namespace tokamak
