#include "support/sizes.h"

#include <gtest/gtest.h>

#include <limits>

namespace tokamak {
namespace {

TEST(Sizes, ReadWell) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(8), "8 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1 KB");
  EXPECT_EQ(bytes_text(1024), "1.02 KB");
  EXPECT_EQ(bytes_text(1500), "1.5 KB");
  EXPECT_EQ(bytes_text(192'000'000), "192 MB");
  EXPECT_EQ(bytes_text(5'000'000'000'000), "5 TB");
  EXPECT_EQ(bytes_text(std::numeric_limits<int64_t>::max()), "9.22 EB");
}

}  // namespace
}  // namespace tokamak
