// What an explanation says of a compilation, as data.

#include "driver/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "driver/compile.h"
#include "ir/text.h"
#include "runtime/roofline.h"
#include "runtime/thread_pool.h"
#include "support/log.h"

namespace tokamak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Explanation explained(const std::string& text, const CompileOptions& options = {}) {
  const Graph graph = parse_one(text, "f.tok");
  const std::vector<Layout> layouts(graph.parameters().size());
  return *compile(graph, layouts, options).explanation;
}

std::vector<std::string> names_of(const std::vector<OperationReport>& operations) {
  std::vector<std::string> names;
  for (const OperationReport& operation : operations) names.push_back(operation.name);
  return names;
}

TEST(Explanation, OperationsAsTracedHaveTheKernelsTheyWentInto) {
  const Explanation e = explained(R"(func @f(%x: f32[64,100], %w: f32[100,8], %y: f32[64,100]) {
  %0 = exp %y
  %1 = neg %x
  %2 = neg %1
  %3 = exp %2
  %4 = exp %x
  %5 = add %3, %4
  %6 = dot %5, %w {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %7 = sort %6 {axis=0}
  return %7
})");
  ASSERT_EQ(e.kernels().size(), 2u);  // the element-wise part is the prologue of the product
  const std::vector<OperationReport>& traced = e.traced();
  EXPECT_THAT(names_of(traced),
              ElementsAre("%x", "%w", "%y", "%0", "%1", "%2", "%3", "%4", "%5", "%6", "%7"));
  EXPECT_EQ(traced[3].becomes, -1);  // dead
  EXPECT_THAT(traced[3].kernels, IsEmpty());
  EXPECT_EQ(traced[4].becomes, -1);                 // -(-x) is x: no need of -x
  EXPECT_EQ(traced[5].becomes, 0);                  // and this is %x
  EXPECT_THAT(traced[4].kernels, IsEmpty());        // its reader is an argument now
  EXPECT_EQ(traced[6].becomes, traced[7].becomes);  // the same exp
  EXPECT_THAT(traced[6].kernels, ElementsAre(0));
  EXPECT_THAT(traced[8].kernels, ElementsAre(0));
  EXPECT_THAT(traced[9].kernels, ElementsAre(0));
  EXPECT_THAT(traced[10].kernels, ElementsAre(1));
  EXPECT_EQ(e.operations()[static_cast<size_t>(traced[9].becomes)].op, "dot");
}

constexpr const char* kSoftmaxAndDead = R"(func @f(%x: f32[64,100], %y: f32[64,100]) {
  %0 = exp %y
  %1 = reduce_max %x {axes=[1]}
  %2 = reshape %1 {shape=[64,1]}
  %3 = sub %x, %2
  %4 = exp %3
  %5 = mul %4, 2.0
  return %5
})";

TEST(Report, TellsOperationsApart) {
  const Explanation e = explained(kSoftmaxAndDead);
  EXPECT_THAT(names_of(e.traced()), ElementsAre("%x", "%y", "%0", "%1", "%2", "%3", "%4", "2.0", "%5"));
  EXPECT_TRUE(e.traced()[1].is_dead);
  EXPECT_TRUE(e.traced()[2].is_dead);
  EXPECT_EQ(e.traced()[2].line.line, 2U);
  EXPECT_FALSE(e.traced()[3].is_dead);
  EXPECT_THAT(names_of(e.operations()), ElementsAre("%x", "%y", "%1", "%2", "%3", "%4", "2.0", "%5"));
  const OperationReport& reshape = e.operations()[3];
  EXPECT_EQ(reshape.text, "reshape %1 {shape=[64,1]}");  // values keep their names
  EXPECT_TRUE(reshape.is_view);
  EXPECT_THAT(reshape.inputs, ElementsAre(2));
  EXPECT_THAT(reshape.kernels, ElementsAre(0));
  EXPECT_TRUE(e.operations().back().is_output);
  EXPECT_THAT(e.operations()[0].kernels, IsEmpty());
}

TEST(Report, KernelsKnowTheirOperations) {
  const Explanation e = explained(kSoftmaxAndDead);
  ASSERT_EQ(e.kernels().size(), 1U);
  const KernelReport& kernel = e.kernels()[0];
  EXPECT_THAT(kernel.operations, ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(kernel.reads, ElementsAre(0));
  EXPECT_THAT(kernel.writes, ElementsAre(7));
  EXPECT_EQ(kernel.step, 0);
  EXPECT_EQ(kernel.dtype, DType::f32);
  EXPECT_GT(kernel.predicted_ns, 0);
  EXPECT_GE(kernel.tasks, 1);
}

TEST(Report, CopiesOfOneOperationInTwoKernels) {
  const Explanation e = explained(R"(func @f(%x: f32[64,64], %w: f32[64,64]) {
  %0 = sort %x {axis=0}
  %1 = add %0, 1.0
  %2 = sort %1 {axis=0}
  %3 = add %0, 2.0
  %4 = add %2, %3
  return %4
})");
  for (const OperationReport& operation : e.operations()) {
    for (int kernel : operation.kernels) {
      const auto position = static_cast<int>(&operation - e.operations().data());
      EXPECT_THAT(e.kernels()[static_cast<size_t>(kernel)].operations, ::testing::Contains(position));
    }
  }
}

TEST(Report, KeepsTheGraphAfterEveryPassThatChangedIt) {
  const Explanation e = explained(kSoftmaxAndDead);
  std::vector<std::string> changed;
  for (const PassReport& pass : e.passes()) {
    EXPECT_EQ(pass.graph.empty(), !pass.changed) << pass.name;
    EXPECT_NE(pass.summary, "");
    if (pass.changed) changed.push_back(pass.name);
  }
  EXPECT_THAT(changed, ElementsAre("eliminate-dead"));
  EXPECT_EQ(e.passes().back().round, -1);
  EXPECT_EQ(explained("func @f(%x: f32[4]) {\n %0 = exp %x\n return %0\n}").optimized(),
            explained("func @f(%x: f32[4]) {\n %0 = exp %x\n return %0\n}").graph());
}

TEST(Report, BuffersAreThoseOfThePlan) {
  const Explanation e = explained(R"(func @f(%x: f32[64,64]) {
  %0 = sort %x {axis=0}
  %1 = neg %0
  %2 = sort %1 {axis=0}
  %3 = neg %2
  %4 = sort %3 {axis=0}
  return %4
})");
  int64_t end = 0;
  int outputs = 0;
  for (const BufferReport& buffer : e.memory().buffers) {
    EXPECT_THAT(e.memory().plan, HasSubstr(buffer.name));
    if (buffer.place == BufferReport::Place::arena) end = std::max(end, buffer.at + buffer.bytes);
    if (buffer.place == BufferReport::Place::output) ++outputs;
  }
  EXPECT_EQ(end, e.memory().arena_bytes);
  EXPECT_EQ(outputs, 3);  // the result, and before it what does not meet it in time
  EXPECT_EQ(e.memory().buffers.back().last_kernel, static_cast<int>(e.kernels().size()) - 1);
}

std::vector<std::string> programs_with_all_kinds_of_memory() {
  return {
      "func @f(%x: f32[40,50]) {\n %0 = transpose %x {permutation=[1,0]}\n return %0\n}",  // a copy
      "func @f(%x: f32[4000]) {\n return %x\n}",
      "func @f(%x: f32[4000]) {\n %0 = exp %x\n return %0, %0, %x\n}",
      "func @f(%x: f32[3]) {\n %0 = reduce_sum %x {axes=[0]}\n return %0\n}",
      R"(func @f(%x: f32[512,512], %y: f32[512,512]) {
  %0 = dot %x, %y {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %1 = add %0, 1.0
  %2 = transpose %1 {permutation=[1,0]}
  return %2
})",
      "func @f(%x: f32[500,300]) {\n %0 = argsort %x {axis=0}\n return %0\n}",
      "func @f(%x: f64[500,3000]) {\n %0 = reduce_sum %x {axes=[0]}\n %1 = add %x, %0\n return %1\n}",
  };
}

TEST(Report, NoPlanTakesMoreThanABufferForEverything) {
  for (const std::string& text : programs_with_all_kinds_of_memory()) {
    const MemoryReport memory = explained(text).memory();
    EXPECT_LE(memory.peak_bytes, memory.naive_bytes) << text;
    EXPECT_EQ(memory.peak_bytes, memory.arena_bytes + memory.output_bytes + memory.scratch_bytes) << text;
    int64_t outputs = 0;
    for (const BufferReport& buffer : memory.buffers)
      if (buffer.place == BufferReport::Place::output) outputs += (buffer.bytes + 63) / 64 * 64;
    EXPECT_EQ(memory.output_bytes, outputs) << text;
  }
}

TEST(Report, ScratchIsCounted) {
  EXPECT_GT(explained(programs_with_all_kinds_of_memory()[4]).memory().scratch_bytes, 0);
  EXPECT_GT(explained(programs_with_all_kinds_of_memory()[5]).memory().scratch_bytes, 0);
  EXPECT_EQ(explained("func @f(%x: f32[4]) {\n %0 = exp %x\n return %0\n}").memory().scratch_bytes, 0);
}

TEST(Report, AProductInPiecesIsInTheKernelsOfAllOfThem) {
  const Explanation e = explained(R"(func @f(%x: f32[10000,8], %y: f32[10000,16]) {
  %0 = dot %x, %y {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[0]}
  return %0
})");
  ASSERT_GT(e.kernels().size(), 1U);
  const OperationReport& product = e.traced().back();
  EXPECT_EQ(product.op, "dot");
  EXPECT_EQ(product.kernels.size(), e.kernels().size());
}

/// All of it that is text.
std::string text_of(const Explanation& e) {
  std::string text = e.graph() + e.optimized() + e.memory().plan;
  for (const PassReport& pass : e.passes()) text += pass.name + pass.summary + pass.graph;
  for (const KernelReport& kernel : e.kernels())
    text += kernel.name + kernel.graph + kernel.loops + kernel.schedule + kernel.assembly();
  for (const std::string& step : e.steps()) text += step;
  return text;
}

constexpr const char* kSeveralPasses = R"(func @f(%x: f32[64,100], %w: f32[100,8]) {
  %0 = neg %x
  %1 = neg %0
  %2 = exp %1
  %3 = exp %x
  %4 = add %2, %3
  %5 = dot %4, %w {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %6 = sort %5 {axis=0}
  return %6
})";

TEST(Explanation, SaysTheSameWhenItIsMadeLater) {
  const Explanation later = explained(kSeveralPasses);
  std::string logged;
  const std::string before = logging::channels();
  logging::set_sink([&](logging::Channel, std::string_view message) { logged += message; });
  logging::set_channels("passes");
  const Explanation at_once = explained(kSeveralPasses);
  EXPECT_THAT(logged, HasSubstr("after simplify"));
  logged.clear();
  const std::string text = text_of(later);
  logging::set_channels(before);
  logging::set_sink({});
  EXPECT_EQ(text, text_of(at_once));
  EXPECT_EQ(logged, "");  // the passes ran before the channel was open
}

TEST(Explanation, OutlivesTheProgramAndIsMadeForManyThreads) {
  const std::string wanted = text_of(explained(kSeveralPasses));
  for (int i = 0; i < 20; ++i) {
    const Explanation e = explained(kSeveralPasses);  // the program is gone
    const Explanation copy = e;
    std::vector<std::string> found(4);
    std::vector<std::thread> threads;
    for (std::string& text : found) threads.emplace_back([&] { text = text_of(copy); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(found, ::testing::Each(wanted));
    EXPECT_EQ(&e.kernels(), &copy.kernels());
  }
}

TEST(Report, WrittenArgumentsAreKnownBeforeItIsMade) {
  Explanation e = explained("func @f(%x: f32[4], %y: f32[4]) {\n %0 = exp %y\n return %0\n}");
  e.note_written(0);
  EXPECT_FALSE(e.traced()[0].is_dead);
  EXPECT_TRUE(e.operations()[0].is_written);
}

TEST(Report, ArgumentsThatAreWrittenToAreNotWithoutUse) {
  Explanation e = explained("func @f(%x: f32[4], %y: f32[4]) {\n %0 = exp %y\n return %0\n}");
  EXPECT_TRUE(e.traced()[0].is_dead);
  e.note_written(0);
  EXPECT_FALSE(e.traced()[0].is_dead);
  EXPECT_TRUE(e.traced()[0].is_written);
  EXPECT_TRUE(e.operations()[0].is_written);
  EXPECT_FALSE(e.traced()[1].is_written);
}

TEST(Report, ValuesKeepTheirNamesThroughAllPasses) {
  const Explanation e = explained(R"(func @f(%x: f32[64,100], %y: f32[64,100]) {
  %0 = exp %y
  %1 = neg %x
  %2 = neg %1
  %3 = add %2, 0.0
  %4 = mul %3, 2.0
  %5 = mul %4, 4.0
  %6 = exp %5
  return %6
})");
  EXPECT_THAT(e.optimized(), HasSubstr("  %6 = exp %5\n  return %6\n"));
  for (const OperationReport& now : e.operations()) {
    for (const OperationReport& then : e.traced()) {
      if (then.name != now.name || then.becomes < 0) continue;
      EXPECT_EQ(e.operations()[static_cast<size_t>(then.becomes)].name, now.name);
    }
  }
  for (const BufferReport& buffer : e.memory().buffers) EXPECT_EQ(buffer.name, "%6");
}

TEST(Report, DonatedMemoryIsAnArgument) {
  const Explanation e = explained("func @f(%x: f32[4000]) {\n %0 = exp %x\n return %0\n}", {.donated = {0}});
  ASSERT_EQ(e.memory().buffers.size(), 1U);
  EXPECT_EQ(e.memory().buffers[0].place, BufferReport::Place::argument);
  EXPECT_EQ(e.memory().buffers[0].at, 0);
}

TEST(Report, SaysWhatIsCopied) {
  const Explanation product = explained(R"(func @f(%x: f32[512,512], %y: f32[512,512]) {
  %0 = dot %x, %y {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %0, %0
})");
  ASSERT_EQ(product.layouts().size(), 3U);
  EXPECT_EQ(product.layouts()[0].value, "%x");
  EXPECT_THAT(product.layouts()[1].decision, HasSubstr("second operand packed"));
  EXPECT_EQ(product.layouts()[1].bytes_copied, 512 * 512 * 4);
  EXPECT_EQ(product.layouts()[2].kernel, -1);
  EXPECT_EQ(product.layouts()[2].decision, "result 1 is a copy of result 0");
  EXPECT_THAT(explained("func @f(%x: f32[4]) {\n %0 = exp %x\n return %0\n}").layouts(), IsEmpty());
}

TEST(Report, RefusalsNameTheirOperations) {
  const Explanation e = explained(R"(func @f(%x: f32[64,256]) {
  %0 = exp %x
  %1 = reduce_sum %0 {axes=[0]}
  %2 = transpose %0 {permutation=[1,0]}
  %3 = sort %2 {axis=0}
  %4 = reduce_sum %3 {axes=[0]}
  %5 = reduce_sum %4 {axes=[0]}
  %6 = add %1, %5
  return %6
})");
  for (const RefusedFusion& refused : e.refused()) {
    EXPECT_EQ(e.operations()[static_cast<size_t>(refused.producer_operation)].op, refused.producer);
    EXPECT_EQ(e.operations()[static_cast<size_t>(refused.consumer_operation)].op, refused.consumer);
    EXPECT_EQ(refused.line.file, "f.tok");
    EXPECT_THAT(to_string(refused), StartsWith(refused.consumer + " into the kernel of " + refused.producer +
                                               ": " + refused.reason));
    EXPECT_THAT(e.to_string(), HasSubstr("not fused: " + to_string(refused) + "  f.tok:"));
  }
}

TEST(Report, SaysInOneLineWhatKernelsAreFor) {
  const auto headline = [](const std::string& body) {
    return explained("func @f(%x: f32[6], %e: f32[0]) {\n" + body + "\n}").headline();
  };
  EXPECT_EQ(headline("%0 = exp %x\n %1 = add %0, %x\n return %1"), "1 kernel for 2 operations");
  EXPECT_EQ(headline("return %x"), "1 kernel that copies");
  EXPECT_EQ(headline("%0 = exp %e\n return %0"), "no kernels needed for 1 operation without elements");
  EXPECT_EQ(headline("%0 = exp %x\n %1 = exp %e\n return %0, %1"),
            "1 kernel for 2 operations; 1 more without elements");
  EXPECT_EQ(headline("return %e"), "no kernels needed without elements");
}

TEST(Report, TheSummaryHasDeadCode) {
  const Explanation e = explained("func @f(%x: f32[6]) {\n %0 = exp %x\n %1 = add %x, %x\n return %1\n}");
  EXPECT_THAT(e.dead(), ElementsAre(1));
  EXPECT_THAT(e.to_string(), HasSubstr("dead: %0 = exp %x  f.tok:2"));
}

TEST(Report, RoutinesOfTheLibraryHaveNoCode) {
  const Explanation e =
      explained("func @f(%x: f32[600]) {\n %0 = exp %x\n %1 = sort %0 {axis=0}\n return %1\n}");
  ASSERT_EQ(e.kernels().size(), 2U);
  EXPECT_TRUE(e.kernels()[0].has_code);
  EXPECT_FALSE(e.kernels()[1].has_code);
}

TEST(Report, WhatOneThreadDoesAtOnceWaitsForNoOther) {
  const auto predicted = [](const std::string& size) {
    return explained("func @f(%x: f32[" + size + "]) {\n %0 = add %x, 1.0\n return %0\n}")
        .kernels()[0]
        .predicted_ns;
  };
  EXPECT_LT(predicted("10"), 200);
  EXPECT_LT(predicted("1000"), 1000);
  EXPECT_GT(predicted("1000000"), 10000);
}

TEST(Report, PredictsNothingForKernelsWithoutElements) {
  const Explanation e = explained("func @f(%x: f32[0,3]) {\n %0 = exp %x\n return %0\n}");
  for (const KernelReport& kernel : e.kernels()) EXPECT_EQ(kernel.step, -1);
}

TEST(Roofline, IsMeasuredOnce) {
  const Roofline first = measure_roofline();
  const Roofline second = measure_roofline();
  EXPECT_EQ(first.threads, ThreadPool::instance().num_threads());
  EXPECT_GT(first.f32_flops, 1e8);
  EXPECT_EQ(first.f32_flops, second.f32_flops);
  ASSERT_GE(first.levels.size(), 3U);
  EXPECT_EQ(first.levels.front().name, "L2");
  EXPECT_EQ(first.levels.back().name, "memory");
  for (size_t i = 0; i < first.levels.size(); ++i) {
    EXPECT_GT(first.levels[i].bytes_per_second, 1e7);
    if (i == 0) continue;
    EXPECT_EQ(first.levels[i].bytes, 2 * first.levels[i - 1].bytes);
    EXPECT_LE(first.levels[i].bytes_per_second, first.levels[i - 1].bytes_per_second);
  }
}

TEST(Roofline, MeasuredAgainIsNeverLower) {
  const Roofline first = measure_roofline();
  const Roofline second = measure_roofline(true);
  EXPECT_GE(second.f64_flops, first.f64_flops);
  for (size_t i = 0; i < first.levels.size(); ++i)
    EXPECT_GE(second.levels[i].bytes_per_second, first.levels[i].bytes_per_second);
}

}  // namespace
}  // namespace tokamak
