#include <llvm/PassRegistry.h>

#include <chrono>
#include <thread>

#include "codegen/harness.h"
#include "codegen/needed_passes.h"

namespace tokamak {
namespace {

/// relu((sin(x) * cos(y) + x) * y)
TestKernel sample(int64_t count, int lanes) {
  TestKernel k("sample");
  LoopVar t = k.var("t", 1), i = k.var("i", count);
  BufferId in_x = k.in(DType::f32, {count}), in_y = k.in(DType::f32, {count}),
           out = k.out(DType::f32, {count});
  std::vector<ValueId> v;
  for (int n = 0; n < 9; ++n) v.push_back(k.value(DType::f32));
  const std::vector<Index> at = {Index::of(i)};
  k.nest(t, {k.vector(i, lanes,
                      {Load{v[0], in_x, at, {}}, Load{v[1], in_y, at, {}}, Compute{v[2], Op::sin, {v[0]}},
                       Compute{v[3], Op::cos, {v[1]}}, Compute{v[4], Op::mul, {v[2], v[3]}},
                       Compute{v[5], Op::add, {v[4], v[0]}}, Compute{v[6], Op::mul, {v[5], v[1]}},
                       Literal{v[7], scalar_tensor(DType::f32, 0.0)}, Compute{v[8], Op::max, {v[6], v[7]}},
                       Store{out, at, v[8]}})});
  return k;
}

TEST(CodegenText, ShowsCodeForProcessorsThatAreNotHere) {
  const Cpu v4 = cpu_named("x86-64-v4");
  TestKernel k = sample(1003, 16);
  EXPECT_NE(emit_llvm(k, v4).find("<16 x float>"), std::string::npos);
  const std::string assembly = emit_assembly(k, v4);
  EXPECT_NE(assembly.find("zmm"), std::string::npos);
  EXPECT_NE(assembly.find("sample_0:"), std::string::npos);
  EXPECT_EQ(emit_assembly(sample(1003, 8), cpu_named("x86-64-v3")).find("zmm"), std::string::npos);
  EXPECT_EQ(emit_assembly(sample(1003, 4), cpu_named("x86-64")).find("ymm"), std::string::npos);
}

size_t count_of(const std::string& part, const std::string& text) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(CodegenText, LoopsOfOneRoundAreStraightCode) {
  const auto loops_over = [](int64_t count) {
    TestKernel k("squares");
    const LoopVar t = k.var("t", 1), i = k.var("i", count);
    const BufferId in = k.in(DType::f32, {count}), out = k.out(DType::f32, {count});
    const ValueId x = k.value(DType::f32), square = k.value(DType::f32);
    const std::vector<Index> at = {Index::of(i)};
    k.nest(t, {k.vector(i, 16,
                        {Load{x, in, at, {}}, Compute{square, Op::mul, {x, x}}, Store{out, at, square}})});
    return count_of(" phi ", emit_llvm(k, cpu_named("x86-64-v4"))) - 1;  // beside the loop over tasks
  };
  EXPECT_EQ(loops_over(16), 0U);
  EXPECT_EQ(loops_over(17), 0U);  // one full round, and the rest
  EXPECT_EQ(loops_over(32), 1U);
}

// One that LLVM calls by another name would be run again, and nobody would notice.
TEST(CodegenText, LlvmKnowsThePassesThatAreLeftOut) {
  emit_assembly(sample(64, 16), cpu_named("x86-64-v4"));  // registers all passes of the code generator
  for (llvm::StringRef name : codegen::passes_left_out())
    EXPECT_NE(llvm::PassRegistry::getPassRegistry()->getPassInfo(name), nullptr) << name.str();
}

TEST(CodegenText, FusesMultiplyAndAddOnlyWhenAllowed) {
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", 64);
  BufferId in = k.in(DType::f32, {64}), out = k.out(DType::f32, {64});
  ValueId x = k.value(DType::f32), p = k.value(DType::f32), s = k.value(DType::f32);
  k.nest(t, {k.vector(i, 8,
                      {Load{x, in, {Index::of(i)}, {}}, Compute{p, Op::mul, {x, x}},
                       Compute{s, Op::add, {p, x}}, Store{out, {Index::of(i)}, s}})});
  const Cpu v3 = cpu_named("x86-64-v3");
  EXPECT_EQ(emit_assembly(k, v3).find("vfmadd"), std::string::npos);
  k.relaxed_math = true;
  EXPECT_NE(emit_assembly(k, v3).find("vfmadd"), std::string::npos);
}

TEST(CodegenText, CompilesQuickly) {
  const Cpu cpu = cpu_named("native");
  TestKernel k = sample(1003, cpu.vector_bytes / 4);
  double best = 1e9;
  for (int n = 0; n < 5; ++n) {
    auto start = std::chrono::steady_clock::now();
    compile(k, cpu);
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("milliseconds", std::to_string(best));
  std::printf("relu((sin(x)*cos(y)+x)*y): compiled in %.2f ms\n", best);
  EXPECT_LT(best, 200);
}

TEST(CodegenText, CompilesOnManyThreads) {
  const Cpu cpu = cpu_named("native");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      for (int n = 1; n < 6; ++n) {
        const auto count = static_cast<int64_t>(id) * 10 + n;
        auto x = random_values<float>(static_cast<size_t>(count), -1, 1), y = x;
        std::vector<float> out(x.size(), -1);
        auto native = compile(sample(count, 8), cpu);
        void* buffers[] = {x.data(), y.data(), out.data()};
        KernelFrame frame{buffers, nullptr, nullptr};
        native->nests()[0](&frame, 0, 1, nullptr);
        for (float value : out) wrong[id] += !(value >= 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace tokamak
