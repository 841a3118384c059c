// Memory that gives out in threads that nobody waits for: what they were to do is not done, and all goes on.

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cache/disk_cache.h"
#include "cache/harness.h"
#include "limits/allocations.h"
#include "runtime/profile_writer.h"
#include "runtime/profiler.h"

namespace tokamak::testing {
namespace {

class InBackground : public TemporaryFolder {};

TEST_F(InBackground, EntriesOfTheDiskCacheAreNotWritten) {
  // Never destroyed: its thread may still be there.
  auto& disk = *new DiskCache({.folder = path(), .max_bytes = 1 << 20, .off = {}});
  const std::string content(1000, 'x');
  for (const bool for_good : {false, true}) {
    bool was_noticed = true;
    for (int spared = 0; was_noticed; ++spared) {
      const Digest key = digest_of(std::to_string(spared));
      {
        const NoMemory none(spared, for_good);
        try {
          disk.put(key, "label", content);
        } catch (const std::bad_alloc&) {  // NOLINT: who puts it there is told, by this
        }
        disk.finish_writing();
        was_noticed = NoMemory::was_noticed();
      }
      disk.put(key, "label", content);
      disk.finish_writing();
      EXPECT_EQ(disk.find(key), content) << spared;
      ASSERT_LT(spared, 1000);
    }
  }
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(InBackground, EventsOfATraceAreWrittenLater) {
  const std::string path = base() + "/trace.json";
  const ProfileSession session;
  ProfileWriter writer(session, path);
  for (int i = 0; i < 3; ++i) {
    { const ProfileScope scope(ProfileCategory::kernel, "event"); }
    bool was_noticed = false;
    {
      const NoMemory none(i, /*for_good=*/true);
      for (int waited = 0; waited < 200 && !NoMemory::was_noticed(); ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      was_noticed = NoMemory::was_noticed();
    }
    EXPECT_TRUE(was_noticed) << i;
  }
  writer.close();
  const std::string text = text_of(path);
  EXPECT_THAT(text, ::testing::EndsWith("}\n]\n"));
  size_t events = 0;
  for (size_t at = text.find("\"event\""); at != std::string::npos; at = text.find("\"event\"", at + 1))
    ++events;
  EXPECT_EQ(events, 3u);
}

}  // namespace
}  // namespace tokamak::testing
