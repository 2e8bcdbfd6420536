#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weir {
namespace {

TEST(SystemClockTest, NeverGoesBack) {
  const SystemClock clock;
  MonotonicTime last = clock.Now();
  for (int i = 0; i < 1'000; ++i) {
    const MonotonicTime now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClockTest, WallTimeIsThisCentury) {
  constexpr int64_t kYear2020Ns = 1'577'836'800'000'000'000;
  EXPECT_GT(SystemClock().WallNs(), kYear2020Ns);
  EXPECT_LT(SystemClock().WallNs(), 3 * kYear2020Ns);
}

TEST(MonotonicTimeTest, AddsAndSubtracts) {
  const MonotonicTime start{5};
  EXPECT_EQ((start + std::chrono::microseconds(1)).ns, 1'005);
  EXPECT_EQ((start + std::chrono::microseconds(1)) - start, std::chrono::microseconds(1));
}

}  // namespace
}  // namespace weir
