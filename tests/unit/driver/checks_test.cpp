// What CompileOptions::checks finds: programs that are broken on purpose, and many that are not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "driver/harness.h"

namespace tokamak::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Checks kBounds = Checks().with(Check::bounds);
constexpr Checks kNan = Checks().with(Check::nan);
constexpr Checks kShadow = Checks().with(Check::shadow);
constexpr Checks kAll = kBounds.with(Check::nan).with(Check::shadow);

Program compiled(const std::string& text, Checks checks, bool fuse = true) {
  const Graph graph = parse(text, "model.tok")[0];
  const std::vector<Layout> layouts(graph.parameters().size());
  return *compile(graph, layouts, {.fuse = fuse, .checks = checks}).program;
}

Tensor numbers(const std::vector<float>& values) {
  return Tensor::copy_of({DType::f32, {static_cast<int64_t>(values.size())}}, values.data());
}

template <class Error>
std::string error_of(const Program& program, const std::vector<Tensor>& arguments) {
  try {
    run_on_tensors(program, arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const std::string kMulAdd =
    "func @f(%x: f32[100], %y: f32[100]) {\n  %0 = mul %x, %y\n  %1 = add %0, %x\n  return %1\n}\n";
const std::vector<Tensor> kHundreds = {Tensor({DType::f32, {100}}), Tensor({DType::f32, {100}})};

TEST(CheckedBounds, NameKernelBufferIndexAndLine) {
  Program program = compiled(kMulAdd, kBounds);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(error_of<Error>(program, kHundreds), "no error");
  Program::Step& step = program.steps[0];
  ASSERT_EQ(step.sites.size(), 3u);
  step.sites[2].bytes = 4 * 63;
  EXPECT_THAT(error_of<InternalError>(program, kHundreds),
              AllOf(HasSubstr("kernel mul_add would write %1[63], f32[100], at byte 252 of 252"),
                    HasSubstr("at model.tok:3"), HasSubstr("This is a bug in Tokamak")));
  step.sites[2].bytes = 400;
  step.sites[1].bytes = 396;
  EXPECT_THAT(error_of<InternalError>(program, kHundreds),
              AllOf(HasSubstr("kernel mul_add would read %y[99]"), HasSubstr("at model.tok:2")));
}

TEST(CheckedBounds, OfWhatIsDoneToAProduct) {
  Program program = compiled(
      "func @f(%a: f32[20,30], %b: f32[30,40], %c: f32[40]) {\n"
      "  %0 = dot %a, %b {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}\n"
      "  %1 = add %0, %c\n  %2 = max %1, 0.0\n  return %2\n}\n",
      kBounds);
  const std::vector<Tensor> arguments = {Tensor({DType::f32, {20, 30}}), Tensor({DType::f32, {30, 40}}),
                                         Tensor({DType::f32, {40}})};
  EXPECT_EQ(error_of<Error>(program, arguments), "no error");
  ASSERT_EQ(program.steps.size(), 1u);
  auto block = std::make_shared<BlockStep>(*program.steps[0].block);
  std::vector<BufferSite>& sites = block->stages.back().sites;
  ASSERT_GE(sites.size(), 3u);
  sites[2].bytes -= 4;
  program.steps[0].block = block;
  EXPECT_THAT(error_of<InternalError>(program, arguments),
              AllOf(HasSubstr("would write %2["), HasSubstr("at model.tok:4")));
}

TEST(CheckedBounds, AreInTheKeyOfKernels) {
  const Program plain = compiled(kMulAdd, Checks());
  const Program checked = compiled(kMulAdd, kBounds);
  EXPECT_NE(plain.steps[0].code->nests(), checked.steps[0].code->nests());
  EXPECT_EQ(plain.observer, nullptr);
  EXPECT_TRUE(plain.steps[0].sites.empty());
}

TEST(CheckedNan, NamesTheOperationThatMadeIt) {
  const Program program = compiled(
      "func @f(%x: f32[4]) {\n  %0 = mul %x, 2.0\n  %1 = log %0\n  %2 = add %1, 1.0\n  return %2\n}\n", kNan);
  EXPECT_EQ(error_of<Error>(program, {numbers({1, 2, 0, INFINITY})}), "no error");
  EXPECT_EQ(error_of<Error>(program, {numbers({1, 2, NAN, -1})}), "no error");  // it was there before
  try {
    run_on_tensors(program, std::vector<Tensor>{numbers({1, 2, -3, 4})});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), UserError::Kind::floating_point);
    EXPECT_STREQ(error.what(),
                 "log: element [2] of f32[4] is NaN: log(-6) (in kernel mul_log_add)\n"
                 "  at model.tok:3:8, in f");
  }
}

TEST(CheckedNan, OnlyWhatIsStoredCounts) {
  const std::string chosen =
      "func @f(%x: f32[4], %y: f32[4]) {\n  %0 = log %x\n  %1 = ge %x, 0.0\n  %2 = sub %y, %y\n"
      "  %3 = select %1, %0, %2\n  return %3\n}\n";
  const Program program = compiled(chosen, kNan);
  EXPECT_EQ(error_of<Error>(program, {numbers({1, -2, 3, -4}), numbers({1, 2, 3, 4})}), "no error");
  EXPECT_THAT(error_of<UserError>(program, {numbers({1, -2, 3, -4}), numbers({1, 2, 3, INFINITY})}),
              HasSubstr("sub: element [3] of f32[4] is NaN: sub(inf, inf)"));
}

TEST(CheckedNan, ThroughViewsAndOfReductions) {
  const Program program = compiled(
      "func @f(%x: f32[4]) {\n  %0 = sqrt %x\n  %1 = reverse %0 {axes=[0]}\n"
      "  %2 = add %1, 1.0\n  return %2\n}\n",
      kNan);
  EXPECT_THAT(error_of<UserError>(program, {numbers({1, -2, 3, 4})}),
              HasSubstr("sqrt: element [1] of f32[4] is NaN: sqrt(-2)"));
  const Program sum =
      compiled("func @f(%x: f32[4]) {\n  %0 = reduce_sum %x {axes=[0]}\n  return %0\n}\n", kNan);
  EXPECT_THAT(error_of<UserError>(sum, {numbers({1, INFINITY, -INFINITY, 4})}),
              HasSubstr("reduce_sum: element [] of f32[] is NaN: reduce_sum(f32[4]) without NaN"));
}

TEST(CheckedNan, ConstantsThatAreNanAreTheUsersWill) {
  const Program program =
      compiled("func @f(%x: f32[4]) {\n  %0 = gt %x, 0.0\n  %1 = select %0, %x, nan\n  return %1\n}\n", kNan);
  EXPECT_EQ(error_of<Error>(program, {numbers({1, -2, 3, 4})}), "no error");
}

TEST(CheckedShadow, NamesTheKernelThatIsWrong) {
  Program program = compiled(kMulAdd, kShadow, /*fuse=*/false);
  const Program other = compiled(
      "func @f(%x: f32[100], %y: f32[100]) {\n  %0 = mul %x, %y\n  %1 = sub %0, %x\n  return %1\n}\n",
      Checks(), /*fuse=*/false);
  ASSERT_EQ(program.steps.size(), 2u);
  const std::vector<float> ones(100, 1);
  EXPECT_EQ(error_of<Error>(program, {numbers(ones), numbers(ones)}), "no error");
  program.steps[1].code = other.steps[1].code;
  EXPECT_THAT(
      error_of<InternalError>(program, {numbers(ones), numbers(ones)}),
      AllOf(HasSubstr("kernel add: result 0, of add, is not the interpreter's: element 0 of f32[100] is 0"),
            HasSubstr("at model.tok:3")));
}

TEST(CheckedShadow, ComparesWhatWasTraced) {
  Program program = compiled(kMulAdd, kShadow);
  program.steps.clear();
  const std::vector<float> ones(100, 1);
  EXPECT_THAT(error_of<InternalError>(program, {numbers(ones), numbers(ones)}),
              AllOf(HasSubstr("function f: result 0, of add"), HasSubstr("a pass has changed")));
}

TEST(CheckedShadow, LeavesWhatIsDonatedAlone) {
  const Graph graph = parse_one(kMulAdd);
  const std::vector<Layout> layouts(2);
  const Compiled compiled = compile(graph, layouts, {.donated = {0}, .checks = kShadow});
  EXPECT_FALSE(compiled.program->output_donor[0]);
}

TEST(Checks, RandomProgramsPassThemAll) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(seed);
    const std::vector<Tensor> arguments = random_arguments(graph, random);
    std::string message;
    try {
      run_native(graph, arguments, {.checks = kAll});
    } catch (const UserError&) {  // a NaN, or an index out of range
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "") << "seed " << seed << "\n" << print(graph);
  }
}

}  // namespace
}  // namespace tokamak::testing
