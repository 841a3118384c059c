#include "cache/folder.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>

#include "cache/harness.h"
#include "runtime/child_process.h"

namespace tokamak {
namespace {

class Folder : public TemporaryFolder {
 protected:
  CacheFolder folder() const { return CacheFolder(path()); }
  /// What reading says is wrong; fails the test if it gives something.
  Problem problem_of_reading(const std::string& name) const {
    Problem problem;
    EXPECT_FALSE(folder().read(name, problem)) << problem;
    return problem;
  }
  size_t names_in_folder() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(path()), std::filesystem::directory_iterator()));
  }
};

TEST_F(Folder, GivesWhatWasWritten) {
  EXPECT_EQ(problem_of_reading("a"), "");  // there is no folder yet
  EXPECT_EQ(folder().write("a", "content"), "");
  Problem problem;
  EXPECT_EQ(folder().read("a", problem), "content");
  EXPECT_EQ(problem_of_reading("b"), "");
  EXPECT_EQ(folder().write("a", ""), "");
  EXPECT_EQ(folder().read("a", problem), "");
  EXPECT_EQ(problem, "");
}

TEST_F(Folder, IsForItsOwnerAlone) {
  const mode_t before = umask(0);
  EXPECT_EQ(CacheFolder(base() + "/above/cache").write("a", "content"), "");
  umask(before);
  EXPECT_EQ(mode_of(base() + "/above/cache"), 0700);
  EXPECT_EQ(mode_of(base() + "/above/cache/a"), 0600);
}

TEST_F(Folder, ThatOthersMayWriteToIsNotUsed) {
  ASSERT_EQ(folder().write("a", "content"), "");
  for (const mode_t mode : {0720, 0702, 0777, 01777}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    EXPECT_NE(problem_of_reading("a"), "") << mode;
    EXPECT_NE(folder().write("b", "content"), "") << mode;
    EXPECT_FALSE(std::filesystem::exists(file("b")));
  }
  ASSERT_EQ(chmod(path().c_str(), 0755), 0);
  Problem problem;
  EXPECT_TRUE(folder().read("a", problem));
}

TEST_F(Folder, FilesThatOthersMayWriteToAreNotRead) {
  ASSERT_EQ(folder().write("a", "content"), "");
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(chmod(file("a").c_str(), mode), 0);
    EXPECT_NE(problem_of_reading("a"), "") << mode;
  }
  EXPECT_EQ(folder().write("a", "new"), "");  // takes its place
  EXPECT_EQ(mode_of(file("a")), 0600);
}

TEST_F(Folder, OfSomebodyElseIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  ASSERT_EQ(folder().write("a", "content"), "");
  ASSERT_EQ(chown(file("a").c_str(), kNobody, kNobody), 0);
  EXPECT_NE(problem_of_reading("a"), "");
  EXPECT_EQ(folder().write("a", "ours"), "");
  Problem problem;
  EXPECT_EQ(folder().read("a", problem), "ours");
  ASSERT_EQ(chown(path().c_str(), kNobody, kNobody), 0);
  EXPECT_NE(problem_of_reading("a"), "");
  EXPECT_NE(folder().write("b", "content"), "");
  EXPECT_TRUE(folder().files(problem).empty());
  EXPECT_NE(folder().remove("a"), "");
  EXPECT_TRUE(std::filesystem::exists(file("a")));
}

TEST_F(Folder, FollowsNoLinks) {
  ASSERT_EQ(folder().write("a", "content"), "");
  std::filesystem::create_symlink("a", file("link"));
  EXPECT_NE(problem_of_reading("link"), "");
  std::filesystem::rename(path(), base() + "/elsewhere");
  std::filesystem::create_directory_symlink(base() + "/elsewhere", path());
  EXPECT_NE(problem_of_reading("a"), "");
  EXPECT_NE(folder().write("b", "content"), "");
  EXPECT_FALSE(std::filesystem::exists(base() + "/elsewhere/b"));
}

TEST_F(Folder, WritingDoesNotGoThroughALink) {
  ASSERT_EQ(folder().write("a", "content"), "");
  write(base() + "/precious", "precious");
  std::filesystem::create_symlink(base() + "/precious", file("link"));
  EXPECT_EQ(folder().write("link", "new"), "");
  EXPECT_EQ(content_of(base() + "/precious"), "precious");
  Problem problem;
  EXPECT_EQ(folder().read("link", problem), "new");
}

TEST_F(Folder, WhatIsNoFileIsNotRead) {
  ASSERT_EQ(folder().write("a", "content"), "");
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(file("folder").c_str(), 0700), 0);
  EXPECT_NE(problem_of_reading("pipe"), "");
  EXPECT_NE(problem_of_reading("folder"), "");
  EXPECT_NE(folder().write("folder", "content"), "");
  Problem problem;
  EXPECT_EQ(folder().files(problem).size(), 1);
}

TEST_F(Folder, IsNotAFile) {
  write(path(), "a file");
  EXPECT_NE(problem_of_reading("a"), "");
  EXPECT_NE(folder().write("a", "content"), "");
  EXPECT_NE(CacheFolder(path() + "/below").write("a", "content"), "");
}

TEST_F(Folder, ThatCannotBeWrittenToCanBeRead) {
  ASSERT_EQ(folder().write("a", "content"), "");
  ASSERT_EQ(chmod(path().c_str(), 0500), 0);
  const bool is_root = geteuid() == 0;  // who writes wherever there is no read-only file system
  if (is_root) {
    ASSERT_EQ(chmod(base().c_str(), 0755), 0);
    ASSERT_EQ(chown(path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(chown(file("a").c_str(), kNobody, kNobody), 0);
  }
  const int code = exit_code_of_child([&] {
    if (is_root && setuid(kNobody) != 0) return false;
    Problem problem;
    return folder().read("a", problem) == "content" && problem.empty() &&
           !folder().write("b", "more").empty();
  });
  EXPECT_EQ(code, 0);
  ASSERT_EQ(chmod(path().c_str(), 0700), 0);
  EXPECT_EQ(names_in_folder(), 1);
}

TEST_F(Folder, AFullDiskLeavesNothingHalfWritten) {
  ASSERT_EQ(mkdir(path().c_str(), 0700), 0);
  if (mount("tokamak-test", path().c_str(), "tmpfs", 0, "size=64k,mode=700") != 0)
    GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(folder().write("small", std::string(16 << 10, 'x')), "");
  EXPECT_NE(folder().write("large", std::string(100 << 10, 'x')), "");
  EXPECT_EQ(names_in_folder(), 1);
  Problem problem;
  EXPECT_EQ(folder().read("small", problem)->size(), 16 << 10);
  EXPECT_EQ(umount(path().c_str()), 0);
}

TEST_F(Folder, AFileLargerThanTheProcessMayWriteIsAProblemOnly) {
  const int code = exit_code_of_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    return !folder().write("a", std::string(2000, 'x')).empty() && folder().write("b", "small").empty();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(names_in_folder(), 1);
}

TEST_F(Folder, ForgetsWhatWasNeverFinished) {
  ASSERT_EQ(folder().write("a", "content"), "");
  write(file(".new-0123456789abcdef"), "half");
  write(file(".new-fedcba9876543210"), "half");
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file(".new-0123456789abcdef").c_str(), long_ago, 0), 0);
  folder().remove_abandoned();
  EXPECT_FALSE(std::filesystem::exists(file(".new-0123456789abcdef")));
  EXPECT_TRUE(std::filesystem::exists(file(".new-fedcba9876543210")));  // may be being written
  Problem problem;
  EXPECT_EQ(folder().files(problem).size(), 1);
}

}  // namespace
}  // namespace tokamak
