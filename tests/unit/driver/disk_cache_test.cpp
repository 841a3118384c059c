// Programs whose code a process before has left: they do the same, and whatever is wrong with what was left
// does not matter.

#include "cache/disk_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cache/entry.h"
#include "driver/harness.h"
#include "support/verification.h"

namespace tokamak {
namespace {

using testing::run_native;

constexpr const char* kSine = R"(
func @f(%x: f32[100]) {
  %0 = sin %x
  %1 = mul %0, %x
  return %1
}
)";
constexpr const char* kAttention = R"(
func @f(%q: f32[64,16], %k: f32[16,64], %v: f32[64,16]) {
  %0 = dot %q, %k {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %1 = reduce_max %0 {axes=[1]}
  %2 = reshape %1 {shape=[64,1]}
  %3 = sub %0, %2
  %4 = exp %3
  %5 = dot %4, %v {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %5
}
)";

class DiskPrograms : public ::testing::Test {
 protected:
  DiskPrograms() { clear(); }
  static void clear() {
    DiskCache::finish();
    Problem problem;
    DiskCache::instance()->clear(problem);
    ASSERT_EQ(problem, "");
  }
  /// How many kernels of the program come from the disk.
  static long from_disk(const Graph& graph) {
    DiskCache::finish();
    const Compiled compiled = compile(graph, std::vector<Layout>(graph.parameters().size()));
    return std::ranges::count_if(compiled.explanation->kernels(), &KernelReport::from_disk_cache);
  }
  /// The entry of the one kernel there is; what kernels may share, and the program, have entries of their
  /// own.
  static std::filesystem::path kernel_file() {
    DiskCache::finish();
    Problem problem;
    for (const DiskCache::Entry& entry : DiskCache::instance()->entries(problem))
      if (!entry.label.starts_with("lanewise for") && !entry.label.starts_with("program "))
        return DiskCache::instance()->folder().path() + "/" + entry.name;
    throw std::runtime_error("there is no entry of a kernel");
  }
  static std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
};

TEST_F(DiskPrograms, TheNextCompilationFindsThem) {
  const Graph graph = parse_one(kSine);
  EXPECT_EQ(from_disk(graph), 0);
  EXPECT_EQ(from_disk(graph), 1);
  EXPECT_EQ(testing::compare_with_interpreter(graph, 1), "");
  const Compiled compiled = compile(graph, std::vector<Layout>(1));
  EXPECT_NE(compiled.explanation->to_string().find("from the disk cache: 1 of 1 kernels"), std::string::npos);
  EXPECT_NE(compiled.explanation->kernels()[0].assembly(), "");
}

TEST_F(DiskPrograms, AllStagesOfAProductAreFound) {
  const Graph graph = parse_one(kAttention);
  EXPECT_EQ(from_disk(graph), 0);
  EXPECT_EQ(from_disk(graph), 1);
  EXPECT_EQ(testing::compare_with_interpreter(graph, 1, 1 << 12), "");
}

TEST_F(DiskPrograms, DamagedOnesAreCompiledAnew) {
  const Graph graph = parse_one(kSine);
  EXPECT_EQ(from_disk(graph), 0);
  const std::filesystem::path path = kernel_file();
  const std::string whole = content_of(path);
  std::vector<std::string> damaged = {whole + "more", std::string(whole.size(), '\0'),
                                      std::string(1 << 20, 'x')};
  for (const size_t size : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{40}, size_t{71}, size_t{87},
                            size_t{88}, size_t{89}, size_t{200}, whole.size() / 2, whole.size() - 1})
    damaged.push_back(whole.substr(0, size));
  for (size_t at = 0; at < whole.size(); at += whole.size() / 40 + 1) {
    damaged.push_back(whole);
    damaged.back()[at] ^= 0x10;
  }
  for (const std::string& bytes : damaged) {
    write(path, bytes);
    EXPECT_EQ(from_disk(graph), 0);
    EXPECT_EQ(from_disk(graph), 1);  // written anew
    EXPECT_EQ(content_of(path), whole);
  }
  EXPECT_EQ(testing::compare_with_interpreter(graph, 1), "");
}

TEST_F(DiskPrograms, WhatIsNoCodeIsCompiledAnew) {
  if (verification_enabled()) GTEST_SKIP() << "the compiler checks what it finds, and would not go on";
  const Graph graph = parse_one(kSine);
  EXPECT_EQ(from_disk(graph), 0);
  const std::filesystem::path path = kernel_file();
  const std::string whole = content_of(path);
  Digest key;
  std::copy_n(whole.begin() + 40, key.size(), key.begin());
  const std::string object = decode_entry(key, whole)->content;
  const size_t elf = object.find(
      "\x7f"
      "ELF");
  std::vector<std::string> contents = {"", "garbage", std::string(100, '\xff'), object.substr(0, elf)};
  contents.push_back(Fingerprint().add(size_t{0}).add("no object").bytes());
  contents.push_back(Fingerprint().add(size_t{1}).add("system").add(object.substr(elf)).bytes());
  contents.push_back(
      Fingerprint().add(size_t{0}).add(object.substr(elf)).bytes());  // binds nothing that it calls
  contents.push_back(Fingerprint().add(size_t{0}).add(object.substr(elf, 200)).bytes());
  for (const std::string& content : contents) {
    write(path, encode_entry(key, "", content));
    EXPECT_EQ(testing::compare_with_interpreter(graph, 1), "");
    EXPECT_EQ(from_disk(graph), 1);
    EXPECT_EQ(content_of(path), whole);
  }
}

TEST_F(DiskPrograms, OthersAreNotTakenForThem) {
  const Graph sine = parse_one(kSine);
  std::string text = kSine;
  text.replace(text.find("mul %0, %x"), 10, "mul %0, 2.");
  EXPECT_EQ(from_disk(sine), 0);
  EXPECT_EQ(from_disk(parse_one(text)), 0);
  text.replace(text.find("2."), 2, "-2.");
  EXPECT_EQ(from_disk(parse_one(text)), 0);
  const Compiled relaxed = compile(sine, std::vector<Layout>(1), {.fast_math = true});
  EXPECT_FALSE(relaxed.explanation->kernels()[0].from_disk_cache);
}

TEST_F(DiskPrograms, RandomOnesDoTheSame) {
  long kernels = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = testing::random_graph(seed);
    const std::vector<Tensor> arguments = testing::random_arguments(graph, random);
    const std::vector<Tensor> first = run_native(graph, arguments);
    kernels += from_disk(graph);
    EXPECT_EQ(run_native(graph, arguments), first) << print(graph);
  }
  EXPECT_GT(kernels, 20);
}

}  // namespace
}  // namespace tokamak
