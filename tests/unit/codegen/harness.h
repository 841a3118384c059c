#pragma once

// Kernels written by hand, compiled and run.

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/codegen.h"

namespace tokamak {

/// A LoopKernel with short words for making its parts.
struct TestKernel : LoopKernel {
  explicit TestKernel(std::string kernel_name = "test") { name = std::move(kernel_name); }

  /// Dense row-major unless strides (bytes) are given.
  BufferId buffer(DType dtype, Shape shape, Buffer::Role role, std::vector<int64_t> strides = {}) {
    if (strides.empty()) {
      strides.resize(shape.size());
      auto stride = static_cast<int64_t>(size_of(dtype));
      for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
    }
    uint32_t slot = 0;
    for (const Buffer& b : buffers) slot += static_cast<uint32_t>(b.strides.size());
    buffers.push_back({"b" + std::to_string(buffers.size()), {dtype, shape}, role, strides, slot});
    return BufferId(buffers.size() - 1);
  }
  BufferId in(DType dtype, Shape shape, std::vector<int64_t> strides = {}) {
    return buffer(dtype, shape, Buffer::Role::input, strides);
  }
  BufferId out(DType dtype, Shape shape, std::vector<int64_t> strides = {}) {
    return buffer(dtype, shape, Buffer::Role::output, strides);
  }
  LoopVar var(std::string variable, int64_t extent) {
    variables.push_back(std::move(variable));
    extents.push_back(extent);
    return LoopVar(variables.size() - 1);
  }
  ValueId value(DType dtype) {
    values.push_back(dtype);
    return ValueId(values.size() - 1);
  }
  AccumulatorId accumulator(Accumulator accumulator) {
    accumulators.push_back(accumulator);
    return AccumulatorId(accumulators.size() - 1);
  }
  std::shared_ptr<Loop> loop(LoopKind kind, LoopVar var, int lanes, std::vector<Stmt> body,
                             std::optional<Index> bound = std::nullopt) {
    auto made = std::make_shared<Loop>();
    made->var = var;
    made->kind = kind;
    made->extent = extents[static_cast<size_t>(var)];
    made->lanes = lanes;
    made->bound = bound;
    made->body = std::move(body);
    return made;
  }
  std::shared_ptr<Loop> serial(LoopVar var, std::vector<Stmt> body,
                               std::optional<Index> bound = std::nullopt) {
    return loop(LoopKind::serial, var, 1, std::move(body), bound);
  }
  std::shared_ptr<Loop> vector(LoopVar var, int lanes, std::vector<Stmt> body,
                               std::optional<Index> bound = std::nullopt) {
    return loop(LoopKind::vector, var, lanes, std::move(body), bound);
  }
  void nest(LoopVar var, std::vector<Stmt> body) {
    nests.push_back({*loop(LoopKind::parallel, var, 1, std::move(body))});
  }
};

/// Checks the LLVM IR, compiles, runs all tasks of all nests; gives the failed check (0: none).
inline int run(const LoopKernel& kernel, const Cpu& cpu, std::vector<void*> buffers,
               std::vector<int64_t> strides = {}, std::vector<int64_t> numbers = {}) {
  emit_llvm(kernel, cpu);
  if (cpu.name == "native" && !cpu.avx512)
    emit_assembly(kernel, cpu_named("x86-64-v4"));  // all that can be checked here
  auto native = compile(kernel, cpu);
  std::vector<char> scratch(static_cast<size_t>(kernel.scratch_bytes) + 64);
  auto* aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
  int failed = 0;
  KernelFrame frame{.buffers = buffers.data(),
                    .strides = strides.data(),
                    .failed_check = &failed,
                    .numbers = numbers.data()};
  for (size_t i = 0; i < kernel.nests.size(); ++i)
    native->nests()[i](&frame, 0, kernel.nests[i].root.extent, aligned);
  return failed;
}

template <class T>
std::vector<T> random_values(size_t count, double low, double high, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  std::uniform_real_distribution<double> distribution(low, high);
  for (T& value : values) value = static_cast<T>(distribution(random));
  return values;
}

/// Runs once for every processor level this machine has.
class OnEveryCpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    cpu = cpu_named(GetParam());
    if (!cpu.runs_here) GTEST_SKIP() << "this machine cannot run " << cpu.name;
  }
  int lanes(DType dtype) const { return cpu.vector_bytes / static_cast<int>(size_of(dtype)); }
  Cpu cpu;
};
inline std::string cpu_test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
#define ON_EVERY_CPU(suite)                                                                              \
  INSTANTIATE_TEST_SUITE_P(Levels, suite, testing::Values("x86-64", "x86-64-v3", "x86-64-v4", "native"), \
                           cpu_test_name)

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace tokamak
