#include "runtime/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tokamak {
namespace {

namespace fs = std::filesystem;

/// A folder that stands for the root of a machine.
class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    std::string name = (fs::temp_directory_path() / "tokamak-machine-XXXXXX").string();
    root = mkdtemp(name.data());
  }
  ~MachineTest() override { fs::remove_all(root); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }

  std::string root;
};

TEST(Machine, HasCoresAndMemory) {
  EXPECT_GE(usable_cpus(), 1);
  const MemoryLimits limits = memory_limits();
  EXPECT_GT(limits.available, 0);
  EXPECT_LE(limits.available, limits.total);
}

TEST(Machine, HonoursAffinity) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST_F(MachineTest, WithoutGroupsThereAreNoLimits) {
  const GroupLimits limits = group_limits(root);
  EXPECT_FALSE(limits.cpus);
  EXPECT_FALSE(limits.memory);
}

TEST_F(MachineTest, AGroupBesideTheOneThatTheMountShowsIsNotInIt) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/proc/self/mountinfo", "31 23 0:28 /outer/in /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(group_limits(root).cpus, 1.5);
}

TEST_F(MachineTest, WhatIsNoPathIsNoGroup) {
  write("/proc/self/cgroup", "0::inner\n");
  write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/memory.max", "-5\n");
  EXPECT_FALSE(group_limits(root).cpus);
  EXPECT_FALSE(group_limits(root).memory);
}

TEST_F(MachineTest, ReadsVersion2WithItsAncestors) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/outer/memory.max", "max\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "1000000\n");
  write("/sys/fs/cgroup/outer/inner/memory.current", "600000\n");
  write("/sys/fs/cgroup/outer/inner/memory.stat", "anon 400000\ninactive_file 150000\nactive_file 50000\n");
  const GroupLimits limits = group_limits(root);
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory, 1'000'000);
  EXPECT_EQ(limits.memory_available, 550'000);
}

TEST_F(MachineTest, ReadsVersion2InsideAContainer) {
  write("/proc/self/cgroup", "0::/docker/abc\n");
  write("/proc/self/mountinfo", "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(group_limits(root).cpus, 0.5);
}

TEST_F(MachineTest, ReadsVersion1) {
  write("/proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n");
  write("/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "6000\n");
  const GroupLimits limits = group_limits(root);
  EXPECT_EQ(limits.cpus, 3.0);
  EXPECT_EQ(limits.memory, 5000);
  EXPECT_EQ(limits.memory_available, 0);
}

TEST_F(MachineTest, PassesOverWhatItCannotRead) {
  write("/proc/self/cgroup", "nonsense\n0::/a\n");
  write("/proc/self/mountinfo", "short\n31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/a/cpu.max", "many few\n");
  write("/sys/fs/cgroup/a/memory.max", "");
  const GroupLimits limits = group_limits(root);
  EXPECT_FALSE(limits.cpus);
  EXPECT_FALSE(limits.memory);
}

}  // namespace
}  // namespace tokamak
