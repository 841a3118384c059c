// Random programs over arguments that lie in memory in random ways.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "interp/interpreter.h"
#include "ir/random_graph.h"
#include "ir/text.h"
#include "native/check.h"
#include "support/cpu.h"

namespace tokamak::testing {
namespace {

/// Longer than vectors, shorter than them, and broadcasting to each other.
const std::vector<Shape> kLongShapes = {{},         {1},        {37},    {5, 37}, {5, 1},  {1, 37},
                                        {2, 5, 37}, {2, 1, 37}, {37, 5}, {70},    {3, 70}, {0, 37}};

std::string check_random_program(uint32_t seed) {
  std::mt19937 random(seed);
  RandomGraphOptions options{.nodes = 8 + static_cast<int>(seed % 12), .exact_only = true};
  if (seed % 2 == 0) options.shapes = kLongShapes;
  const Graph graph = random_graph(seed, options);
  std::vector<Arrangement> arrangements;
  for (size_t i = 0; i < graph.parameters().size(); ++i)
    arrangements.push_back(kArrangements[random() % std::size(kArrangements)]);
  const std::vector<Arranged> arguments = arrange_all(random_arguments(graph, random), arrangements);
  std::vector<Tensor> logical;
  for (const Arranged& argument : arguments) logical.push_back(argument.logical);
  std::string wrong;
  try {
    const std::vector<Tensor> expected = interpret(graph, logical, current_cpu().fma);
    const Compiled compiled = compile_for(graph, arguments, {.fuse = seed % 8 > 1});
    const std::vector<Tensor> found = run(*compiled.program, arguments);
    for (size_t i = 0; i < expected.size() && wrong.empty(); ++i) {
      wrong = compare(found[i], expected[i]);
      if (!wrong.empty()) wrong = "output " + std::to_string(i) + ": " + wrong;
    }
  } catch (const Error& error) {
    wrong = error.what();
  }
  if (wrong.empty()) return wrong;
  wrong += "\n" + print(graph);
  for (Arrangement arrangement : arrangements) wrong += std::string(name_of(arrangement)) + " ";
  return wrong;
}

/// TOKAMAK_FUZZ_SECONDS asks for more than the few seconds of an ordinary run, TOKAMAK_FUZZ_SEED for other
/// programs.
TEST(Fuzz, RandomProgramsAgreeWithTheInterpreter) {
  const char* asked_seconds = std::getenv("TOKAMAK_FUZZ_SECONDS");
  const char* asked_seed = std::getenv("TOKAMAK_FUZZ_SEED");
  const std::chrono::duration<double> budget(asked_seconds == nullptr ? 4.0 : std::atof(asked_seconds));
  const auto first = static_cast<uint32_t>(asked_seed == nullptr ? 1000 : std::atoi(asked_seed));
  const auto start = std::chrono::steady_clock::now();
  uint32_t seed = first;
  for (; seed == first || std::chrono::steady_clock::now() - start < budget; ++seed) {
    ASSERT_EQ(check_random_program(seed), "") << "seed " << seed;
    if (asked_seconds == nullptr && seed - first == 400) break;
  }
  RecordProperty("programs", static_cast<int>(seed - first));
}

}  // namespace
}  // namespace tokamak::testing
