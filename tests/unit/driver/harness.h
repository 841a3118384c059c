#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/run.h"
#include "interp/interpreter.h"
#include "ir/graph.h"
#include "ir/random_graph.h"
#include "ir/text.h"
#include "support/cpu.h"

namespace tokamak::testing {

/// Compiles for dense arguments and runs.
inline std::vector<Tensor> run_native(const Graph& graph, const std::vector<Tensor>& arguments,
                                      const CompileOptions& options = {}) {
  const std::vector<Layout> layouts(graph.parameters().size());
  const Compiled compiled = compile(graph, layouts, options);
  return run_on_tensors(*compiled.program, arguments);
}

/// Runs the graph natively and by the interpreter; says where the results differ by more than `ulps`, or
/// nothing.
inline std::string compare_with_interpreter(const Graph& graph, uint32_t seed, int64_t ulps = 0,
                                            const CompileOptions& options = {}) {
  std::mt19937 random(seed);
  const std::vector<Tensor> arguments = random_arguments(graph, random);
  const std::vector<Tensor> expected = interpret(graph, arguments, current_cpu().fma);
  const std::vector<Tensor> found = run_native(graph, arguments, options);
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string where = difference(found[i], expected[i], ulps);
    if (!where.empty()) return "output " + std::to_string(i) + ": " + where + "\n" + print(graph);
  }
  return {};
}

inline size_t kernel_count(const std::string& text, bool fuse = true) {
  const Graph graph = parse_one(text);
  const std::vector<Layout> layouts(graph.parameters().size());
  return compile(graph, layouts, {.fuse = fuse}).explanation->kernels().size();
}

}  // namespace tokamak::testing
