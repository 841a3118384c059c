// What compiling costs as programs grow.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/harness.h"
#include "driver/report.h"

namespace tokamak {
namespace {

const TensorType kLine{DType::f64, {64}};

Value number(Graph& graph, double value) { return graph.add_constant(scalar_tensor(DType::f64, value)); }

/// x = x * 0.5 + 0.25, over and over.
Graph long_chain(int64_t steps) {
  Graph graph;
  Value x = graph.add_parameter("x", kLine);
  const Value half = number(graph, 0.5);
  const Value quarter = number(graph, 0.25);
  for (int64_t i = 0; i < steps; ++i) x = graph.add(Op::add, {graph.add(Op::mul, {x, half}), quarter});
  graph.set_outputs({x});
  return graph;
}

/// Steps that no kernel has two of, with another row and another number each.
Graph steps_over_rows(int64_t steps) {
  Graph graph;
  const Value rows = graph.add_parameter("rows", {DType::f64, {steps, 64}});
  Value x = graph.add_parameter("x", kLine);
  for (int64_t i = 0; i < steps; ++i) {
    const Value part =
        graph.add(Op::slice, {rows},
                  {{Attr::starts, Ints{i, 0}}, {Attr::limits, Ints{i + 1, 64}}, {Attr::steps, Ints{1, 1}}});
    const Value row = graph.add(Op::reshape, {part}, {{Attr::shape, Ints{64}}});
    x = graph.add(Op::add, {graph.add(Op::mul, {x, number(graph, 1.0 / static_cast<double>(i + 2))}), row});
    x = graph.add(Op::cumsum, {x}, {{Attr::axis, int64_t{0}}});
    x = graph.add(Op::reverse, {x}, {{Attr::axes, Ints{0}}});
  }
  graph.set_outputs({x});
  return graph;
}

/// Rows that are computed, and joined to a matrix: what writing them one by one to an array comes to.
Graph joined_rows(int64_t rows) {
  Graph graph;
  const Value x = graph.add_parameter("x", {DType::f64, {1, 100}});
  std::vector<Value> pieces;
  for (int64_t i = 0; i < rows; ++i) {
    const Value scaled = graph.add(Op::mul, {x, number(graph, static_cast<double>(i + 2))});
    pieces.push_back(graph.add(Op::add, {scaled, number(graph, 1)}));
  }
  graph.set_outputs({graph.add(Op::concatenate, pieces, {{Attr::axis, int64_t{0}}})});
  return graph;
}

/// Two kernels a step, which have the same number as all others.
Graph steps_with_one_number(int64_t steps) {
  Graph graph;
  Value x = graph.add_parameter("x", kLine);
  for (int64_t i = 0; i < steps; ++i) {
    x = graph.add(Op::sort, {x}, {{Attr::axis, int64_t{0}}});
    x = graph.add(Op::mul, {x, number(graph, 0.5)});
  }
  graph.set_outputs({x});
  return graph;
}

template <class Work>
double seconds_of(Work work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

double seconds_to_compile(const Graph& graph) {
  return seconds_of([&] { compile(graph, std::vector<Layout>(graph.parameters().size()), {}); });
}

double seconds_to_explain(const Graph& graph) {
  return seconds_of([&] {
    const Compiled compiled = compile(graph, std::vector<Layout>(graph.parameters().size()), {});
    EXPECT_FALSE(compiled.explanation->operations().empty());
  });
}

TEST(Growth, GraphsOfAHundredThousandNodes) {
  EXPECT_EQ(testing::compare_with_interpreter(long_chain(50'000), 1), "");
}

TEST(Growth, TimeGrowsWithTheProgram) {
  for (const auto& make : {long_chain, steps_over_rows}) {
    const double once = seconds_to_compile(make(500));
    const double eight_times = seconds_to_compile(make(4000));
    EXPECT_LT(eight_times, 24 * once + 0.05);  // in proportion it would be 8 times, with the square 64 times
  }
}

TEST(Growth, TimeGrowsWithTheExplanation) {
  const double once = seconds_to_explain(steps_with_one_number(1000));
  const double eight_times = seconds_to_explain(steps_with_one_number(8000));
  EXPECT_LT(eight_times, 24 * once + 0.05);
}

/// Numbers are no large constants, however many there are: whole programs with them are kept.
TEST(Growth, ProgramsOfManyNumbersAreExplainedWhenSomebodyAsks) {
  EXPECT_FALSE(is_explained_at_once(steps_with_one_number(20'000)));
}

TEST(Growth, StepsThatDifferInRowsAndNumbersShareTheirCode) {
  const Graph graph = steps_over_rows(200);
  EXPECT_EQ(testing::compare_with_interpreter(graph, 2), "");
  const std::vector<Layout> layouts(graph.parameters().size());
  const Compiled compiled = compile(graph, layouts, {});
  std::vector<std::string> codes;
  for (const KernelReport& kernel : compiled.explanation->kernels()) codes.push_back(kernel.loops);
  EXPECT_GE(codes.size(), 100u);
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  EXPECT_LE(codes.size(), 4u);
}

/// The loops of a kernel do not get longer with the rows, nor are there more different ones.
TEST(Growth, ManyPiecesAreJoinedByKernelsThatShareTheirCode) {
  const Graph graph = joined_rows(1500);
  EXPECT_EQ(testing::compare_with_interpreter(graph, 2), "");
  const Compiled compiled = compile(graph, std::vector<Layout>(1), {});
  std::set<std::string> codes;
  for (const KernelReport& kernel : compiled.explanation->kernels()) codes.insert(kernel.loops);
  EXPECT_LE(codes.size(), 6u);
  for (const std::string& code : codes) EXPECT_LE(std::ranges::count(code, '\n'), 700);
}

}  // namespace
}  // namespace tokamak
