// Whole programs, native against interpreted.

#include <gtest/gtest.h>

#include "driver/harness.h"

namespace tokamak::testing {
namespace {

struct NamedProgram {
  const char* name;
  const char* text;
  int64_t ulps;  ///< allowed: float sums are associated differently
};

class Programs : public ::testing::TestWithParam<NamedProgram> {};

TEST_P(Programs, AgreeWithTheInterpreter) {
  const Graph graph = parse_one(GetParam().text);
  for (bool fuse : {true, false}) {
    EXPECT_EQ(compare_with_interpreter(graph, 7, GetParam().ulps, {.fuse = fuse}), "") << "fuse=" << fuse;
  }
}

const NamedProgram kPrograms[] = {
    {"chain",
     "func @f(%x: f32[1003], %y: f32[1003]) { %0 = mul %x, %y\n %1 = add %0, %x\n %2 = max %1, 0.0\n return "
     "%2 }",
     0},
    {"scalar", "func @f(%x: f32[], %y: f32[]) { %0 = mul %x, %y\n return %0 }", 0},
    {"empty", "func @f(%x: f32[0,4], %y: f32[4]) { %0 = mul %x, %y\n return %0 }", 0},
    {"empty_sum", "func @f(%x: f32[0,4]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }", 0},
    {"sum_all", "func @f(%x: i32[70001]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }", 0},
    {"sum_large", "func @f(%x: i64[300,1000]) { %0 = reduce_sum %x {axes=[0,1]}\n return %0 }", 0},
    {"max_rows", "func @f(%x: f32[37,129]) { %0 = reduce_max %x {axes=[1]}\n return %0 }", 0},
    {"max_columns", "func @f(%x: f32[129,37]) { %0 = reduce_max %x {axes=[0]}\n return %0 }", 0},
    {"max_middle", "func @f(%x: f64[5,33,19]) { %0 = reduce_max %x {axes=[1]}\n return %0 }", 0},
    {"max_outer_two", "func @f(%x: f64[5,33,19]) { %0 = reduce_max %x {axes=[0,2]}\n return %0 }", 0},
    {"max_few_long_rows", "func @f(%x: f32[3,70000]) { %0 = reduce_max %x {axes=[1]}\n return %0 }", 0},
    {"max_long_columns", "func @f(%x: f32[70000,5]) { %0 = reduce_max %x {axes=[0]}\n return %0 }", 0},
    {"argmax_rows", "func @f(%x: f32[37,129]) { %0 = argmax %x {axis=1}\n return %0 }", 0},
    {"argmax_columns", "func @f(%x: i8[129,37]) { %0 = argmax %x {axis=0}\n return %0 }", 0},
    {"argmin_long", "func @f(%x: f64[200000]) { %0 = argmin %x {axis=0}\n return %0 }", 0},
    {"any_all",
     "func @f(%x: bool[33,65]) { %0 = reduce_any %x {axes=[1]}\n %1 = reduce_all %x {axes=[0]}\n return %0, "
     "%1 }",
     0},
    {"softmax_max",
     "func @f(%x: f32[17,100]) { %0 = reduce_max %x {axes=[1]}\n %1 = reshape %0 {shape=[17,1]}\n %2 = sub "
     "%x, %1\n %3 = exp "
     "%2\n return %3 }",
     0},
    {"normalise_columns",
     "func @f(%x: f32[100,17]) { %0 = reduce_max %x {axes=[0]}\n %2 = sub %x, %0\n %3 = exp %2\n %4 = "
     "reduce_min %3 {axes=[0]}\n"
     " %5 = sub %3, %4\n return %5, %4 }",
     0},
    {"cumsum_rows", "func @f(%x: i32[9,33]) { %0 = cumsum %x {axis=1}\n return %0 }", 0},
    {"cumsum_columns", "func @f(%x: f32[33,19]) { %0 = cumsum %x {axis=0}\n %1 = mul %0, 2.0\n return %1 }",
     0},
    {"cummax_then_max",
     "func @f(%x: f32[9,33]) { %0 = cummax %x {axis=1}\n %1 = reduce_max %0 {axes=[1]}\n %2 = reshape %1 "
     "{shape=[9,1]}\n %3 = "
     "sub %0, %2\n return %3 }",
     0},
    {"transposed_add",
     "func @f(%x: f32[37,41], %y: f32[41,37]) { %0 = transpose %y {permutation=[1,0]}\n %1 = add %x, %0\n "
     "return %1 }",
     0},
    {"stencil",
     "func @f(%x: f32[130]) { %0 = slice %x {starts=[1], limits=[129], steps=[1]}\n %1 = slice %x "
     "{starts=[0], limits=[128], "
     "steps=[1]}\n %2 = sub %0, %1\n return %2 }",
     0},
    {"reversed", "func @f(%x: f32[7,130]) { %0 = reverse %x {axes=[1]}\n %1 = add %0, %x\n return %1 }", 0},
    {"strided_slice",
     "func @f(%x: f64[7,130]) { %0 = slice %x {starts=[1,3], limits=[7,130], steps=[2,3]}\n %1 = neg %0\n "
     "return %1 }",
     0},
    {"concatenate",
     "func @f(%a: f32[100], %b: f32[51]) { %0 = concatenate %a, %b {axis=0}\n %1 = mul %0, 2.0\n return %1 }",
     0},
    {"concatenate_exp",
     "func @f(%a: u8[10,3], %b: u8[10,5], %c: u8[10,1]) { %0 = concatenate %a, %b, %c {axis=1}\n %1 = add "
     "%0, 2\n return %1 }",
     0},
    {"pad",
     "func @f(%a: f32[10,13]) { %0 = pad %a, 1.5 {low=[1,2], high=[3,0], interior=[0,2]}\n %1 = mul %0, "
     "2.0\n return %1 }",
     0},
    {"reshape_chain",
     "func @f(%a: f32[12,10], %b: f32[8,15]) { %0 = mul %a, %a\n %1 = reshape %0 {shape=[8,15]}\n %2 = add "
     "%1, %b\n return %2 }",
     0},
    {"gather",
     "func @f(%a: f32[50,7], %i: u8[13]) { %i2 = bit_and %i, 31\n %0 = gather %a, %i2 {axis=0, mode=check}\n "
     "%1 = mul %0, 2.0\n return %1 }",
     0},
    {"gather_last",
     "func @f(%a: f32[7,50], %i: i64[13,2]) { %0 = gather %a, %i {axis=1, mode=clamp}\n return %0 }", 0},
    {"scatter_add",
     "func @f(%a: f32[50,7], %i: i32[13], %u: f32[13,7]) { %0 = scatter %a, %i, %u {axis=0, mode=drop, "
     "combine=add}\n return %0 }",
     0},
    {"scatter_set_1d",
     "func @f(%a: i32[50], %i: u8[130], %u: i32[130]) { %0 = scatter %a, %i, %u {axis=0, mode=clamp, "
     "combine=set}\n return %0 }",
     0},
    {"dynamic_slice",
     "func @f(%a: f32[9,50], %i: i32[], %j: i64[]) { %0 = dynamic_slice %a, %i, %j {sizes=[3,40]}\n return "
     "%0 }",
     0},
    {"dynamic_update",
     "func @f(%a: f32[9,50], %u: f32[3,20], %i: i32[], %j: i32[]) { %0 = dynamic_update_slice %a, %u, %i, "
     "%j\n return %0 }",
     0},
    {"iota",
     "func @f(%a: f32[9,50]) { %0 = iota {axis=1, dtype=f32, shape=[9,50]}\n %1 = add %a, %0\n return %1, %0 "
     "}",
     0},
    {"outputs_are_inputs",
     "func @f(%a: f32[9,50]) { %0 = transpose %a {permutation=[1,0]}\n return %a, %0, %a }", 0},
    {"half",
     "func @f(%a: f16[9,50], %b: bf16[77]) { %0 = mul %a, %a\n %1 = add %0, %a\n %2 = exp %b\n return %1, %2 "
     "}",
     0},
    {"convert",
     "func @f(%a: f64[9,50]) { %0 = convert %a {dtype=i16}\n %1 = convert %a {dtype=f16}\n %2 = convert %a "
     "{dtype=bool}\n return %0, %1, %2 }",
     0},
    {"five_axes",
     "func @f(%x: f32[2,3,4,5,6]) { %0 = transpose %x {permutation=[4,2,0,1,3]}\n %1 = reduce_max %0 "
     "{axes=[1,3]}\n %2 = exp %1\n return %2 }",
     0},
    {"reversed_after_reshape",
     "func @f(%x: i32[8,15]) { %0 = reshape %x {shape=[120]}\n %1 = reverse %0 {axes=[0]}\n return %1 }", 0},
    {"reversed_repeat",
     "func @f(%x: f32[60]) { %0 = reshape %x {shape=[60,1]}\n %1 = broadcast %0 {shape=[60,2]}\n %2 = "
     "reshape %1 {shape=[120]}\n "
     "%3 = reverse %2 {axes=[0]}\n return %3 }",
     0},
    {"stacked_sweeps",
     "func @f(%x: f64[4,8]) { %1 = exp %x\n %2 = reduce_max %1 {axes=[1]}\n %3 = reshape %2 {shape=[4,1]}\n "
     "%4 = sub %1, %3\n %5 = "
     "reduce_min %4 {axes=[1]}\n %6 = reshape %5 {shape=[4,1]}\n %7 = add %4, %6\n return %7 }",
     0},
    {"stacked_expensive_sweeps",
     "func @f(%x: f32[5,37]) { %0 = exp %x\n %1 = reduce_max %0 {axes=[1]}\n %2 = reshape %1 {shape=[5,1]}\n "
     "%3 = div %0, %2\n %4 = sin "
     "%3\n %5 = reduce_max %4 {axes=[1]}\n %6 = reshape %5 {shape=[5,1]}\n %7 = sub %4, %6\n %8 = tanh %7\n "
     "%9 = reduce_min %8 "
     "{axes=[1]}\n %10 = reshape %9 {shape=[5,1]}\n %11 = sub %8, %10\n %12 = add %11, %3\n return %12 }",
     0},
    {"stacked_column_sweeps",
     "func @f(%x: f64[37,5]) { %0 = exp %x\n %1 = reduce_max %0 {axes=[0]}\n %3 = div %0, %1\n %4 = sin %3\n "
     "%5 = reduce_max %4 "
     "{axes=[0]}\n %7 = sub %4, %5\n %8 = tanh %7\n %9 = reduce_min %8 {axes=[0]}\n %11 = sub %8, %9\n "
     "return %11 }",
     0},
    {"wide_fan_out",
     "func @f(%x: f64[777]) { %0 = sin %x\n %1 = cos %x\n %2 = reduce_max %x {axes=[0]}\n %3 = reduce_min %x "
     "{axes=[0]}\n return %0, %1, %2, %3 }",
     0},
};
INSTANTIATE_TEST_SUITE_P(All, Programs, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RandomPrograms, AgreeWithTheInterpreterToTheBit) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Graph graph = random_graph(seed, {.nodes = 15, .exact_only = true});
    EXPECT_EQ(compare_with_interpreter(graph, seed), "") << "seed " << seed;
    EXPECT_EQ(compare_with_interpreter(graph, seed, 0, {.fuse = false}), "") << "unfused, seed " << seed;
    EXPECT_EQ(compare_with_interpreter(graph, seed, 0, {.fuse = false, .optimize = false}), "")
        << "as recorded, seed " << seed;
    if (HasFailure()) break;
  }
}

/// Sums against a sum in higher precision: no worse than pairwise summation may be.
TEST(Sums, AreAsPreciseAsPairwise) {
  for (const char* text : {"func @f(%x: f32[1000003]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }",
                           "func @f(%x: f32[100003,9]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }",
                           "func @f(%x: f32[9,100003]) { %0 = reduce_sum %x {axes=[1]}\n return %0 }",
                           "func @f(%x: f32[300,7,400]) { %0 = reduce_sum %x {axes=[0,2]}\n return %0 }"}) {
    const Graph graph = parse_one(text);
    Tensor x(graph.type_of(graph.parameters()[0]));
    std::mt19937 random(3);
    for (float& element : x.as_mutable<float>())
      element = std::uniform_real_distribution<float>(0, 1)(random);
    Graph wide = parse_one(text);
    const Tensor found = run_native(graph, {x})[0];
    const Tensor expected = interpret(graph, std::vector<Tensor>{x}, true)[0];
    for (int64_t i = 0; i < found.type().elements(); ++i) {
      const double e = element_as_double(expected, i);
      EXPECT_NEAR(element_as_double(found, i), e, e * 4e-6) << text;
    }
  }
}

TEST(KernelCache, CompilesEqualKernelsOnce) {
  const Graph first = parse_one("func @f(%x: f32[100]) { %0 = exp %x\n %1 = neg %0\n return %1 }");
  const Graph second = parse_one("func @g(%y: f32[100]) { %a = exp %y\n %b = neg %a\n return %b }");
  const std::vector<Layout> dense(1);
  const Compiled one = compile(first, dense);
  const Compiled two = compile(second, dense);
  EXPECT_EQ(one.program->steps[0].code->nests(), two.program->steps[0].code->nests());
}

struct Count {
  const char* name;
  const char* text;
  size_t fused;
  size_t unfused;  ///< 0: not pinned
};

class KernelCounts : public ::testing::TestWithParam<Count> {};

TEST_P(KernelCounts, ArePinned) {
  EXPECT_EQ(kernel_count(GetParam().text), GetParam().fused);
  if (GetParam().unfused != 0) {
    EXPECT_EQ(kernel_count(GetParam().text, false), GetParam().unfused);
  }
}

const Count kCounts[] = {
    {"relu_sum",
     "func @f(%w: f64[8000000], %x: f64[8000000], %b: f64[8000000]) { %0 = mul %w, %x\n %1 = add %0, %b\n %2 "
     "= max %1, 0.0\n %3 = "
     "reduce_sum %2 {axes=[0]}\n return %3 }",
     1, 4},
    {"activation",
     "func @f(%x: f32[16000000], %y: f32[16000000]) { %0 = sin %x\n %1 = cos %y\n %2 = mul %0, %1\n %3 = add "
     "%2, %x\n %4 = mul %3, "
     "%y\n %5 = max %4, 0.0\n return %5 }",
     1, 6},
    {"exp_ratio",
     "func @f(%a: f32[1000000], %b: f32[1000000]) { %0 = exp %a\n %1 = exp %b\n %2 = add %1, 1.0\n %3 = div "
     "%0, %2\n return %3 }",
     1, 4},
    {"softmax",
     "func @f(%x: f32[4096,4096]) { %0 = reduce_max %x {axes=[1]}\n %1 = reshape %0 {shape=[4096,1]}\n %2 = "
     "sub %x, %1\n %3 = exp %2\n "
     "%4 = reduce_sum %3 {axes=[1]}\n %5 = reshape %4 {shape=[4096,1]}\n %6 = div %3, %5\n return %6 }",
     1, 5},
    {"dead_exp", "func @f(%x: f32[100]) { %0 = exp %x\n %1 = add %x, 1.0\n return %1 }", 1, 1},
    {"siblings",
     "func @f(%x: f64[1000000]) { %0 = sin %x\n %1 = cos %x\n %2 = reduce_sum %x {axes=[0]}\n %3 = "
     "reduce_max %x {axes=[0]}\n return "
     "%0, %1, %2, %3 }",
     1, 4},
};
INSTANTIATE_TEST_SUITE_P(All, KernelCounts, ::testing::ValuesIn(kCounts),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tokamak::testing
