// What random graphs are made of.

#include <gtest/gtest.h>

#include <array>

#include "ir/random_graph.h"
#include "ops/record.h"

namespace tokamak {
namespace {

TEST(RandomGraphs, HaveEveryOpOnEveryDTypeItTakes) {
  std::array<std::array<int, std::size(kAllDTypes)>, kOpCount> seen = {};
  for (uint32_t seed = 0; seed < 12000; ++seed) {
    const Graph graph = testing::random_graph(seed, {.nodes = 30, .idioms = 10, .checks = true});
    for (const Node& node : graph.nodes()) {
      if (node.inputs.empty()) {
        ++seen[static_cast<size_t>(node.op)][static_cast<size_t>(node.type.dtype)];
      } else {  // of select, the branches
        const DType dtype = graph.type_of(node.op == Op::select ? node.inputs[1] : node.inputs[0]).dtype;
        ++seen[static_cast<size_t>(node.op)][static_cast<size_t>(dtype)];
      }
    }
  }
  for (size_t op = 0; op < kOpCount; ++op) {
    for (DType dtype : kAllDTypes) {
      const OpRecord& record = record_of(static_cast<Op>(op));
      if (contains(record.dtypes, dtype)) {
        EXPECT_GT(seen[op][static_cast<size_t>(dtype)], 0) << name_of(record.op) << " of " << name_of(dtype);
      }
    }
  }
}

TEST(RandomGraphs, AreTheSameForTheSameSeed) {
  const testing::RandomGraphOptions options{.nodes = 30, .idioms = 20, .checks = true};
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Graph once = testing::random_graph(seed, options);
    const Graph again = testing::random_graph(seed, options);
    ASSERT_EQ(once.size(), again.size());
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(once.nodes()[i].op, again.nodes()[i].op);
      EXPECT_EQ(once.nodes()[i].attributes, again.nodes()[i].attributes);
      EXPECT_EQ(once.nodes()[i].inputs, again.nodes()[i].inputs);
    }
  }
}

}  // namespace
}  // namespace tokamak
