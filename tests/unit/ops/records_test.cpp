// The table of records, the cost model and the verifier.

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ops/record.h"

namespace tokamak {
namespace {

TEST(Records, EveryOpHasItsOwn) {
  for (size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_EQ(record_of(op).op, op);
    EXPECT_NE(record_of(op).type, nullptr) << name_of(op);
    EXPECT_EQ(record_of(op).scalar != nullptr, family_of(op) == OpFamily::Elementwise) << name_of(op);
    EXPECT_LT(record_of(op).test.low, record_of(op).test.high) << name_of(op);
  }
}

TEST(Records, EveryElementwiseOpHasScalarCodeForItsDTypes) {
  for (size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (family_of(op) != OpFamily::Elementwise) continue;
    for (DType operand : kAllDTypes) {
      if (!contains(record_of(op).dtypes, operand)) continue;
      for (DType result : kAllDTypes) {
        if (op != Op::convert && result != operand) continue;
        EXPECT_GE(scalar_cost(op, operand, result), 0) << name_of(op) << " of " << name_of(operand);
      }
    }
  }
}

TEST(Cost, OrdersOpsSensibly) {
  EXPECT_EQ(scalar_cost(Op::add, DType::f32, DType::f32), 1);
  EXPECT_EQ(scalar_cost(Op::neg, DType::f64, DType::f64), 1);
  EXPECT_GT(scalar_cost(Op::div, DType::f32, DType::f32), scalar_cost(Op::mul, DType::f32, DType::f32));
  EXPECT_GT(scalar_cost(Op::exp, DType::f32, DType::f32), scalar_cost(Op::div, DType::f32, DType::f32));
  EXPECT_GT(scalar_cost(Op::add, DType::bf16, DType::bf16), scalar_cost(Op::add, DType::f32, DType::f32));
  EXPECT_EQ(scalar_cost(Op::convert, DType::i32, DType::u32), 0);
}

TEST(Verify, AcceptsWhatGraphMakes) {
  Graph graph("f");
  const Value x = graph.add_parameter("x", {DType::f32, {4, 8}});
  const Value one = graph.add_constant(scalar_tensor(DType::f32, 1.0));
  const Value sum = graph.add(Op::add, {x, one});
  graph.set_outputs({graph.add(Op::reduce_sum, {sum}, {{Attr::axes, Ints{1}}})});
  EXPECT_NO_THROW(verify(graph));
}

TEST(Verify, RefusesAnOutputThatDoesNotExist) {
  Graph graph("f");
  graph.add_parameter("x", {DType::f32, {4}});
  graph.set_outputs({static_cast<Value>(7)});
  try {
    verify(graph);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.message(), "invalid graph @f: output %7 is not one of its nodes");
  }
}

/// A pass with a bug, in short.
Node& corrupt(Graph& graph, Value value) { return const_cast<Node&>(graph[value]); }

TEST(Verify, FindsCorruptedNodes) {
  const auto broken = [](auto damage) -> std::string {
    Graph graph("f");
    const Value x = graph.add_parameter("x", {DType::f32, {4}});
    const Value y = graph.add(Op::neg, {x});
    graph.set_outputs({y});
    damage(graph, y);
    try {
      verify(graph);
    } catch (const InternalError& error) {
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(broken([](Graph&, Value) {}), "accepted");
  EXPECT_EQ(broken([](Graph& g, Value y) { corrupt(g, y).type.shape = {5}; }),
            "invalid graph @f, node %1 (neg of f32[5]): its type should be f32[4]");
  EXPECT_EQ(broken([](Graph& g, Value y) { corrupt(g, y).op = Op::bit_not; }),
            "invalid graph @f, node %1 (bit_not of f32[4]): bit_not: f32[4] is not an integer or bool type");
  EXPECT_EQ(broken([](Graph& g, Value y) { corrupt(g, y).inputs = {y}; }),
            "invalid graph @f, node %1 (neg of f32[4]): operand %1 does not come before it");
  EXPECT_EQ(broken([](Graph& g, Value y) { corrupt(g, y).inputs = {}; }),
            "invalid graph @f, node %1 (neg of f32[4]): neg: takes 1 operand, not 0");
  EXPECT_EQ(
      broken([](Graph& g, Value y) {
        corrupt(g, y).op = Op::parameter;
        corrupt(g, y).inputs = {};
      }),
      "invalid graph @f, node %1 (parameter of f32[4]): a parameter must be in the list of parameters, once");
}

TEST(Graph, RefusesParametersThatCannotBe) {
  Graph graph;
  EXPECT_THROW(graph.add_parameter("x", {DType::f32, {-1}}), UserError);
  EXPECT_THROW(graph.add_parameter("x", {DType::f32, {int64_t{1} << 62, 2}}), UserError);
}

}  // namespace
}  // namespace tokamak
