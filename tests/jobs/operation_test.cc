// What an operator reads of a job, from readings made by hand.
#include <gtest/gtest.h>

#include <limits>

#include "jobs/health.h"
#include "jobs/job_metrics.h"
#include "jobs/metrics_text.h"

namespace weir::jobs {
namespace {

using std::chrono::seconds;

TEST(MetricsTextTest, EachNameOnceWithHelpAndType) {
  MetricsText text;
  text.Gauge("weir_b", "Second.", {{"x", "1"}}, 0.5);
  text.Counter("weir_a_total", "First \\ of\ntwo.", {}, 12345678901234.0);
  text.Gauge("weir_b", "Another help.", {{"x", "2"}}, -3);
  EXPECT_EQ(text.Text(),
            "# HELP weir_a_total First \\\\ of\\ntwo.\n"
            "# TYPE weir_a_total counter\n"
            "weir_a_total 12345678901234\n"
            "# HELP weir_b Second.\n"
            "# TYPE weir_b gauge\n"
            "weir_b{x=\"1\"} 0.5\n"
            "weir_b{x=\"2\"} -3\n");
}

TEST(MetricsTextTest, LabelsAreEscapedAndNamesMadeFit) {
  MetricsText text;
  text.Gauge("weir_a.b-c", "H.", {{"to-pic", "a\"b\\c\nd"}, {"9", "\xc3\xa4"}}, 1);
  EXPECT_EQ(text.Text(),
            "# HELP weir_a_b_c H.\n# TYPE weir_a_b_c gauge\n"
            "weir_a_b_c{to_pic=\"a\\\"b\\\\c\\nd\",_=\"\xc3\xa4\"} 1\n");
}

TEST(MetricsTextTest, WhatIsNotKnownIsNotThere) {
  MetricsText text;
  text.Gauge("weir_a", "H.", {}, std::numeric_limits<double>::quiet_NaN());
  text.Gauge("weir_b", "H.", {}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.Text(), "# HELP weir_b H.\n# TYPE weir_b gauge\nweir_b +Inf\n");
}

JobReading Running() {
  JobReading reading;
  reading.job = "orders";
  reading.state = RunState::kRunning;
  reading.checkpoint_interval = seconds(5);
  reading.now = MonotonicTime{} + seconds(1'000);
  reading.now_wall_ns = int64_t{1'700'000'000} * 1'000'000'000;
  reading.attempt_began = MonotonicTime{} + seconds(900);
  reading.checkpoints.applied_at = MonotonicTime{} + seconds(990);
  return reading;
}

TEST(HealthTest, B33_RunningWithACheckpointAppliedInTimeIsWell) {
  JobReading reading = Running();
  EXPECT_TRUE(JudgeHealth(reading).ok());
  EXPECT_EQ(HealthJson(reading, JudgeHealth(reading)),
            "{\"job\":\"orders\",\"state\":\"running\",\"healthy\":true,\"causes\":[]}\n");
  reading.checkpoints.applied_at = MonotonicTime{} + seconds(984);
  EXPECT_FALSE(JudgeHealth(reading).ok());
  reading.attempt_began = MonotonicTime{} + seconds(986);
  EXPECT_TRUE(JudgeHealth(reading).ok()) << "it has just begun";
}

TEST(HealthTest, Weakness_n_TheCauseIsNamed) {
  JobReading reading = Running();
  reading.checkpoints.applied_at = MonotonicTime{} + seconds(950);
  checkpoint::SystemStats& system = reading.checkpoints.systems.emplace_back();
  system.waiting = {"kafka:a", 3, 700, 9'000, Status::Unavailable("no \"broker\"")};
  reading.checkpoints.systems.emplace_back().waiting.system = "file:/out";
  EXPECT_EQ(HealthJson(reading, JudgeHealth(reading)),
            "{\"job\":\"orders\",\"state\":\"running\",\"healthy\":false,\"causes\":["
            "\"no checkpoint was applied for 50.0 s, longer than 3 intervals of 5.0 s\","
            "\"700 rows wait for kafka:a: no \\\"broker\\\"\"]}\n");
}

TEST(HealthTest, StatesThatAreNotRunning) {
  JobReading reading = Running();
  for (const RunState state : kRunStates) {
    reading.state = state;
    EXPECT_EQ(JudgeHealth(reading).ok(), state == RunState::kRunning || state == RunState::kFinished)
        << RunStateName(state);
  }
  reading.state = RunState::kRestarting;
  reading.last_failure = "unavailable: no broker";
  EXPECT_EQ(JudgeHealth(reading).causes,
            std::vector<std::string>{"the job is not running: restarting: unavailable: no broker"});
}

TEST(HealthTest, B33_APartitionThatWasNotPolled) {
  JobReading reading = Running();
  const double now = 1'700'000'000;
  const auto polled = [](std::string partition, double at) {
    return NamedReading{
        "in", "partition_polled_seconds", {{"topic", "t"}, {"partition", std::move(partition)}}, 0, false, at};
  };
  reading.named = {polled("0", now - 29), polled("1", std::numeric_limits<double>::quiet_NaN())};
  EXPECT_TRUE(JudgeHealth(reading).ok());
  reading.named.push_back(polled("2", now - 31));
  EXPECT_EQ(JudgeHealth(reading).causes,
            std::vector<std::string>{"source in: topic t partition 2 was not polled for 31 s"});
}

TEST(JobMetricsTest, LagsAreOfTheForemostReaderAndTheHindmostWriter) {
  JobReading reading = Running();
  const double now = 1'700'000'000;
  reading.named = {{"in", "event_time_seconds", {}, 0, false, now - 9},
                   {"in", "event_time_seconds", {}, 1, false, now - 2},
                   {"out", "applied_watermark_seconds", {}, 0, false, now - 4},
                   {"out", "applied_watermark_seconds", {}, 1, false, now - 7},
                   {"out", "upserts", {{"table", "a\"b"}}, 1, true, 17}};
  const std::string page = MetricsPage(reading, {});
  EXPECT_NE(page.find("\nweir_source_lag_seconds{job=\"orders\",uid=\"in\"} 2\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\nweir_target_lag_seconds{job=\"orders\",uid=\"out\"} 7\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\nweir_upserts_total{job=\"orders\",uid=\"out\",subtask=\"1\",table=\"a\\\"b\"} 17\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("\nweir_job_state{job=\"orders\",state=\"running\"} 1\n"), std::string::npos);
  EXPECT_NE(page.find("\nweir_job_state{job=\"orders\",state=\"failed\"} 0\n"), std::string::npos);
}

}  // namespace
}  // namespace weir::jobs
