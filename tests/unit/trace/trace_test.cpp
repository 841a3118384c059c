#include "trace/trace.h"

#include <thread>

#include "ir/text.h"
#include "trace/apply.h"
#include "trace/location.h"
#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::counting;
using testing::expect_error;

std::vector<std::string> compute_ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    const OpFamily family = family_of(node.op);
    if (family != OpFamily::Source && family != OpFamily::View) names.emplace_back(name_of(node.op));
  }
  return names;
}

Graph traced(const std::function<Array(Array)>& function, TensorType type) {
  auto trace = Trace::start("f");
  const Array result = function(trace->parameter("x", std::move(type)));
  return trace->finish({{result}});
}

using Names = std::vector<std::string>;

TEST(Trace, RecordsNoMoreThanIsSaid) {
  const TensorType matrix{DType::f32, {4, 8}};
  EXPECT_EQ(compute_ops(traced([](Array x) { return relu(x); }, matrix)), (Names{"max"}));
  EXPECT_EQ(compute_ops(traced([](Array x) { return softmax(x); }, matrix)),
            (Names{"reduce_max", "sub", "exp", "reduce_sum", "div"}));
  EXPECT_EQ(compute_ops(traced([](Array x) { return sum(relu(x * 2 + 1)); }, matrix)),
            (Names{"mul", "add", "max", "reduce_sum"}));
  EXPECT_EQ(compute_ops(traced(
                [](Array x) {
                  return at(transpose(x), {Range{1, -1}}) + zeros({4}, DType::f32);
                },
                matrix)),
            (Names{"add"}));
  EXPECT_EQ(compute_ops(traced([](Array x) { return reshape(x, {4, 8}); }, matrix)), Names{});
}

TEST(Trace, IsTheTextOfTheFunction) {
  const Graph graph = traced([](Array x) { return maximum(x * x, 0); }, {DType::f32, {8}});
  EXPECT_EQ(print(graph), "func @f(%x: f32[8]) {\n  %0 = mul %x, %x\n  %1 = max %0, 0.0\n  return %1\n}\n");
}

TEST(Trace, DropsWhatOnlyKeepsTrackAndIsNotNeeded) {
  const std::shared_ptr<Trace> trace = Trace::start("f");
  const Array x = trace->parameter("x", {DType::f32, {4}});
  const Array y = exp(x);
  const Array dead = exp(y);
  Trace::set_tracking(true);
  const Array kept = y + 1.0F;
  const Array dropped = sqrt(kept) * 2.0F;
  Trace::set_tracking(false);
  const Array result = kept + y;
  EXPECT_EQ(print(trace->finish({{result}})),
            "func @f(%x: f32[4]) {\n  %0 = exp %x\n  %1 = exp %0\n  %2 = add %0, 1.0\n  %3 = add %2, %0\n"
            "  return %3\n}\n");
}

TEST(Trace, NodesKnowTheLine) {
  uint32_t first = 0;
  const Graph graph = traced(
      [&](Array x) {
        first = __LINE__ + 1;
        Array y = x + 1;
        Array z = y * y - 2;
        return softmax(z);
      },
      {DType::f32, {8}});
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::parameter) continue;
    const uint32_t line = node.op == Op::add                         ? first
                          : node.op == Op::mul                       ? first + 1
                          : node.op == Op::exp || node.op == Op::div ? first + 2
                                                                     : node.where.line;
    EXPECT_EQ(node.where.line, line) << name_of(node.op);
    EXPECT_NE(node.where.file.find("trace_test.cpp"), std::string::npos) << node.where.file;
  }
}

TEST(Trace, AnotherLanguageMayKnowTheLine) {
  set_location_provider([] { return SourceLocation{"model.py", 12, 0, "forward"}; });
  const Graph graph = traced([](Array x) { return gelu(x); }, {DType::f32, {8}});
  expect_error<UserError>([] { counting({2}) + counting({3}); }, "at model.py:12, in forward", 12);
  set_location_provider(nullptr);
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::parameter) continue;
    EXPECT_EQ(node.where.file, "model.py") << name_of(node.op);
  }
}

TEST(Trace, CapturesArraysOnce) {
  const Array big = counting({1000});
  auto trace = Trace::start("f");
  const Array x = trace->parameter("x", big.type());
  const Array y = (x + big) * transpose(big) + big;
  EXPECT_EQ(trace->captured_bytes(), 8000u);  // the transpose of a vector is the vector
  const Graph graph = trace->finish({{y, big}});
  int constants = 0;
  for (const Node& node : graph.nodes()) constants += node.op == Op::constant;
  EXPECT_EQ(constants, 1);
}

TEST(Trace, ItsValuesEndWithIt) {
  Array leaked;
  traced([&](Array x) { return leaked = x + 1; }, {DType::f32, {8}});
  expect_error<UserError>([&] { leaked + 1; },
                          "add: an operand is a traced value of 'f', whose tracing is over", __LINE__);
  traced(
      [&](Array x) {
        expect_error<UserError>([&] { x + leaked; }, "add: an operand is a traced value of 'f'", __LINE__);
        return x;
      },
      {DType::f32, {8}});
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(Trace, ValuesOfTwoDoNotMix) {
  traced(
      [&](Array x) {
        auto inner = Trace::start("g");
        const Array y = inner->parameter("y", x.type());
        expect_error<UserError>([&] { y* x; }, "mul: operands belong to two functions", __LINE__);
        inner->abandon();
        return x;
      },
      {DType::f32, {8}});
}

TEST(Trace, BelongsToItsThread) {
  traced(
      [&](Array x) {
        std::thread([&] { expect_error<UserError>([&] { x + 1; }, "another thread", __LINE__); }).join();
        return x;
      },
      {DType::f32, {8}});
}

TEST(Trace, HasNoElements) {
  traced(
      [&](Array x) {
        expect_error<UserError>([&] { x.data(); }, "data: f32[8] is being traced", __LINE__);
        expect_error<UserError>([&] { x.item<float>(); }, "return it from the function given to jit",
                                __LINE__);
        expect_error<UserError>([&] { x.to_vector<float>(); }, "to_vector: f32[8] is being traced", __LINE__);
        return x;
      },
      {DType::f32, {8}});
}

}  // namespace
}  // namespace tokamak
