#include "cache/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <thread>

#include "cache/harness.h"
#include "runtime/child_process.h"

namespace tokamak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Disk : public TemporaryFolder {
 protected:
  DiskCache& cache(int64_t max_bytes = 1 << 20) {
    // Never destroyed: its thread may still be there.
    static auto* kept = new std::vector<DiskCache*>;
    return *kept->emplace_back(new DiskCache({.folder = path(), .max_bytes = max_bytes}));
  }
  static Digest key(int number) { return digest_of(std::to_string(number)); }
  static void put(DiskCache& cache, int number, const std::string& content) {
    cache.put(key(number), "label " + std::to_string(number), content);
    cache.finish_writing();
  }
  void set_used(int number, time_t second) const {
    const timespec times[2] = {{second, 0}, {second, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file(to_hex(key(number))).c_str(), times, 0), 0);
  }
};

TEST_F(Disk, GivesWhatWasPut) {
  DiskCache& first = cache();
  EXPECT_FALSE(first.find(key(1)));
  put(first, 1, "one");
  EXPECT_EQ(cache().find(key(1)), "one");
  EXPECT_FALSE(cache().find(key(2)));
  EXPECT_THAT(first.take_notes(), IsEmpty());
}

TEST_F(Disk, ReplacesWhatIsDamaged) {
  DiskCache& disk = cache();
  put(disk, 1, "one");
  const std::string name = file(to_hex(key(1)));
  std::string bytes = content_of(name);
  bytes.back() ^= 1;
  write(name, bytes);
  EXPECT_FALSE(disk.find(key(1)));
  EXPECT_THAT(disk.take_notes(), ElementsAre(HasSubstr("damaged or of another version")));
  put(disk, 1, "one");
  EXPECT_EQ(disk.find(key(1)), "one");
}

TEST_F(Disk, AnEntryUnderAnotherNameIsNone) {
  DiskCache& disk = cache();
  put(disk, 1, "one");
  std::filesystem::copy(file(to_hex(key(1))), file(to_hex(key(2))));
  EXPECT_FALSE(disk.find(key(2)));
}

TEST_F(Disk, ThrowsOutWhatWasNotUsedForLongest) {
  DiskCache& disk = cache(10000);
  for (int i = 0; i < 8; ++i) {
    put(disk, i, std::string(1000, 'x'));
    set_used(i, 1000 + i);
  }
  EXPECT_TRUE(disk.find(key(0)));  // used now
  put(disk, 8, std::string(1500, 'x'));
  put(disk, 9, std::string(1500, 'x'));
  EXPECT_TRUE(disk.find(key(0)));
  EXPECT_FALSE(disk.find(key(1)));
  EXPECT_TRUE(disk.find(key(8)));
  EXPECT_TRUE(disk.find(key(9)));
  Problem problem;
  int64_t bytes = 0;
  for (const DiskCache::Entry& entry : disk.entries(problem)) bytes += entry.bytes;
  EXPECT_LE(bytes, 10000);
  EXPECT_THAT(disk.take_notes(), ElementsAre(HasSubstr("entries removed")));
}

TEST_F(Disk, SeesWhatOthersHaveWritten) {
  put(cache(), 1, std::string(6000, 'x'));
  set_used(1, 1000);
  put(cache(10000), 2, std::string(6000, 'x'));
  EXPECT_FALSE(cache().find(key(1)));
  EXPECT_TRUE(cache().find(key(2)));
}

TEST_F(Disk, KeepsNothingThatIsTooLarge) {
  DiskCache& disk = cache(1000);
  put(disk, 1, std::string(1000, 'x'));
  EXPECT_FALSE(disk.find(key(1)));
  EXPECT_THAT(disk.take_notes(), ElementsAre(HasSubstr("more than it may hold")));
}

TEST_F(Disk, TellsWhatIsThere) {
  DiskCache& disk = cache();
  put(disk, 1, "one");
  set_used(1, 1000);
  write(file("notes.txt"), "not ours");
  Problem problem;
  const std::vector<DiskCache::Entry> entries = disk.entries(problem);
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0].label, "label 1");
  EXPECT_EQ(entries[0].used.tv_sec, 1000);  // a look is no use
  EXPECT_EQ(disk.clear(problem), 1);
  EXPECT_EQ(problem, "");
  EXPECT_FALSE(disk.find(key(1)));
  EXPECT_EQ(content_of(file("notes.txt")), "not ours");
}

TEST_F(Disk, ThrowsOutNothingThatIsNotItsOwn) {
  put(cache(), 1, "one");
  write(file("notes.txt"), std::string(20000, 'x'));
  put(cache(10000), 2, "two");
  EXPECT_TRUE(std::filesystem::exists(file("notes.txt")));
  EXPECT_TRUE(cache().find(key(1)));
}

TEST_F(Disk, ThreadsMayPutAndFindAtOnce) {
  DiskCache& disk = cache(200000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int number = (i * 7 + t) % 50;
        const std::string content(static_cast<size_t>(100 * number), static_cast<char>('a' + number % 26));
        disk.put(key(number), "", content);
        const std::optional<std::string> found = disk.find(key(number));
        wrong += found && *found != content;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  disk.finish_writing();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Disk, ProcessesMayPutAndFindAtOnce) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      DiskCache& disk = cache(100000);
      bool right = true;
      for (int i = 0; i < 100; ++i) {
        const int number = (i * 7 + p) % 40;
        const std::string content(static_cast<size_t>(100 * number), static_cast<char>('a' + number % 26));
        disk.put(key(number), "", content);
        const std::optional<std::string> found = disk.find(key(number));
        right = right && (!found || *found == content);
      }
      disk.finish_writing();
      _exit(right && disk.take_notes().size() < 100 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& one : std::filesystem::directory_iterator(path()))
    EXPECT_EQ(one.path().filename().string().size(), 64) << one.path();  // nothing unfinished
}

TEST_F(Disk, WritesNothingPastTheLimitOfTheProcessAndLives) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  const int code = exit_code_of_child([&] {
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    DiskCache& disk = cache();
    put(disk, 1, std::string(5000, 'x'));
    return !disk.find(key(1)) && disk.take_notes().size() == 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(DiskOfProcess, WorksOnInAForkedChild) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  DiskCache& disk = *DiskCache::instance();
  for (int i = 0; i < 50; ++i) disk.put(digest_of("before " + std::to_string(i)), "", std::string(5000, 'x'));
  const int code = exit_code_of_child([&] {
    disk.put(digest_of("in child"), "", "child");
    disk.finish_writing();
    return disk.find(digest_of("in child")) == "child";
  });
  EXPECT_EQ(code, 0);
  disk.finish_writing();
  EXPECT_EQ(disk.find(digest_of("in child")), "child");
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(disk.find(digest_of("before " + std::to_string(i)))) << i;
}

TEST(DiskOfProcess, IsWrittenWhenTheProcessEnds) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "children do not exit";
#endif
  DiskCache& disk = *DiskCache::instance();
  const int code = exit_code_of_child([&] {
    for (int i = 0; i < 50; ++i) disk.put(digest_of("last " + std::to_string(i)), "", std::string(5000, 'x'));
    return true;
  });
  EXPECT_EQ(code, 0);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(disk.find(digest_of("last " + std::to_string(i)))) << i;
}

/// Others, such as one that calls its first function while the package still warms up, find what is there.
TEST(DiskOfProcess, CanBePausedForOneThread) {
  ASSERT_NE(DiskCache::instance(), nullptr);
  {
    const DiskCachePause pause;
    EXPECT_EQ(DiskCache::instance(), nullptr);
    DiskCache* elsewhere = nullptr;
    std::thread([&] { elsewhere = DiskCache::instance(); }).join();
    EXPECT_NE(elsewhere, nullptr);
  }
  EXPECT_NE(DiskCache::instance(), nullptr);
}

/// Settings under some variables.
DiskCache::Settings settings_with(const std::vector<std::pair<const char*, const char*>>& variables) {
  constexpr const char* kAll[] = {"TOKAMAK_CACHE_DIR", "TOKAMAK_CACHE_SIZE", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> before;
  for (const char* name : kAll) {
    const char* value = std::getenv(name);
    before.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  DiskCache::Settings settings = DiskCache::settings_from_environment();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i]) {
      setenv(kAll[i], before[i]->c_str(), 1);
    } else {
      unsetenv(kAll[i]);
    }
  }
  return settings;
}

TEST(DiskSettings, FindTheFolder) {
  EXPECT_EQ(settings_with({{"TOKAMAK_CACHE_DIR", "/a/b//"}, {"XDG_CACHE_HOME", "/c"}}).folder, "/a/b");
  EXPECT_EQ(settings_with({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/d"}}).folder, "/c/tokamak");
  EXPECT_EQ(settings_with({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/d"}}).folder, "/d/.cache/tokamak");
  EXPECT_NE(settings_with({{"TOKAMAK_CACHE_DIR", "relative"}}).off, "");
  EXPECT_NE(settings_with({}).off, "");
  EXPECT_NE(settings_with({{"HOME", "/nowhere"}}).off, "");
}

TEST(DiskSettings, LeaveTheHomeOfOthersAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  std::string name = (std::filesystem::temp_directory_path() / "tokamak-home-XXXXXX").string();
  const std::string home = mkdtemp(name.data());
  EXPECT_EQ(settings_with({{"HOME", home.c_str()}}).off, "");
  ASSERT_EQ(chown(home.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(settings_with({{"HOME", home.c_str()}}).off, HasSubstr("belongs to another user"));
  std::filesystem::remove(home);
}

TEST(DiskSettings, ReadSizes) {
  const auto bytes = [](const char* size) {
    return settings_with({{"TOKAMAK_CACHE_DIR", "/a"}, {"TOKAMAK_CACHE_SIZE", size}}).max_bytes;
  };
  const int64_t usual = settings_with({{"TOKAMAK_CACHE_DIR", "/a"}}).max_bytes;
  EXPECT_EQ(usual, 512'000'000);
  EXPECT_EQ(bytes("1000"), 1000);
  EXPECT_EQ(bytes("3k"), 3000);
  EXPECT_EQ(bytes("2G"), 2'000'000'000);
  for (const char* wrong : {"many", "5 M", "5MB", "-1", "99999999999G", "M"})
    EXPECT_EQ(bytes(wrong), usual) << wrong;
  EXPECT_NE(settings_with({{"TOKAMAK_CACHE_DIR", "/a"}, {"TOKAMAK_CACHE_SIZE", "0"}}).off, "");
}

}  // namespace
}  // namespace tokamak
