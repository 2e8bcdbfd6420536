#include "base/check.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

enum class Color { kRed = 3 };

TEST(CheckTest, PassesWhereItHolds) {
  int evaluated = 0;
  WEIR_CHECK(++evaluated == 1);
  WEIR_CHECK_EQ(++evaluated, 2);
  WEIR_CHECK_NE(evaluated, 0);
  WEIR_CHECK_LT(1, 2);
  WEIR_CHECK_LE(2, 2);
  WEIR_CHECK_GT(2, 1);
  WEIR_CHECK_GE(2, 2);
  EXPECT_EQ(evaluated, 2);
}

TEST(CheckDeathTest, SaysWhereAndWhat) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(WEIR_CHECK(1 + 1 == 3), "check failed at .*check_test.cc:[0-9]+: 1 \\+ 1 == 3");
}

TEST(CheckDeathTest, SaysBothValues) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int n = 7;
  EXPECT_DEATH(WEIR_CHECK_EQ(n, 8), "n == 8 \\(7 against 8\\)");
  EXPECT_DEATH(WEIR_CHECK_NE(std::string("same"), "same"), "same against same");
  EXPECT_DEATH(WEIR_CHECK_NE(Color::kRed, Color::kRed), "3 against 3");
}

}  // namespace
}  // namespace weir
