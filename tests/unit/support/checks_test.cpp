#include "support/checks.h"

#include <gtest/gtest.h>

#include "tokamak/errors.h"

namespace tokamak {
namespace {

TEST(Checks, AreAskedForByName) {
  const std::string before = to_string(current_checks());
  set_checks(" nan, bounds,");
  EXPECT_TRUE(current_checks().has(Check::bounds));
  EXPECT_TRUE(current_checks().has(Check::nan));
  EXPECT_FALSE(current_checks().has(Check::shadow));
  EXPECT_EQ(to_string(current_checks()), "bounds,nan");
  EXPECT_THROW(set_checks("shadow,shade"), UserError);
  EXPECT_EQ(to_string(current_checks()), "bounds,nan");
  set_checks("all");
  EXPECT_EQ(to_string(current_checks()), "bounds,nan,shadow");
  set_checks("");
  EXPECT_FALSE(current_checks().any());
  set_checks(before);
}

}  // namespace
}  // namespace tokamak
