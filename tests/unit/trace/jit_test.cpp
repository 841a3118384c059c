#include "tokamak/jit.h"

#include <atomic>
#include <thread>

#include "support/log.h"
#include "trace/jit.h"
#include "trace/testing.h"

namespace tokamak {
namespace {

using testing::counting;
using testing::doubles;
using testing::expect_error;
using D = std::vector<double>;

TEST(Jit, TracesOncePerSignature) {
  int traces = 0;
  auto f = jit([&](Array x, Array y) {
    ++traces;
    return x * 2 + y;
  });
  EXPECT_EQ(doubles(f(counting({3}), counting({3}))), (D{0, 3, 6}));
  EXPECT_EQ(doubles(f(counting({3}) + 1, counting({3}))), (D{2, 5, 8}));
  EXPECT_EQ(traces, 1);
  f(counting({4}), counting({4}));
  f(astype(counting({3}), DType::f32), counting({3}));
  EXPECT_EQ(traces, 3);
  f(flip(counting({3})), counting({3}));  // another layout
  EXPECT_EQ(traces, 4);
  EXPECT_EQ(doubles(f(at(counting({6}), {Range{{}, {}, -2}}), counting({3}))), (D{10, 7, 4}));
  EXPECT_EQ(traces, 4);
  EXPECT_EQ(f.cache_info().programs, 4u);
  EXPECT_EQ(f.cache_info().misses, 4u);
  EXPECT_EQ(f.cache_info().hits, 2u);
  f.clear_cache();
  EXPECT_EQ(f.cache_info().programs, 0u);
  EXPECT_EQ(doubles(f(1, 2.5)), (D{4.5}));
}

TEST(Jit, ResultsOfEveryShape) {
  const Array x = counting({2});
  auto pair = jit([](Array a) { return std::pair(a + 1, sum(a)); });
  auto [plus, total] = pair(x);
  EXPECT_EQ(doubles(plus), (D{1, 2}));
  EXPECT_EQ(total.item<double>(), 1);
  auto triple = jit([](const Array& a) { return std::tuple(a, a * 2, ones({2})); });
  EXPECT_EQ(doubles(std::get<0>(triple(x))), (D{0, 1}));
  EXPECT_EQ(doubles(std::get<2>(triple(x))), (D{1, 1}));
  auto many = jit([](const std::vector<Array>& arrays) {
    std::vector<Array> results;
    for (const Array& array : arrays) results.push_back(array * 10);
    return results;
  });
  EXPECT_EQ(many({x, x, x}).size(), 3u);
  EXPECT_EQ(doubles(many({x, x + 1})[1]), (D{10, 20}));
  auto none = jit([] { return arange(0, 3); });
  EXPECT_EQ(doubles(none()), (D{0, 1, 2}));
}

TEST(Jit, CapturesAndInlines) {
  const Array weight = counting({2});
  auto inner = jit([](Array a) { return a * a; });
  auto outer = jit([&](Array a) { return inner(a + weight) + inner(weight); });
  EXPECT_EQ(doubles(outer(counting({2}))), (D{0, 5}));
  EXPECT_EQ(inner.cache_info().misses, 1u);  // for the call on memory; the other became part of outer
}

TEST(Jit, CompilesOnceForManyThreads) {
  std::atomic<int> traces = 0;
  auto f = jit([&](Array x) {
    ++traces;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x + 1;
  });
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  const Array x = counting({5});
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { right += doubles(f(x)) == D{1, 2, 3, 4, 5}; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(traces, 1);
}

TEST(Jit, FailsForAllWhoWaitAndTriesAgain) {
  std::atomic<int> traces = 0;
  std::atomic<bool> good = false;
  auto f = jit([&](Array x) {
    ++traces;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return good ? x + 1 : x + zeros({7});
  });
  std::vector<std::thread> threads;
  std::atomic<int> errors = 0;
  const Array x = counting({5});
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      try {
        f(x);
      } catch (const UserError&) {
        ++errors;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(errors, 4);
  EXPECT_EQ(f.cache_info().programs, 0u);
  good = true;
  EXPECT_EQ(doubles(f(x)), (D{1, 2, 3, 4, 5}));
  if (testing::fail_next_compile()) {
    EXPECT_THROW(f(counting({6})), Unsupported);
    EXPECT_EQ(f(counting({6})).size(), 6);
  }
}

TEST(Jit, ForgetsTheLeastRecentlyUsed) {
  int traces = 0;
  auto f = jit(
      [&](Array x) {
        ++traces;
        return x + 1;
      },
      {.max_programs = 2});
  f(counting({1}));
  f(counting({2}));
  f(counting({1}));
  f(counting({3}));  // 2 goes
  EXPECT_EQ(f.cache_info().programs, 2u);
  f(counting({1}));
  EXPECT_EQ(traces, 3);
  f(counting({2}));
  EXPECT_EQ(traces, 4);
}

TEST(Jit, DonatedMemoryIsTakenOver) {
  auto f = jit([](Array x, Array y) { return x + y; }, {.donate_argnums = {0}});
  Array x = counting({100});
  const Array y = counting({100});
  const void* memory = x.data();
  const Array z = f(x, y);
  EXPECT_EQ(doubles(at(z, {Range{{}, 3}})), (D{0, 2, 4}));
  if (testing::kInterpreted) {
    EXPECT_EQ(z.data(), memory);
    expect_error<UserError>([&] { x + 1; }, "donated", __LINE__);
    expect_error<UserError>([&] { f(x, y); }, "donated", __LINE__);
  }
  EXPECT_EQ(doubles(at(y, {3})), (D{3}));
}

TEST(Jit, NeverOverwritesWhatElseIsRead) {
  auto f = jit([](Array x, Array y) { return x + y; }, {.donate_argnums = {0}});
  const Array x = counting({100});
  const Array same = reshape(reshape(x, {10, 10}), {100});  // another view of the same memory
  EXPECT_EQ(doubles(at(f(x, flip(same)), {Range{{}, 3}})), (D{99, 99, 99}));
  EXPECT_EQ(doubles(at(same, {Range{{}, 3}})), (D{0, 1, 2}));
  std::vector<double> memory(101, 1.0);  // not aligned as outputs are
  const Array odd = Array::wrap(memory.data() + 1, {DType::f64, {100}}, {}, nullptr);
  EXPECT_EQ(f(odd, counting({100})).size(), 100);
  EXPECT_EQ(memory[50], 1.0);
  auto wrong = jit([](Array a) { return a; }, {.donate_argnums = {1}});
  expect_error<UserError>([&] { wrong(same); }, "donate_argnums names argument 1", __LINE__);
}

TEST(Jit, DoesNotCallItselfForever) {
  std::function<Array(const Array&)> again;
  auto f = jit([&](Array x) { return x + again(counting({3})); }, {.name = "forever"});
  again = [&](const Array& a) { return f(a); };
  expect_error<UserError>([&] { f(counting({3})); }, "'forever' calls itself");
}

TEST(Jit, SaysWhyItCompilesAgain) {
  std::string seen;
  logging::set_sink([&](logging::Channel, std::string_view message) { seen += message; });
  logging::set_channels("recompiles");
  auto f = jit([](Array x) { return x + 1; }, {.name = "step"});
  f(counting({3}));
  EXPECT_EQ(seen, "");
  f(flip(counting({4, 2}), 1));
  logging::set_channels("");
  logging::set_sink({});
  EXPECT_EQ(seen, "'step' is compiled again: argument 0 was f64[3] and is f64[4,2] with strides (any, any)");
}

TEST(Jit, CoreKeepsStructureAndVariants) {
  JitFunction function({}, {});
  const Array x = counting({3});
  Tracer tracer;
  tracer.run = [](const std::vector<Array>& p) {
    return TraceResult{{p[0] + 1}, std::make_shared<const int>(7)};
  };
  const Array arguments[] = {x};
  const auto views = function.views_of(arguments, std::source_location::current());
  EXPECT_EQ(function.lookup(views), nullptr);
  const auto made = function.compiled(views, tracer, std::source_location::current());
  EXPECT_EQ(*static_cast<const int*>(made->structure.get()), 7);
  EXPECT_EQ(function.lookup(views), made);
  EXPECT_EQ(function.lookup(views, 1), nullptr);
  EXPECT_NE(function.compiled(views, tracer, std::source_location::current(), 1), made);
  EXPECT_EQ(doubles(function.run(*made, arguments, std::source_location::current())[0]), (D{1, 2, 3}));
}

}  // namespace
}  // namespace tokamak
