#include "driver/bug_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "ir/text.h"

namespace tokamak {
namespace {

TEST(BugReport, NamesAFileWithTheProgram) {
  const Graph graph = parse_one("func @f(%x: f32[3]) { %0 = neg %x\n return %0 }");
  const InternalError reported = with_bug_report(InternalError("lower: something is wrong"), graph);
  const std::string message = reported.what();
  EXPECT_THAT(message, ::testing::HasSubstr("lower: something is wrong"));
  const size_t start = message.find("is in ") + 6;
  const std::string path = message.substr(start, message.find(';', start) - start);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(print(parse_one(text.str())), print(graph));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tokamak
