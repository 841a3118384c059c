#include "driver/bug_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "driver/compile.h"
#include "ir/text.h"

namespace tokamak {
namespace {

std::string path_in(const std::string& message) {
  const size_t start = message.find("is in ") + 6;
  return message.substr(start, message.find(';', start) - start);
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(BugReport, NamesAFileWithTheProgram) {
  const Graph graph = parse_one("func @f(%x: f32[3]) { %0 = neg %x\n return %0 }");
  const InternalError reported = with_bug_report(InternalError("lower: something is wrong"), graph);
  const std::string message = reported.what();
  EXPECT_THAT(message, ::testing::HasSubstr("lower: something is wrong"));
  const std::string path = path_in(message);
  EXPECT_EQ(print(parse_one(text_of(path))), print(graph));
  std::remove(path.c_str());
}

/// Finds something wrong in every run.
class Finder final : public ProgramObserver {
 public:
  void after_step(size_t, const BlockMemory&) const override {
    throw InternalError("a product: something is wrong");
  }
  void after_run(const BlockMemory&) const override {}
};

TEST(BugReport, HasProgramsThatGoWrongWhileTheyRun) {
  const Graph graph = parse_one("func @f(%x: f32[3]) { %0 = neg %x\n return %0 }");
  const std::vector<Layout> layouts(1);
  Program program = *compile(graph, layouts).program;
  program.observer = std::make_shared<const Finder>();
  const float input[] = {1, 2, 3};
  const void* const inputs[] = {input};
  const int64_t* const strides[] = {nullptr};
  alignas(64) float output[3];
  void* const outputs[] = {output};
  try {
    program.run(inputs, strides, outputs);
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, ::testing::HasSubstr("a product: something is wrong"));
    const std::string path = path_in(message);
    EXPECT_EQ(print(parse_one(text_of(path))), print(graph));
    std::remove(path.c_str());
  }
}

}  // namespace
}  // namespace tokamak
