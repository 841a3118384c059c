#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "driver/assemble.h"
#include "driver/kernel_cache.h"
#include "fusion/fuse.h"
#include "support/cpu.h"
#include "tokamak/explanation.h"

namespace tokamak {

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

/// What the explanation of a compilation is made from.
struct Journey {
  const Graph& traced;
  const Graph& optimized;
  const FusionResult& fusion;
  const std::vector<std::shared_ptr<const CompiledKernel>>& kernels;
  const Assembled& assembled;
  const Cpu& cpu;
  const std::vector<StageTime>& times;
};
std::shared_ptr<const Explanation> explain(const Journey& journey);

/// The layouts of a kernel's inputs: those of the function's parameters, dense for everything the program
/// makes itself.
std::vector<Layout> input_layouts(const Graph& graph, const FusedKernel& kernel,
                                  std::span<const Layout> parameters);

}  // namespace tokamak
