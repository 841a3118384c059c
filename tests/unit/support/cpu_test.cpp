#include "support/cpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tokamak {
namespace {

TEST(Cpu, CountsOnItsShareOfTheLastCache) {
  const Cpu cpu = cpu_named("native");
  EXPECT_GE(cpu.l3_bytes, 1 << 20);
  EXPECT_LE(cpu.l3_bytes, (int64_t{16} << 20) * sysconf(_SC_NPROCESSORS_ONLN));
}

TEST(Cpu, LevelsHaveTheSameCachesEverywhere) {
  for (const char* level : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    EXPECT_EQ(cpu_named(level).l2_bytes, 512 << 10);
    EXPECT_EQ(cpu_named(level).l3_bytes, 16 << 20);
  }
}

}  // namespace
}  // namespace tokamak
