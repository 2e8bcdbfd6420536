#include "jobs/restart_strategy.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::jobs {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

MonotonicTime At(Duration since) { return MonotonicTime{} + since; }

class RestartStrategyTest : public testing::Test {
 protected:
  // Attempts that fail after `lived` each, one after the other: the delays that were granted, in milliseconds.
  std::vector<int64_t> Delays(RestartStrategy& strategy, size_t failures, Duration lived = seconds(0)) {
    std::vector<int64_t> delays;
    for (size_t i = 0; i < failures; ++i) {
      const MonotonicTime began = now_;
      now_ = now_ + lived;
      const std::optional<Duration> delay = strategy.OnFailure(began, now_);
      delays.push_back(delay.has_value() ? duration_cast<milliseconds>(*delay).count() : -1);
      if (delay.has_value()) now_ = now_ + *delay;
    }
    return delays;
  }

  SeededRandom random_{1};
  MonotonicTime now_ = At(seconds(1000));
};

TEST_F(RestartStrategyTest, NoneGivesUpAtOnce) {
  RestartStrategy strategy({.kind = RestartKind::kNone}, random_);
  EXPECT_EQ(Delays(strategy, 2), (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(strategy.restarts(), 0U);
}

TEST_F(RestartStrategyTest, FixedDelayGivesUpAfterItsAttemptsHoweverLongTheyLived) {
  RestartStrategy strategy({.kind = RestartKind::kFixedDelay, .delay = milliseconds(70), .attempts_max = 3}, random_);
  EXPECT_EQ(Delays(strategy, 1), (std::vector<int64_t>{70}));
  EXPECT_TRUE(strategy.first_of_row());
  EXPECT_EQ(Delays(strategy, 4, minutes(60)), (std::vector<int64_t>{70, 70, -1, -1}));
  EXPECT_FALSE(strategy.first_of_row());
  EXPECT_EQ(strategy.restarts(), 3U);
  EXPECT_EQ(strategy.GaveUp(), "gave up after 3 restarts (fixed-delay: attempts-max is 3)");
  EXPECT_EQ(strategy.Granted(milliseconds(70)), "restart 3 in 70 ms");
}

TEST_F(RestartStrategyTest, ExponentialDelayGrowsByHalfUpToItsGreatest) {
  RestartStrategy strategy({.kind = RestartKind::kExponentialDelay,
                            .delay = milliseconds(1000),
                            .attempts_max = 5,
                            .delay_max = milliseconds(3000)},
                           random_);
  const std::vector<int64_t> delays = Delays(strategy, 6);
  const std::vector<int64_t> middle = {1000, 1500, 2250, 3000, 3000, -1};
  for (size_t i = 0; i < middle.size(); ++i) {
    EXPECT_GE(delays[i], middle[i] < 0 ? -1 : middle[i] * 9 / 10) << i;
    EXPECT_LE(delays[i], middle[i] < 0 ? -1 : middle[i] * 11 / 10) << i;
  }
}

TEST_F(RestartStrategyTest, ExponentialDelayBeginsANewRowAfterAnAttemptThatLivedLong) {
  RestartStrategy strategy({.kind = RestartKind::kExponentialDelay,
                            .delay = milliseconds(1000),
                            .attempts_max = 2,
                            .reset_after = minutes(10)},
                           random_);
  for (int round = 0; round < 3; ++round) {
    EXPECT_LE(Delays(strategy, 1, minutes(10)).front(), 1100);
    EXPECT_TRUE(strategy.first_of_row());
    EXPECT_GE(Delays(strategy, 1, minutes(9)).front(), 1350);
    EXPECT_FALSE(strategy.first_of_row());
  }
  EXPECT_EQ(Delays(strategy, 1), (std::vector<int64_t>{-1}));
  EXPECT_EQ(strategy.restarts(), 6U);
}

TEST_F(RestartStrategyTest, ExponentialDelaysOfJobsThatFailTogetherDiffer) {
  SeededRandom other(2);
  RestartStrategy first({}, random_);
  RestartStrategy second({}, other);
  EXPECT_NE(first.OnFailure(now_, now_), second.OnFailure(now_, now_));
}

TEST_F(RestartStrategyTest, FailureRateCountsTheFailuresOfItsInterval) {
  const RestartSettings settings{.kind = RestartKind::kFailureRate,
                                 .delay = milliseconds(10),
                                 .failures_max = 2,
                                 .failures_interval = seconds(60)};
  RestartStrategy seldom(settings, random_);
  EXPECT_EQ(Delays(seldom, 6, seconds(30)), std::vector<int64_t>(6, 10));
  RestartStrategy often(settings, random_);
  EXPECT_EQ(Delays(often, 3, seconds(20)), (std::vector<int64_t>{10, 10, -1}));
}

TEST(CanRestartTest, NotWhereAPersonMustActOrAnotherProcessHas) {
  EXPECT_TRUE(CanRestart(Status::Unavailable("the broker"), true));
  EXPECT_TRUE(CanRestart(Status::Unavailable("the broker"), false));
  EXPECT_TRUE(CanRestart(Status::IoError("no space"), true));
  EXPECT_TRUE(CanRestart(Status::Internal("?"), true));
  EXPECT_FALSE(CanRestart(Status::InvalidArgument("a record"), true));
  EXPECT_TRUE(CanRestart(Status::NotFound("the topic"), true));
  EXPECT_FALSE(CanRestart(Status::NotFound("the topic"), false));
  EXPECT_FALSE(CanRestart(Status::FailedPrecondition("locked"), false));
  EXPECT_FALSE(CanRestart(Status::Fenced("taken over"), true));
  EXPECT_TRUE(CanRestart(Status::Corruption("a local file"), true));
  EXPECT_FALSE(CanRestart(Status::Corruption("the checkpoint"), false));
}

}  // namespace
}  // namespace weir::jobs
