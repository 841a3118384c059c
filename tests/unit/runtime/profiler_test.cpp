#include "runtime/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "runtime/buffer_pool.h"
#include "runtime/profile_writer.h"
#include "runtime/thread_pool.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::vector<std::string> names_in(const Profile& profile) {
  std::vector<std::string> names;
  for (const ProfileEvent& event : profile.events) names.push_back(event.name);
  return names;
}

TEST(Profiler, WhatIsMeasuredAsideIsForNobodyElse) {
  ProfileSession open;
  { const ProfileScope scope(ProfileCategory::kernel, "before"); }
  ProfileSession aside(ProfileSession::Kind::aside);
  {
    const ProfileScope scope(ProfileCategory::kernel, "measured");
    ThreadPool::instance().run(
        64, 1, [](int64_t, int64_t, int) { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
  }
  std::thread([] { const ProfileScope scope(ProfileCategory::kernel, "elsewhere"); }).join();
  const std::vector<std::string> measured = names_in(aside.finish());
  { const ProfileScope scope(ProfileCategory::kernel, "after"); }
  EXPECT_THAT(measured, testing::Contains("measured"));  // the workers' parts, too
  EXPECT_THAT(measured, testing::Each("measured"));
  EXPECT_THAT(names_in(open.finish()), testing::UnorderedElementsAre("before", "elsewhere", "after"));
}

TEST(Profiler, ShortSessionsAreWrittenWhole) {
  const std::string path = testing::TempDir() + "short_session.json";
  for (int turn = 0; turn < 50; ++turn) {
    ProfileSession session;
    ProfileWriter writer(session, path);
    { const ProfileScope scope(ProfileCategory::kernel, "brief"); }
    writer.close();  // the thread that writes may not even have begun
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_THAT(text, HasSubstr("\"brief\""));
  }
}

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

TEST(Profiler, SeesMemory) {
  BufferPool::instance().trim();
  ProfileSession session;
  { const Block block = BufferPool::instance().allocate(4 << 20); }
  { const Block block = BufferPool::instance().allocate(4 << 20); }
  { const Block block = BufferPool::instance().allocate(100); }
  const Profile profile = session.finish();
  ASSERT_EQ(profile.events.size(), 3u);
  for (const ProfileEvent& event : profile.events) EXPECT_EQ(event.category, ProfileCategory::allocation);
  EXPECT_EQ(profile.events[0].name, "new memory");
  EXPECT_EQ(profile.events[0].bytes_written, 4 << 20);
  EXPECT_EQ(profile.events[1].name, "recycled memory");
  EXPECT_EQ(profile.events[2].bytes_written, 100);
  BufferPool::instance().trim();
}

TEST(Profiler, SeesWhatThreadsOfThePoolDo) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.num_threads();
  pool.set_num_threads(2);
  ProfileSession session;
  {
    const ProfileScope scope(ProfileCategory::kernel, "work");
    // Both threads have to come: each waits for the other.
    std::atomic<int> arrived = 0;
    pool.run(2, 1, [&](int64_t, int64_t, int) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
  }
  pool.run(2, 1, [](int64_t, int64_t, int) {});  // of no name: nobody's
  const Profile profile = session.finish();
  pool.set_num_threads(before);
  ASSERT_EQ(profile.events.size(), 2u);
  EXPECT_EQ(profile.events[0].category, ProfileCategory::kernel);
  const ProfileEvent& part = profile.events[1];
  EXPECT_EQ(part.category, ProfileCategory::worker);
  EXPECT_EQ(part.name, "work");
  EXPECT_NE(part.thread, profile.events[0].thread);
  EXPECT_GE(part.start_ns, profile.events[0].start_ns);
  EXPECT_LE(part.end_ns, profile.events[0].end_ns);
  EXPECT_THAT(profile.threads[static_cast<size_t>(part.thread)], testing::StartsWith("tokamak-"));
}

TEST(Profiler, KnowsItsCategories) {
  for (const auto category :
       {ProfileCategory::kernel, ProfileCategory::library, ProfileCategory::call, ProfileCategory::compile,
        ProfileCategory::allocation, ProfileCategory::worker}) {
    EXPECT_EQ(category_named(to_string(category)), category);
  }
  EXPECT_EQ(category_named("nonsense"), ProfileCategory::kernel);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ProfileWriter, WritesWhileItRecords) {
  const std::string path = testing::TempDir() + "trace-" + std::to_string(getpid()) + ".json";
  ProfileSession session;
  ProfileWriter writer(session, path);
  { const ProfileScope scope(ProfileCategory::kernel, "first"); }
  for (int i = 0; i < 200 && text_of(path).find("first") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(text_of(path), HasSubstr("\"first\""));
  EXPECT_THAT(text_of(path), testing::Not(testing::EndsWith("]\n")));
  { const ProfileScope scope(ProfileCategory::kernel, "second"); }
  writer.close();
  writer.close();  // the second time does nothing
  const std::string text = text_of(path);
  EXPECT_THAT(text, testing::StartsWith("[\n{"));
  EXPECT_THAT(text, testing::EndsWith("}\n]\n"));
  EXPECT_THAT(text, HasSubstr("\"second\""));
  EXPECT_EQ(text.find("\"first\""), text.rfind("\"first\""));
  EXPECT_EQ(session.finish().events.size(), 2u);
  std::remove(path.c_str());
}

TEST(ProfileWriter, SaysWhatItCannotWrite) {
  const ProfileSession session;
  EXPECT_THROW(ProfileWriter(session, "/nowhere/trace.json"), UserError);
  ProfileWriter full(session, "/dev/full");
  EXPECT_THROW(full.close(), UserError);
}

TEST(ProfileWriter, LeavesWhatAnotherRunHasWrittenUntilThereIsSomething) {
  const std::string path = testing::TempDir() + "kept-" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << "of an earlier run";
  {
    const ProfileSession session;
    ProfileWriter writer(session, path);
    EXPECT_EQ(text_of(path), "of an earlier run");
    writer.close_after_failure();
    EXPECT_EQ(text_of(path), "of an earlier run");
  }
  {
    const ProfileSession session;
    ProfileWriter writer(session, path);
    { const ProfileScope scope(ProfileCategory::kernel, "brief"); }
    writer.close_after_failure();
    EXPECT_THAT(text_of(path), testing::StartsWith("[\n{"));
    EXPECT_THAT(text_of(path), HasSubstr("\"brief\""));
    EXPECT_THAT(text_of(path), testing::EndsWith("}\n]\n"));
  }
  std::ofstream(path) << "of an earlier run, which was longer than what is written now: "
                      << std::string(500, '.');
  {
    const ProfileSession session;
    ProfileWriter writer(session, path);
    writer.close();  // nothing ran, and all went well
    EXPECT_THAT(text_of(path), testing::StartsWith("[\n{"));
    EXPECT_THAT(text_of(path), testing::EndsWith("}\n]\n"));
  }
  std::remove(path.c_str());
}

TEST(ProfileWriter, LeavesTheFileToTheParentOfAFork) {
  const std::string path = testing::TempDir() + "fork-" + std::to_string(getpid()) + ".json";
  ProfileSession session;
  ProfileWriter writer(session, path);
  const pid_t child = fork();
  if (child == 0) {
    writer.close();
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  writer.close();
  const std::string text = text_of(path);
  EXPECT_EQ(text.find(']'), text.rfind(']'));
  std::remove(path.c_str());
}

/// The descriptor of this process that leads to the file.
int descriptor_of(const std::string& path) {
  struct stat wanted {};
  stat(path.c_str(), &wanted);
  for (int i = 3; i < 1024; ++i) {
    struct stat found {};
    if (fstat(i, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return i;
  }
  return -1;
}

TEST(ProfileWriter, NeverWritesToAFileThatHasItsDescriptorNow) {
  const std::string folder = testing::TempDir() + std::to_string(getpid());
  const std::string path = folder + "-lost.json", other = folder + "-other.txt";
  for (const bool is_still_there : {true, false}) {
    ProfileSession session;
    ProfileWriter writer(session, path);
    { const ProfileScope scope(ProfileCategory::kernel, "before"); }
    for (int i = 0; i < 200 && text_of(path).find("before") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int descriptor = descriptor_of(path);
    ASSERT_GE(descriptor, 0);
    if (!is_still_there) std::remove(path.c_str());
    const int mine = open(other.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ASSERT_EQ(write(mine, "precious", 8), 8);
    ASSERT_EQ(dup2(mine, descriptor), descriptor);  // closes it and takes its number, at once
    { const ProfileScope scope(ProfileCategory::kernel, "after"); }
    writer.close();
    EXPECT_EQ(text_of(other), "precious");
    EXPECT_EQ(write(descriptor, ", still", 7), 7);  // it is not closed either
    EXPECT_EQ(text_of(other), "precious, still");
    const std::string text = text_of(path);
    EXPECT_THAT(text, testing::StartsWith("[\n{"));
    EXPECT_THAT(text, testing::EndsWith("}\n]\n"));
    for (const char* name : {"\"before\"", "\"after\"", "\"process_name\""}) {
      EXPECT_NE(text.find(name), std::string::npos) << name;
      EXPECT_EQ(text.find(name), text.rfind(name)) << name;
    }
    ::close(mine);
    ::close(descriptor);
    std::remove(path.c_str());
    std::remove(other.c_str());
  }
}

TEST(ProfileWriter, SaysHowLongItRecordedAndWhatWasDropped) {
  const std::string path = testing::TempDir() + "about-" + std::to_string(getpid()) + ".json";
  ProfileSession session;
  ProfileWriter writer(session, path);
  writer.close();
  EXPECT_THAT(text_of(path),
              HasSubstr("\"name\":\"recording\",\"args\":{\"dropped_events\":0,\"duration_ns\":"));
  EXPECT_THAT(trace_line_about({.duration_ns = 5, .dropped = 3}),
              HasSubstr("{\"dropped_events\":3,\"duration_ns\":5}"));
  std::remove(path.c_str());
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
