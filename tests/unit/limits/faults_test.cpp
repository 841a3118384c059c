// Memory that gives out in the middle: every allocation of a run, and every one of the passes, fails in turn.
// What was allocated before is given back, and the next run works.

#include <gtest/gtest.h>

#include <iostream>

#include "driver/harness.h"
#include "limits/allocations.h"
#include "passes/pipeline.h"
#include "runtime/buffer_pool.h"
#include "runtime/thread_pool.h"
#include "tokamak/errors.h"

namespace tokamak::testing {
namespace {

struct Case {
  const char* name;
  const char* text;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

/// Each large enough for several threads, and for memory between its steps.
constexpr Case kCases[] = {
    {"elements", R"(
func @f(%x: f64[200000]) {
  %0 = sin %x
  %1 = mul %0, %x
  %2 = reduce_sum %1 {axes=[0]}
  return %1, %2
}
)"},
    {"scans", R"(
func @f(%x: f32[300,700]) {
  %0 = cumsum %x {axis=0}
  %1 = cumsum %0 {axis=1}
  %2 = reduce_max %1 {axes=[0]}
  return %1, %2
}
)"},
    {"layers", R"(
func @f(%x: f32[200,300], %w: f32[300,400], %b: f32[400], %v: f32[400,100]) {
  %0 = dot %x, %w {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %1 = add %0, %b
  %2 = tanh %1
  %3 = dot %2, %v {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %3
}
)"},
    {"attention", R"(
func @f(%q: f32[4,128,32], %k: f32[4,128,32], %v: f32[4,128,32]) {
  %0 = dot %q, %k {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[2]}
  %1 = reduce_max %0 {axes=[2]}
  %2 = reshape %1 {shape=[4,128,1]}
  %3 = sub %0, %2
  %4 = exp %3
  %5 = reduce_sum %4 {axes=[2]}
  %6 = reshape %5 {shape=[4,128,1]}
  %7 = div %4, %6
  %8 = dot %7, %v {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
  return %8
}
)"},
    {"long_product", R"(
func @f(%x: f32[8,200000], %y: f32[200000,8]) {
  %0 = dot %x, %y {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %0
}
)"},
    {"sorts", R"(
func @f(%x: f32[40,5000], %y: f64[150000]) {
  %0 = sort %x {axis=1}
  %1 = sort %y {axis=0}
  %2 = argsort %x {axis=1}
  return %0, %1, %2
}
)"},
    {"places", R"(
func @f(%x: f32[1000,60], %i: i64[5000]) {
  %0 = gather %x, %i {axis=0, mode=clamp}
  %1 = exp %0
  %2 = reduce_sum %1 {axes=[1]}
  return %1, %2
}
)"},
};

/// Counts what was refused; false where nothing was, as all was spared.
template <class Work>
bool fails(int64_t spared, bool for_good, Work work) {
  bool was_thrown = false;
  {
    const NoMemory none(spared, for_good);
    try {
      work();
    } catch (const std::bad_alloc&) {
      was_thrown = true;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), UserError::Kind::memory) << error.what();
      was_thrown = true;
    }
  }
  return was_thrown || NoMemory::was_noticed();
}

class Faults : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Faults, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Faults, EveryAllocationOfARunFails) {
  ThreadPool& pool = ThreadPool::instance();
  const int threads = pool.num_threads();
  pool.set_num_threads(4);
  const Graph graph = parse_one(GetParam().text);
  std::mt19937 random(1);
  const std::vector<Tensor> arguments = random_arguments(graph, random);
  const Compiled compiled = compile(graph, std::vector<Layout>(arguments.size()));
  const std::vector<Tensor> expected = run_on_tensors(*compiled.program, arguments);
  const int64_t in_use = BufferPool::instance().stats().in_use;
  int64_t refused = 0;
  for (const bool for_good : {false, true}) {
    for (int64_t spared = 0;; ++spared) {
      BufferPool::instance().trim();  // so that blocks are allocated anew
      if (!fails(spared, for_good, [&] { run_on_tensors(*compiled.program, arguments); })) break;
      ++refused;
      EXPECT_EQ(BufferPool::instance().stats().in_use, in_use) << spared;
      if (spared % 16 == 0) {
        EXPECT_EQ(run_on_tensors(*compiled.program, arguments), expected) << spared;
      }
      ASSERT_LT(spared, 20000);
    }
  }
  EXPECT_EQ(run_on_tensors(*compiled.program, arguments), expected);
  EXPECT_GT(refused, 4);
  std::cout << refused << " allocations refused\n";
  pool.set_num_threads(threads);
}

TEST_P(Faults, EveryAllocationOfThePassesFails) {
  const Graph graph = parse_one(GetParam().text);
  const std::string expected = print(run_pipeline(graph));
  const int64_t before = allocations();
  run_pipeline(graph);
  const int64_t all = allocations() - before;
  const int64_t step = std::max<int64_t>(all / 2000, 1);
  int64_t refused = 0;
  for (int64_t spared = 0; spared < all; spared += step)
    refused += fails(spared, true, [&] { run_pipeline(graph); }) ? 1 : 0;
  EXPECT_GT(refused, all / step / 2);
  EXPECT_EQ(print(run_pipeline(graph)), expected);
  std::cout << refused << " allocations refused, of " << all << "\n";
}

}  // namespace
}  // namespace tokamak::testing
