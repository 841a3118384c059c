// Programs as large as they get: nothing overflows the stack, and what compiling costs grows with them.
// Costs are counted as allocations, which are the same on every machine and however busy it is.

#include <gtest/gtest.h>

#include "driver/harness.h"
#include "limits/allocations.h"
#include "passes/pipeline.h"

namespace tokamak::testing {
namespace {

constexpr int64_t kNodes = 100'000;
const TensorType kLine{DType::f64, {8}};

Value number(Graph& graph, double value) { return graph.add_constant(scalar_tensor(DType::f64, value)); }

/// A graph of about so many nodes that applies `step` to x again and again.
template <class Step>
Graph repeated(int64_t nodes, Step step) {
  Graph graph;
  Value x = graph.add_parameter("x", kLine);
  while (static_cast<int64_t>(graph.size()) < nodes) x = step(graph, x);
  graph.set_outputs({x});
  return graph;
}

Graph elementwise(int64_t nodes) {
  return repeated(nodes, [](Graph& graph, Value x) {
    return graph.add(Op::add, {graph.add(Op::mul, {x, number(graph, 0.5)}), number(graph, 0.25)});
  });
}

/// Every value is read twice: there are 2^n ways from the first to the last.
Graph shared(int64_t nodes) {
  return repeated(nodes, [](Graph& graph, Value x) {
    return graph.add(Op::max, {x, graph.add(Op::neg, {x})});
  });
}

Graph views(int64_t nodes) {
  return repeated(nodes, [](Graph& graph, Value x) {
    x = graph.add(Op::reshape, {x}, {{Attr::shape, Ints{2, 4}}});
    x = graph.add(Op::transpose, {x}, {{Attr::permutation, Ints{1, 0}}});
    x = graph.add(Op::reshape, {x}, {{Attr::shape, Ints{8}}});
    return graph.add(Op::reverse, {x}, {{Attr::axes, Ints{0}}});
  });
}

Graph reductions(int64_t nodes) {
  return repeated(nodes, [](Graph& graph, Value x) {
    const Value top = graph.add(Op::reduce_max, {x}, {{Attr::axes, Ints{0}}});
    return graph.add(Op::sub, {x, graph.add(Op::mul, {top, number(graph, 0.5)})});
  });
}

Graph scans(int64_t nodes) {
  return repeated(nodes, [](Graph& graph, Value x) {
    return graph.add(Op::neg, {graph.add(Op::cummax, {x}, {{Attr::axis, int64_t{0}}})});
  });
}

/// One kernel with an output for every 500 nodes asked for.
Graph wide(int64_t nodes) {
  Graph graph;
  const Value x = graph.add_parameter("x", kLine);
  std::vector<Value> outputs;
  for (int64_t i = 0; i < nodes / 500; ++i)
    outputs.push_back(graph.add(Op::add, {x, number(graph, double(i))}));
  graph.set_outputs(outputs);
  return graph;
}

struct Kind {
  const char* name;
  Graph (*make)(int64_t nodes);
  int64_t most = kNodes;  ///< nodes that are compiled
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
constexpr Kind kKinds[] = {{"elementwise", elementwise}, {"shared", shared}, {"views", views},
                           {"reductions", reductions},   {"scans", scans},   {"wide", wide}};

class Limits : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, Limits, ::testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Limits, AHundredThousandNodesAreCompiledAndRun) {
  const Graph graph = GetParam().make(GetParam().most);
  EXPECT_EQ(compare_with_interpreter(graph, 1), "");
}

TEST_P(Limits, AHundredThousandNodesArePrintedAndParsed) {
  const Graph graph = GetParam().make(kNodes);
  const std::string text = print(graph);
  EXPECT_EQ(print(parse_one(text)), text);
}

TEST_P(Limits, CompilingCostsInProportion) {
  auto cost = [&](int64_t nodes) {
    const Graph graph = GetParam().make(nodes);
    const std::vector<Layout> layouts(graph.parameters().size());
    compile(graph, layouts);  // what is made once for all
    const int64_t before = allocations();
    compile(graph, layouts);
    return static_cast<double>(allocations() - before);
  };
  EXPECT_LT(cost(std::min<int64_t>(16'000, GetParam().most)), 10 * cost(2000));  // 8 times as many nodes
}

}  // namespace
}  // namespace tokamak::testing
