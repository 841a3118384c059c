// Programs that a process before has left as a whole: they are what was compiled, and whatever else is found
// is none.

#include "driver/kept_program/kept_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cache/disk_cache.h"
#include "cache/entry.h"
#include "driver/harness.h"
#include "support/verification.h"

namespace tokamak {
namespace {

constexpr const char* kSum = R"(
func @sum(%x: f32[1000,300], %y: f32[300]) {
  %0 = mul %x, %y
  %1 = exp %0
  %2 = reduce_sum %1 {axes=[0,1]}
  return %1, %2
}
)";
constexpr const char* kLayers = R"(
func @layers(%x: f32[32,64], %w: f32[64,128], %b: f32[128], %v: f32[128,16]) {
  %0 = dot %x, %w {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %1 = add %0, %b
  %2 = max %1, 0.0
  %3 = dot %2, %v {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %3
}
)";
constexpr const char* kAttention = R"(
func @attention(%q: f32[4,64,16], %k: f32[4,64,16], %v: f32[4,64,16]) {
  %0 = dot %q, %k {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[2]}
  %1 = iota {shape=[64,64], axis=0, dtype=i32}
  %2 = iota {shape=[64,64], axis=1, dtype=i32}
  %3 = ge %1, %2
  %4 = select %3, %0, -1e30
  %5 = reduce_max %4 {axes=[2]}
  %6 = reshape %5 {shape=[4,64,1]}
  %7 = sub %4, %6
  %8 = exp %7
  %9 = reduce_sum %8 {axes=[2]}
  %10 = reshape %9 {shape=[4,64,1]}
  %11 = div %8, %10
  %12 = dot %11, %v {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
  return %12
}
)";
constexpr const char* kRow = R"(
func @row(%x: f64[1,300], %w: f64[300,200]) {
  %0 = dot %x, %w {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %0
}
)";
constexpr const char* kSmall = R"(
func @small(%x: f32[100,8,8], %y: f32[100,8,8]) {
  %0 = dot %x, %y {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
  return %0
}
)";
constexpr const char* kConstant = R"(
func @constant(%x: f32[4,3]) {
  %0 = constant f32[3,2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %1 = dot %x, %0 {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %2 = constant f32[2] [0.5, 2.0]
  %3 = mul %1, %2
  return %3, %x
}
)";
constexpr const char* kSort = R"(
func @sorted(%x: f32[100]) {
  %0 = sort %x {axis=0}
  return %0
}
)";
constexpr const char* kChecked = R"(
func @checked(%x: f32[100], %i: i64[10]) {
  %0 = gather %x, %i {axis=0, mode=check}
  return %0
}
)";

bool is_whole(const Compiled& compiled) { return compiled.explanation->times()[0].stage == "disk cache"; }

class KeptPrograms : public ::testing::Test {
 protected:
  KeptPrograms() { clear(); }

  static void clear() {
    DiskCache::finish();
    Problem problem;
    DiskCache::instance()->clear(problem);
    EXPECT_EQ(problem, "");
  }

  static Compiled compiled(const Graph& graph, const CompileOptions& options = {}) {
    DiskCache::finish();
    return compile(graph, std::vector<Layout>(graph.parameters().size()), options);
  }
  static std::optional<std::string> encoded(const Graph& graph, const CompileOptions& options = {}) {
    const Compiled made = compiled(graph, options);
    std::optional<std::string> bytes = encode_program(*made.program, 1);
    DiskCache::finish();
    return bytes;
  }
  /// As it is when the disk has nothing.
  static std::optional<std::string> encoded_anew(const Graph& graph) {
    clear();
    return encoded(graph);
  }
  /// The file of the program, among those of its code.
  static std::filesystem::path file_of_program() {
    DiskCache::finish();
    Problem problem;
    for (const DiskCache::Entry& entry : DiskCache::instance()->entries(problem))
      if (entry.label.starts_with("program "))
        return DiskCache::instance()->folder().path() + "/" + entry.name;
    throw std::runtime_error("there is no entry of a program");
  }
  static std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(KeptPrograms, AreWhatWasCompiled) {
  for (const char* text : {kSum, kLayers, kAttention, kRow, kSmall, kConstant}) {
    const Graph graph = parse_one(text);
    std::mt19937 random(1);
    const std::vector<Tensor> arguments = testing::random_arguments(graph, random);
    const std::vector<Tensor> expected = testing::run_native(graph, arguments);
    const std::optional<std::string> bytes = encoded(graph);
    ASSERT_TRUE(bytes) << text;
    const std::optional<KeptProgram> found = decode_program(*bytes, current_cpu());
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(encode_program(*found->program, 1), bytes);
    EXPECT_EQ(run_on_tensors(*found->program, arguments), expected) << text;
  }
}

TEST_F(KeptPrograms, OfRandomGraphsAreWhatWasCompiled) {
  int kept = 0;
  for (uint32_t seed = 1000; seed < 1100; ++seed) {
    const Graph graph = testing::random_graph(seed);
    std::mt19937 random(seed);
    const std::vector<Tensor> arguments = testing::random_arguments(graph, random);
    const CompileOptions options{.fuse = seed % 3 != 0, .fast_math = seed % 5 == 0};
    const std::vector<Tensor> expected = testing::run_native(graph, arguments, options);
    const std::optional<std::string> bytes = encoded(graph, options);
    if (!bytes) continue;
    const std::optional<KeptProgram> found = decode_program(*bytes, current_cpu());
    ASSERT_TRUE(found) << print(graph);
    EXPECT_EQ(encode_program(*found->program, 1), bytes) << print(graph);
    EXPECT_EQ(run_on_tensors(*found->program, arguments), expected) << print(graph);
    ++kept;
  }
  EXPECT_GT(kept, 50);
}

TEST_F(KeptPrograms, TheNextCompilationFindsThem) {
  if (verification_enabled()) GTEST_SKIP() << "the compiler compiles all the same";
  for (const char* text : {kSum, kLayers, kAttention, kRow, kSmall, kConstant}) {
    const Graph graph = parse_one(text);
    const Compiled first = compiled(graph);
    const Compiled second = compiled(graph);
    EXPECT_FALSE(is_whole(first)) << text;
    EXPECT_TRUE(is_whole(second)) << text;
    EXPECT_EQ(second.program->name, first.program->name);
    std::mt19937 random(1);
    const std::vector<Tensor> arguments = testing::random_arguments(graph, random);
    EXPECT_EQ(run_on_tensors(*second.program, arguments), run_on_tensors(*first.program, arguments)) << text;
    // What is asked of it later is what would have been told at once.
    EXPECT_EQ(second.explanation->graph(), first.explanation->graph());
    EXPECT_EQ(second.explanation->optimized(), first.explanation->optimized());
    EXPECT_EQ(second.explanation->memory().plan, first.explanation->memory().plan);
    EXPECT_EQ(second.explanation->steps(), first.explanation->steps());
    ASSERT_EQ(second.explanation->kernels().size(), first.explanation->kernels().size());
    for (size_t i = 0; i < first.explanation->kernels().size(); ++i) {
      EXPECT_EQ(second.explanation->kernels()[i].loops, first.explanation->kernels()[i].loops);
      EXPECT_EQ(second.explanation->kernels()[i].assembly(), first.explanation->kernels()[i].assembly());
    }
  }
}

TEST_F(KeptPrograms, OthersAreNotTakenForThem) {
  if (verification_enabled()) GTEST_SKIP() << "the compiler compiles all the same";
  const Graph graph = parse_one(kSum);
  EXPECT_FALSE(is_whole(compiled(graph)));
  EXPECT_TRUE(is_whole(compiled(graph, {.called = "other"})));
  EXPECT_FALSE(is_whole(compiled(graph, {.fuse = false})));
  EXPECT_FALSE(is_whole(compiled(graph, {.optimize = false})));
  EXPECT_FALSE(is_whole(compiled(graph, {.fast_math = true})));
  EXPECT_FALSE(is_whole(compiled(graph, {.donated = {0}})));
  EXPECT_FALSE(is_whole(compiled(graph, {.written = {{.output = 0, .input = 0}}})));
  EXPECT_FALSE(is_whole(compiled(graph, {.disabled_passes = {"simplify"}})));
  DiskCache::finish();
  const Layout strided{.dense = false, .axes = {Layout::Axis::other, Layout::Axis::unit}};
  EXPECT_FALSE(is_whole(compile(graph, std::vector<Layout>{strided, Layout{}})));
  EXPECT_TRUE(is_whole(compiled(graph)));
  std::string text = kSum;
  text.replace(text.find("exp"), 3, "sin");
  EXPECT_FALSE(is_whole(compiled(parse_one(text))));
}

/// The kernels of two lengths share code, that of one has its own.
TEST_F(KeptPrograms, DoNotDependOnWhatElseIsInMemory) {
  const Graph both = parse_one(R"(
func @both(%x: f32[100], %y: f32[200]) {
  %0 = exp %x
  %1 = exp %y
  return %0, %1
}
)");
  const Graph one = parse_one(R"(
func @one(%x: f32[100]) {
  %0 = exp %x
  return %0
}
)");
  const std::optional<std::string> alone = encoded_anew(both);
  const std::optional<std::string> first = encoded_anew(one);
  clear();
  std::vector<Compiled> in_memory = {compiled(one)};
  EXPECT_EQ(encoded_anew(both), alone);
  clear();
  in_memory.push_back(compiled(both));
  EXPECT_EQ(encoded_anew(both), alone);
  EXPECT_EQ(encoded_anew(one), first);
  in_memory.erase(in_memory.begin());
  EXPECT_EQ(encoded_anew(one), first);
}

TEST_F(KeptPrograms, OfRandomGraphsDoNotDependOnWhatElseIsInMemory) {
  for (uint32_t seed = 2000; seed < 2030; ++seed) {
    const Graph graph = testing::random_graph(seed);
    const std::optional<std::string> alone = encoded_anew(graph);
    std::vector<Compiled> in_memory;
    // Parts of the graph, each with some of its kernels.
    for (const Value output : graph.outputs()) {
      Graph part = graph;
      part.set_outputs({output});
      in_memory.push_back(compiled(part));
    }
    in_memory.push_back(compiled(graph, {.fuse = false}));
    EXPECT_EQ(encoded_anew(graph), alone) << print(graph);
  }
}

TEST_F(KeptPrograms, SomeAreCompiledEveryTime) {
  const Graph graph = parse_one(kSort);
  EXPECT_EQ(encoded(graph), std::nullopt);
  EXPECT_FALSE(is_whole(compiled(graph)));
  EXPECT_FALSE(is_whole(compiled(graph)));
}

/// The error of a program that looks an index up, which is out of range.
UserError error_of(const Program& program) {
  const std::vector<int64_t> indices(10, 100);
  const std::vector<Tensor> arguments = {Tensor({DType::f32, {100}}),
                                         Tensor::copy_of({DType::i64, {10}}, indices.data())};
  try {
    run_on_tensors(program, arguments);
  } catch (const UserError& error) {
    return error;
  }
  throw std::runtime_error("there was no error");
}

/// The lines that errors tell are those of the program that asks, not of the one that was kept.
TEST_F(KeptPrograms, HaveTheErrorsOfTheirOwnLines) {
  const Graph graph = parse_one(kChecked, "one.tok");
  const Graph elsewhere = parse_one(kChecked, "other.tok");
  const Compiled first = compiled(graph);
  const Compiled second = compiled(graph);
  const Compiled third = compiled(elsewhere);
  EXPECT_EQ(is_whole(second), !verification_enabled());
  EXPECT_FALSE(is_whole(third));
  for (const Compiled* one : {&first, &second, &third}) {
    const UserError error = error_of(*one->program);
    EXPECT_EQ(error.kind(), UserError::Kind::index);
    EXPECT_EQ(error.where().file, one == &third ? "other.tok" : "one.tok");
    EXPECT_GT(error.where().line, 0u);
    EXPECT_EQ(error.message(), error_of(*first.program).message());
    const std::vector<Tensor> fine = {Tensor({DType::f32, {100}}), Tensor({DType::i64, {10}})};
    EXPECT_EQ(run_on_tensors(*one->program, fine), std::vector<Tensor>{Tensor({DType::f32, {10}})});
  }
}

TEST_F(KeptPrograms, WithoutTheirCodeAreCompiledAnew) {
  const Graph graph = parse_one(kSum);
  const std::string bytes = encoded(graph).value();
  EXPECT_TRUE(decode_program(bytes, current_cpu()));
  const std::filesystem::path program = file_of_program();
  for (const auto& one : std::filesystem::directory_iterator(program.parent_path()))
    if (one.path() != program) std::filesystem::remove(one.path());
  EXPECT_FALSE(decode_program(bytes, current_cpu()));
  EXPECT_FALSE(is_whole(compiled(graph)));
  EXPECT_EQ(is_whole(compiled(graph)), !verification_enabled());
}

TEST_F(KeptPrograms, DamagedOnesAreCompiledAnew) {
  const Graph graph = parse_one(kSum);
  (void)compiled(graph);
  const std::filesystem::path path = file_of_program();
  const std::string whole = content_of(path);
  std::vector<std::string> damaged = {"", whole + "more", std::string(whole.size(), '\0')};
  for (size_t at = 0; at < whole.size(); at += whole.size() / 40 + 1) {
    damaged.push_back(whole.substr(0, at));
    damaged.push_back(whole);
    damaged.back()[at] ^= 0x10;
  }
  for (const std::string& bytes : damaged) {
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_FALSE(is_whole(compiled(graph)));
    DiskCache::finish();
    EXPECT_EQ(content_of(path), whole);  // written anew
  }
}

/// Weights are packed from where a cache line begins: they have to be found wherever they come to lie.
TEST_F(KeptPrograms, PackedConstantsMayLieAnywhere) {
  const Graph graph = parse_one(kConstant);
  std::mt19937 random(1);
  const std::vector<Tensor> arguments = testing::random_arguments(graph, random);
  const std::vector<Tensor> expected = testing::run_native(graph, arguments);
  const std::string bytes = encoded(graph).value();
  std::vector<KeptProgram> found;
  std::vector<std::vector<char>> between;
  for (size_t i = 0; i < 20; ++i) {
    between.emplace_back(16 * i + 1);
    found.push_back(decode_program(bytes, current_cpu()).value());
    EXPECT_EQ(run_on_tensors(*found.back().program, arguments), expected);
    EXPECT_EQ(encoded(graph), bytes);
  }
}

/// What has a right checksum, and is something else all the same.
TEST_F(KeptPrograms, WhatIsNoProgramIsNone) {
  for (const char* text : {kSum, kAttention, kConstant, kChecked}) {
    const std::string whole = encoded(parse_one(text)).value();
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(decode_program(std::string_view(whole).substr(0, size), current_cpu()));
    EXPECT_FALSE(decode_program(whole + '\0', current_cpu()));
    std::mt19937 random(7);
    for (int i = 0; i < 10000; ++i) {
      std::string changed = whole;
      for (uint32_t change = random() % 4 + 1; change > 0; --change)
        changed[random() % changed.size()] = static_cast<char>(random() % 3 == 0 ? 255 : random());
      const std::optional<KeptProgram> found = decode_program(changed, current_cpu());
      if (found) {
        EXPECT_EQ(encode_program(*found->program, found->kernels), changed);
      }
    }
  }
}

/// Numbers of code that nobody would have given, as of others.
TEST_F(KeptPrograms, AreReadOnlyAsTheyWouldBeWritten) {
  const std::string whole = encoded(parse_one(kLayers), {.fuse = false}).value();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {0, 1, 2}) {
      std::string changed = whole;
      changed[at] = byte;
      const std::optional<KeptProgram> found = decode_program(changed, current_cpu());
      if (found) {
        EXPECT_EQ(encode_program(*found->program, found->kernels), changed) << at;
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
