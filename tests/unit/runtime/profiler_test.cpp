#include "runtime/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/buffer_pool.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

TEST(Profiler, IsOffUntilASessionBegins) {
  EXPECT_FALSE(profiler::enabled());
  { const ProfileScope scope(ProfileCategory::kernel, "before"); }
  ProfileSession session;
  EXPECT_TRUE(profiler::enabled());
  {
    ProfileScope scope(ProfileCategory::library, "matmul");
    scope.count(100, 50, 1e3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Profile profile = session.finish();
  EXPECT_FALSE(profiler::enabled());
  { const ProfileScope scope(ProfileCategory::kernel, "after"); }

  ASSERT_EQ(profile.events.size(), 1u);
  const ProfileEvent& event = profile.events[0];
  EXPECT_EQ(event.name, "matmul");
  EXPECT_EQ(event.category, ProfileCategory::library);
  EXPECT_EQ(event.bytes_read, 100);
  EXPECT_EQ(event.bytes_written, 50);
  EXPECT_EQ(event.flops, 1e3);
  EXPECT_GE(event.start_ns, 0);
  EXPECT_GE(event.end_ns - event.start_ns, 1'000'000);
  EXPECT_LE(event.end_ns, profile.duration_ns);
  EXPECT_TRUE(session.finish().events.empty());
  EXPECT_TRUE(ProfileSession().finish().events.empty());
}

TEST(Profiler, SessionsMayOverlap) {
  ProfileSession outer;
  { const ProfileScope scope(ProfileCategory::kernel, "one"); }
  ProfileSession inner;
  { const ProfileScope scope(ProfileCategory::kernel, "two"); }
  const Profile outside = outer.finish();
  { const ProfileScope scope(ProfileCategory::kernel, "three"); }
  const Profile inside = inner.finish();
  ASSERT_EQ(outside.events.size(), 2u);
  EXPECT_EQ(outside.events[0].name, "one");
  EXPECT_EQ(outside.events[1].name, "two");
  ASSERT_EQ(inside.events.size(), 2u);
  EXPECT_EQ(inside.events[0].name, "two");
  EXPECT_EQ(inside.events[1].name, "three");
}

TEST(Profiler, ThreadsRecordApart) {
  ProfileSession session;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) const ProfileScope scope(ProfileCategory::kernel, "work");
    });
  }
  for (int i = 0; i < 20; ++i) session.snapshot();
  for (std::thread& thread : threads) thread.join();
  const Profile profile = session.finish();
  EXPECT_EQ(profile.events.size(), 2000u);
  EXPECT_EQ(profile.dropped, 0);
  std::vector<int> seen(profile.threads.size());
  for (const ProfileEvent& event : profile.events) ++seen.at(event.thread);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 500), 4);
  EXPECT_TRUE(std::is_sorted(profile.events.begin(), profile.events.end(),
                             [](auto& a, auto& b) { return a.start_ns < b.start_ns; }));
}

TEST(Profiler, SeesFreshMemory) {
  BufferPool::instance().trim();
  ProfileSession session;
  { const Block block = BufferPool::instance().allocate(4 << 20); }
  { const Block block = BufferPool::instance().allocate(4 << 20); }  // recycled: no event
  const Profile profile = session.finish();
  ASSERT_EQ(profile.events.size(), 1u);
  EXPECT_EQ(profile.events[0].category, ProfileCategory::allocation);
  BufferPool::instance().trim();
}

TEST(Profiler, WritesATrace) {
  Profile profile;
  profile.threads = {"main \"thread\"\n"};
  profile.events = {{.name = "add\\mul\xff caf\xc3\xa9",
                     .category = ProfileCategory::kernel,
                     .thread = 0,
                     .start_ns = 1'234'567,
                     .end_ns = 1'235'567,
                     .bytes_read = 2000,
                     .bytes_written = 1000,
                     .flops = 500}};
  const std::string trace = profile.to_chrome_trace();
  EXPECT_THAT(trace, HasSubstr(R"("name":"main \"thread\"\u000a")"));
  EXPECT_THAT(trace, HasSubstr("\"name\":\"add\\\\mul\\ufffd caf\xc3\xa9\""));
  EXPECT_THAT(trace, HasSubstr(R"("ts":1234.567,"dur":1.000)"));
  EXPECT_THAT(
      trace, HasSubstr(R"("bytes_read":2000,"bytes_written":1000,"flops":500,"GB/s":3.000,"GFLOP/s":0.500)"));
}

}  // namespace
}  // namespace tokamak
