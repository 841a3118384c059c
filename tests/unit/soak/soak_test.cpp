// Many threads call many functions with changing shapes, which are compiled, evicted and compiled again,
// while others ask for more memory than there is, or throw while they are traced. Two seconds of it in every
// test run; TOKAMAK_SOAK_SECONDS for longer (make soak).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

#include "tokamak/tokamak.h"

namespace tokamak {
namespace {

constexpr int kThreads = 16;
constexpr int kFunctions = 50;
const Shape kShapes[] = {{1, 1}, {3, 7}, {16, 16}, {33, 65}, {128, 20}, {5, 4000}};

using Function = std::function<Array(Array)>;

/// Functions of matrices, no two the same.
Function function_of(int number) {
  const double k = 1 + 0.5 * number;
  switch (number % 10) {
    case 0:
      return [k](Array x) { return x * k + sin(x); };
    case 1:
      return [k](Array x) { return sum(exp(-(x * x)) * k, 1); };
    case 2:
      return [k](Array x) { return transpose(x) * k - 1; };
    case 3:
      return [k](Array x) { return matmul(x, transpose(x)) + k; };
    case 4:
      return [k](Array x) { return where(x > k, x, flip(x)); };
    case 5:
      return [k](Array x) { return max(x, 0) - k; };
    case 6:
      return [k](Array x) { return concatenate({x, x * k}, 1); };
    case 7:
      return [k](Array x) { return cumsum(x, 0) * k; };
    case 8:
      return [k](Array x) { return sort(x * k, 1); };
    default:
      return [k](Array x) { return sum(tanh(x) / k); };
  }
}

Array argument(const Shape& shape) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 37 % 101) / 50 - 1;
  return Array::from(values, shape);
}

/// Memory for a result that nobody has, and a function that throws in the middle. How many went wrong as they
/// should.
int64_t faults() {
  int64_t refused = 0;
  const auto large = jit([](Array x) { return broadcast_to(x, {int64_t{1} << 40, 256}) + 1; });
  try {
    large(argument({1}));
  } catch (const UserError& error) {
    refused += error.kind() == UserError::Kind::memory ? 1 : 0;
  }
  const auto thrown = jit([](Array x) -> Array {
    const Array unused = exp(x);
    throw std::out_of_range("in the middle");
  });
  try {
    thrown(argument({3}));
  } catch (const std::out_of_range&) {
    ++refused;
  }
  return refused;
}

double seconds_asked_for() {
  const char* text = std::getenv("TOKAMAK_SOAK_SECONDS");
  return text == nullptr ? 2 : std::strtod(text, nullptr);
}

TEST(Soak, ThreadsCallFunctionsWithChangingShapes) {
  using Jitted = decltype(jit(Function{}));
  std::vector<Jitted> functions;
  std::vector<std::vector<std::vector<double>>> expected;  // by function and shape
  for (int i = 0; i < kFunctions; ++i) {
    functions.push_back(jit(function_of(i), {.max_programs = 2}));
    expected.emplace_back();
    for (const Shape& shape : kShapes)
      expected.back().push_back(functions.back()(argument(shape)).to_vector<double>());
  }
  const int64_t in_use = memory_stats().in_use;

  std::atomic<int64_t> calls = 0, wrong = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_asked_for());
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    while (std::chrono::steady_clock::now() < end) {
      const size_t f = random() % kFunctions;
      const size_t s = random() % std::size(kShapes);
      wrong += functions[f](argument(kShapes[s])).to_vector<double>() == expected[f][s] ? 0 : 1;
      ++calls;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, static_cast<unsigned>(i));
  int64_t tried = 0, refused = 0;
  do {
    tried += 2;
    refused += faults();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while (std::chrono::steady_clock::now() < end);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(refused, tried);
  EXPECT_GT(calls, kThreads);
  EXPECT_EQ(memory_stats().in_use, in_use);
  uint64_t compiled = 0;
  for (const Jitted& function : functions) {
    EXPECT_LE(function.cache_info().programs, 2u + kThreads);
    compiled += function.cache_info().misses;
  }
  std::cout << calls << " calls, " << compiled << " programs compiled, " << tried << " faults, " << wrong
            << " wrong\n";
}

}  // namespace
}  // namespace tokamak
