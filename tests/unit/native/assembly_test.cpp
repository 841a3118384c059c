// Code for AVX-512 is made for every op on every machine, and looked at where it cannot run.

#include <gtest/gtest.h>

#include <regex>
#include <utility>

#include "codegen/codegen.h"
#include "fusion/fuse.h"
#include "native/array_cases.h"
#include "native/op_lists.h"
#include "native/values.h"
#include "schedule/schedule.h"

namespace tokamak::testing {
namespace {

/// The assembly of all kernels of a graph whose arguments are dense.
std::string assembly(const Graph& graph, const Cpu& cpu) {
  std::string text;
  for (const FusedKernel& kernel : fuse(graph, {}).kernels) {
    const std::vector<Layout> layouts(kernel.body.parameters().size());
    text += emit_assembly(schedule_kernel(kernel, layouts, cpu).loops, cpu);
  }
  return text;
}

Case sample_of(Op op, DType dtype, std::mt19937& random) {
  if (family_of(op) != OpFamily::Elementwise) return array_cases(op, dtype, random)[0];
  Case c{op, {}};
  if (op == Op::convert) c.attributes = {{Attr::dtype, dtype == DType::f32 ? DType::i16 : DType::f32}};
  if (op == Op::bitcast) c.attributes = {{Attr::dtype, same_bits(dtype)}};
  for (int i = 0; i < info(op).arity; ++i) {
    const DType operand = op == Op::select && i == 0 ? DType::boolean : dtype;
    c.operands.push_back(plain_tensor({operand, {1003}}, {}, random));
  }
  return c;
}

class Assembly : public ::testing::TestWithParam<Op> {
 protected:
  void SetUp() override {
    if (current_cpu().name != "native") GTEST_SKIP() << "the same for every TOKAMAK_CPU";
  }
};

TEST_P(Assembly, ExistsForAvx512) {
  const Op op = GetParam();
  std::mt19937 random(3);
  for (DType dtype : representative_dtypes(op)) {
    const std::string text = assembly(graph_of(sample_of(op, dtype, random)), cpu_named("x86-64-v4"));
    EXPECT_FALSE(text.empty());
    if (family_of(op) == OpFamily::Elementwise) {
      EXPECT_NE(text.find("zmm"), std::string::npos) << name_of(dtype);
    }
  }
}

TEST_P(Assembly, StaysWithinTheLevel) {
  const Op op = GetParam();
  std::mt19937 random(3);
  const DType dtype = representative_dtypes(op)[0];
  const Graph graph = graph_of(sample_of(op, dtype, random));
  EXPECT_EQ(assembly(graph, cpu_named("x86-64")).find("ymm"), std::string::npos);
  EXPECT_EQ(assembly(graph, cpu_named("x86-64-v3")).find("zmm"), std::string::npos);
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

Graph graph_on(DType dtype, int64_t elements, Op op, Attributes attributes) {
  std::mt19937 random(3);
  Case c{op, {plain_tensor({dtype, {elements}}, {}, random)}};
  c.attributes = std::move(attributes);
  return graph_of(c);
}
Graph graph_on_f32(Op op, Attributes attributes) {
  return graph_on(DType::f32, 4096, op, std::move(attributes));
}

// On a machine with AVX-512 the tests of every shape see it too, in what lies behind the result.
TEST(AssemblyOfLoops, StoresNoMoreOfTheLastElementThanThereIs) {
  const std::regex four_bytes(R"(vmov(ss|d)\s+%xmm\d+, -?\d*\(%)");
  const std::regex eight_bytes(R"(vmov(lps|lpd|sd|q)\s+%xmm\d+, -?\d*\(%)");
  const std::pair<DType, DType> narrowing[] = {{DType::i32, DType::i16},  {DType::i32, DType::i8},
                                               {DType::f32, DType::bf16}, {DType::f32, DType::u8},
                                               {DType::i64, DType::i32},  {DType::i64, DType::u8}};
  for (const auto& [from, to] : narrowing) {
    for (int64_t elements : {9, 17, 33, 65}) {
      const Graph graph = graph_on(from, elements, Op::convert, {{Attr::dtype, to}});
      const std::string text = assembly(graph, cpu_named("x86-64-v4"));
      EXPECT_FALSE(std::regex_search(text, eight_bytes)) << text;
      if (size_of(to) < 4) {
        EXPECT_FALSE(std::regex_search(text, four_bytes)) << text;
      }
    }
  }
}

TEST(AssemblyOfLoops, RoundsOnceToWhatIsStored) {
  const Graph graph = graph_on_f32(Op::convert, {{Attr::dtype, DType::bf16}});
  EXPECT_EQ(count(assembly(graph, cpu_named("x86-64-v3")), "vcmpunordps"), 1);
}

TEST(AssemblyOfLoops, KeepsNoMoreNumbersInRegistersThanThereIsRoomFor) {
  const std::string text = assembly(graph_on_f32(Op::tanh, {}), cpu_named("x86-64-v3"));
  EXPECT_LE(count(text, "vmovaps\t%ymm"), 4) << text;
  EXPECT_EQ(count(text, "(%rsp), %ymm"), 0) << text;
}

std::vector<Op> computing_ops() {
  std::vector<Op> ops = ops_of(
      {OpFamily::Elementwise, OpFamily::View, OpFamily::Index, OpFamily::Reduce, OpFamily::Cumulative});
  ops.push_back(Op::iota);
  return ops;
}
INSTANTIATE_TEST_SUITE_P(Ops, Assembly, ::testing::ValuesIn(computing_ops()), op_test_name);

}  // namespace
}  // namespace tokamak::testing
