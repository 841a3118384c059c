#include "support/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/function_ref.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

using logging::Channel;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override {
    logging::set_sink({});
    logging::set_channels(before_);
  }

 private:
  std::string before_ = logging::channels();
};

TEST_F(LogTest, ChannelsAreOpenedByName) {
  logging::set_channels(" fusion, cache,");
  EXPECT_TRUE(logging::enabled(Channel::fusion));
  EXPECT_TRUE(logging::enabled(Channel::cache));
  EXPECT_FALSE(logging::enabled(Channel::trace));
  EXPECT_EQ(logging::channels(), "fusion,cache");
  logging::set_channels("all");
  EXPECT_EQ(logging::channels(), "trace,passes,fusion,memory,codegen,cache,recompiles");
  logging::set_channels("");
  EXPECT_EQ(logging::channels(), "");
}

TEST_F(LogTest, AnUnknownChannelIsAnErrorThatListsThem) {
  logging::set_channels("memory");
  try {
    logging::set_channels("fusion,fision");
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("'fision'"), std::string::npos);
    EXPECT_NE(error.message().find("recompiles"), std::string::npos);
  }
  EXPECT_EQ(logging::channels(), "memory");
}

TEST_F(LogTest, OnlyOpenChannelsReachTheSink) {
  std::vector<std::string> seen;
  logging::set_sink([&](Channel channel, std::string_view message) {
    seen.push_back(std::string(logging::to_string(channel)) + ": " + std::string(message));
  });
  logging::set_channels("passes");
  logging::log(Channel::passes, "folded");
  logging::log(Channel::cache, "hit");
  EXPECT_EQ(seen, (std::vector<std::string>{"passes: folded"}));
}

TEST_F(LogTest, TheDefaultSinkIsStandardError) {
  logging::set_channels("codegen");
  testing::internal::CaptureStderr();
  logging::log(Channel::codegen, "made");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tokamak [codegen] made\n");
}

TEST_F(LogTest, ThreadsMayLogAtOnce) {
  std::atomic<int> seen = 0;
  logging::set_sink([&](Channel, std::string_view) { ++seen; });
  logging::set_channels("all");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) logging::log(Channel::trace, "step");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, 400);
}

TEST_F(LogTest, ASinkMayLog) {
  static thread_local int depth = 0;
  std::atomic<int> seen = 0;
  logging::set_sink([&](Channel, std::string_view) {
    ++seen;
    if (depth++ == 0) logging::log(Channel::trace, "from inside");
    --depth;
  });
  logging::set_channels("trace");
  logging::log(Channel::trace, "from outside");
  EXPECT_EQ(seen, 2);
}

int twice(int x) { return 2 * x; }

TEST(FunctionRef, RefersToAnythingThatCanBeCalled) {
  int calls = 0;
  auto counts = [&calls](int x) { return calls += x; };
  const FunctionRef<int(int)> lambda = counts;
  lambda(2);
  const FunctionRef<int(int)> copy = lambda;
  copy(3);
  EXPECT_EQ(calls, 5);
  auto* pointer = &twice;
  const FunctionRef<int(int)> function = pointer;
  EXPECT_EQ(function(21), 42);
}

}  // namespace
}  // namespace tokamak
