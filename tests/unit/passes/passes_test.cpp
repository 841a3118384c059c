#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "interp/interpreter.h"
#include "ir/random_graph.h"
#include "ir/text.h"
#include "ops/record.h"
#include "passes/compare.h"
#include "passes/compose_views.h"
#include "passes/eliminate_common.h"
#include "passes/eliminate_dead.h"
#include "passes/fold_constants.h"
#include "passes/pipeline.h"
#include "passes/simplify.h"

namespace tokamak {
namespace {

using ::testing::HasSubstr;

/// Random programs compute the same after a pass as before it, to the bit.
class PassTest : public ::testing::TestWithParam<size_t> {};

void expect_same_results(const Graph& before, const Graph& after, uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<Tensor> arguments = testing::random_arguments(before, random);
  const std::vector<Tensor> wanted = interpret(before, arguments, true);
  const std::vector<Tensor> got = interpret(after, arguments, true);
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(testing::difference(wanted[i], got[i]), "") << "seed " << seed << ", output " << i << "\n"
                                                          << print(before) << print(after);
  }
}

TEST_P(PassTest, KeepsRandomProgramsExact) {
  const GraphPass& pass = graph_passes()[GetParam()];
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const Graph graph = testing::random_graph(seed, {.nodes = 30, .exact_only = true});
    const Graph result = pass.run(graph, {});
    ASSERT_NO_THROW(verify(result)) << print(graph);
    expect_same_results(graph, result, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PassTest, ::testing::Range<size_t>(0, graph_passes().size()),
                         [](const auto& info) {
                           std::string name(graph_passes()[info.param].name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Pipeline, KeepsRandomProgramsExact) {
  for (uint32_t seed = 10000; seed < 11500; ++seed) {
    const Graph graph = testing::random_graph(seed, {.nodes = 40, .exact_only = true});
    PipelineOptions options;
    options.verify = true;
    const Graph result = run_pipeline(graph, options);
    expect_same_results(graph, result, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Pipeline, KnowsWhatBecameOfValues) {
  size_t known = 0, gone = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Graph before = testing::random_graph(seed, {.nodes = 40, .exact_only = true});
    Graph after = run_pipeline(before);
    std::vector<Value> values, successors;
    for (size_t i = 0; i < before.size(); ++i) {
      const auto value = static_cast<Value>(i);
      const std::optional<Value> successor = after.successor_of(value);
      if (!successor) {
        ++gone;
        continue;
      }
      values.push_back(value);
      successors.push_back(*successor);
      ASSERT_EQ(before.type_of(value), after.type_of(*successor)) << "seed " << seed;
    }
    known += values.size();
    before.set_outputs(std::move(values));
    after.set_outputs(std::move(successors));
    expect_same_results(before, after, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(known, 1000u);
  EXPECT_GT(gone, 1000u);
}

TEST(Pipeline, SettlesOnRandomPrograms) {
  size_t unsettled = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph once = run_pipeline(testing::random_graph(seed, {.nodes = 40}));
    if (!same_structure(once, run_pipeline(once))) ++unsettled;
  }
  EXPECT_LE(unsettled, 3U);
}

TEST(Pipeline, KeepsParametersAndTheirOrder) {
  const Graph graph = parse_one("func @f(%a: f32[2], %b: f32[3], %c: f32[4]) {\n  return %b\n}\n");
  EXPECT_EQ(print(run_pipeline(graph)), print(graph));
}

TEST(Pipeline, RecordsDumpsAndDisables) {
  const Graph graph = parse_one("func @f(%x: f32[4]) {\n %0 = exp %x\n %1 = add %x, -0.0\n return %1\n}");
  std::vector<PassRecord> records;
  int dumps = 0;
  PipelineOptions options;
  options.record = &records;
  options.disabled = {"simplify"};
  options.after_pass = [&](std::string_view, const Graph&) { ++dumps; };
  const Graph result = run_pipeline(graph, options);
  EXPECT_THAT(print(result), HasSubstr("add %x, -0.0"));
  EXPECT_EQ(static_cast<size_t>(dumps), records.size());
  for (const PassRecord& record : records) EXPECT_NE(record.name, "simplify");
  EXPECT_EQ(records[0].nodes_before, graph.size());
  EXPECT_EQ(records.back().nodes_after, result.size());
  for (const PassRecord& record : records)
    EXPECT_EQ(record.changed, record.name == "eliminate-dead" && record.round == 0) << record.name;

  options.disabled = {"no-such-pass"};
  EXPECT_THROW(run_pipeline(graph, options), UserError);
  options.disabled = {};
  options.passes = {"simplify", "eliminate-dead"};
  records.clear();
  EXPECT_EQ(run_pipeline(graph, options).size(), 1U);
  EXPECT_EQ(records.size(), 2U);
}

TEST(Pipeline, KeepsTheUsersLines) {
  const Graph graph =
      parse_one("func @f(%x: f32[4]) {\n %0 = neg %x\n %1 = sub %x, %0\n return %1\n}", "a.tok");
  const Graph result = run_pipeline(graph);
  EXPECT_EQ(result[result.outputs()[0]].where.line, 3U);
}

TEST(FoldConstants, LeavesWhatWouldBeLargeOrFail) {
  const auto folded = [](const std::string& lines) {
    return print(fold_constants(parse_one("func @f(%x: f32[4]) {\n" + lines + "\n}\n"), true));
  };
  EXPECT_THAT(folded("%0 = pad f32(1), f32(0) {low=[], high=[], interior=[]}\n return %0"),
              HasSubstr("return f32(1.0)"));
  EXPECT_THAT(
      folded("%0 = constant f32[1] [1]\n %1 = pad %0, 0 {low=[5000], high=[0], interior=[0]}\n return %1"),
      HasSubstr("pad"));
  EXPECT_THAT(folded("%0 = constant f32[1] [1]\n"
                     "%1 = pad %0, 0 {low=[1000000000000], high=[0], interior=[0]}\n return %1"),
              HasSubstr("pad"));
  EXPECT_THAT(folded("%0 = broadcast f32(1) {shape=[1000000000000]}\n %1 = exp %0\n return %1"),
              HasSubstr("exp"));
  EXPECT_THAT(folded("%0 = constant f32[2] [1, 2]\n %1 = gather %0, i64(7) {axis=0, mode=check}\n return %1"),
              HasSubstr("gather"));
  EXPECT_THAT(folded("%0 = constant f32[2] [1, 2]\n %1 = gather %0, i64(7) {axis=0, mode=clamp}\n return %1"),
              HasSubstr("return f32(2.0)"));
}

double cpu_seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Graph long_chain(int length) {
  Graph graph("chain");
  Value value = graph.add_parameter("x", {DType::f32, {4, 4}});
  const Value zero = graph.add_constant(scalar_tensor(DType::f32, -0.0));
  for (int i = 0; i < length; ++i) {
    switch (i % 6) {
      case 0:
        value = graph.add(Op::transpose, {value}, {{Attr::permutation, Ints{1, 0}}});
        break;
      case 1:
        value = graph.add(Op::add, {value, zero});
        break;
      case 2:
        value = graph.add(Op::neg, {value});
        break;
      case 3:
        value = graph.add(Op::reverse, {value}, {{Attr::axes, Ints{0}}});
        break;
      case 4:
        value = graph.add(Op::reshape, {value}, {{Attr::shape, Shape{16}}});
        break;
      default:
        value = graph.add(Op::reshape, {value}, {{Attr::shape, Shape{4, 4}}});
        break;
    }
  }
  graph.set_outputs({value});
  return graph;
}

TEST(Pipeline, HundredThousandNodesAreQuick) {
  const Graph graph = long_chain(100000);
  const std::clock_t start = std::clock();
  const Graph result = run_pipeline(graph);
  EXPECT_LT(result.size(), graph.size());
  EXPECT_LT(cpu_seconds_since(start), 20);
}

/// A deep nest of concatenations, sliced at every level: each slice may look only so far.
TEST(Pipeline, NestedConcatenationsStayLinear) {
  Graph graph("nest");
  const Value x = graph.add_parameter("x", {DType::f32, {2}});
  Value value = x;
  std::vector<Value> outputs;
  for (int64_t i = 0; i < 20000; ++i) {
    value = graph.add(Op::concatenate, {value, x}, {{Attr::axis, int64_t{0}}});
    if (i % 10 == 0) {
      outputs.push_back(graph.add(
          Op::slice, {value}, {{Attr::starts, Ints{1}}, {Attr::limits, Ints{2}}, {Attr::steps, Ints{1}}}));
    }
  }
  graph.set_outputs(outputs);
  const std::clock_t start = std::clock();
  run_pipeline(graph);
  EXPECT_LT(cpu_seconds_since(start), 10);
}

}  // namespace
}  // namespace tokamak
