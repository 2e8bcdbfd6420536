// Scenario 11 of the checkpoint protocol with a file sink and an exactly-once Kafka sink in one job, on a real broker:
// sinks that go and come back at a restart.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/harness/kafka_broker.h"
#include "tests/integration/job_kafka_copy.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

constexpr int kStoppedUnapplied = 5;

// Rows come from a file, so that they also come while the cluster is away.
class JobSinksTest : public KafkaCopyTest {
 protected:
  static constexpr const char* kFiles = "files";

  void TearDown() override { harness::SharedKafkaBroker().Resume(); }

  Arguments Run(bool kafka, bool files, Arguments more = {}) {
    Json job = EmptyJob(folder_, job_);
    job["stop"] = {{"timeout", "2s"}};
    job["sources"].push_back(FileSource(folder_, "numbers", "in.jsonl", true));
    if (kafka) job["sinks"].push_back(ExactSink("copy", "numbers", out_));
    if (files) job["sinks"].push_back(FileSink(folder_, kFiles, "numbers"));
    more.insert(more.begin(), {"run", WriteJob(folder_, job), "--quiet"});
    return more;
  }
  void Feed(int count) override {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += Row(fed_++) + "\n";
    folder_.Append("in.jsonl", lines);
  }
  // What has to be in both by now.
  void Expect(std::vector<std::string> rows, bool kafka, bool files) {
    if (kafka) to_kafka_.insert(to_kafka_.end(), rows.begin(), rows.end());
    if (files) to_files_.insert(to_files_.end(), rows.begin(), rows.end());
  }
  void FeedTo(bool kafka, bool files) {
    const int from = fed_;
    Feed(100);
    Expect(Fed(from), kafka, files);
  }
  bool AllThere() {
    return Eventually(seconds(30),
                      [&] { return Out().size() >= to_kafka_.size() && Files().size() >= to_files_.size(); });
  }
  std::vector<std::string> Files() { return OutLines(folder_, kFiles); }
  void RunWith(bool kafka, bool files, const std::vector<std::string>& says = {}) {
    Weir weir(folder_, Run(kafka, files));
    FeedTo(kafka, files);
    EXPECT_TRUE(AllThere()) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    ExpectSays(weir.Output(), says);
    ExpectExact();
  }
  void ExpectExact() override {
    EXPECT_EQ(Out(), to_kafka_);
    std::ranges::sort(to_files_);
    EXPECT_EQ(Files(), to_files_);
  }

  std::vector<std::string> to_kafka_;
  std::vector<std::string> to_files_;
};

TEST_F(JobSinksTest, Scenario11_WithoutOutputThatWaitsASinkGoesAndComesBackAsNew) {
  RunWith(true, true);
  RunWith(true, false);
  RunWith(true, true, {"is new to checkpoint"});
  RunWith(false, true);
  RunWith(true, true, {"system kafka:", "is new to checkpoint"});
  RunWith(true, true);
}

TEST_F(JobSinksTest, Scenario11_WithOutputThatWaitsASinkGoesByChoiceAlone) {
  harness::KafkaBroker& broker = harness::SharedKafkaBroker();
  RunWith(true, true);
  const auto leave_rows_waiting = [&] {
    broker.Pause();
    Weir weir(folder_, Run(true, true));
    FeedTo(false, true);
    EXPECT_TRUE(Eventually(seconds(30), [&] { return Files().size() >= to_files_.size(); })) << weir.Output();
    EXPECT_EQ(weir.Stop(), kStoppedUnapplied) << weir.Output();
    ExpectSays(weir.Output(), {"100 rows wait for kafka:"});
  };
  const auto refused = [&]() -> std::string {
    const Ended ended = RunToEnd(folder_, Run(false, true));
    EXPECT_EQ(ended.code, kStartRefused) << ended.output;
    ExpectSays(ended.output, {"is not in the job definition and has not confirmed 100 rows"});
    const Ended plan = RunToEnd(folder_, {"plan", folder_.Path("job.json")});
    ExpectSays(plan.output, {"is in no sink any more, and 100 rows wait for it"});
    std::smatch system;
    EXPECT_TRUE(std::regex_search(ended.output, system, std::regex(R"(--drop-output (kafka:\S+))"))) << ended.output;
    return system[1];
  };
  // Put back, the sink gets what waited.
  leave_rows_waiting();
  refused();
  broker.Resume();
  Expect(Fed(fed_ - 100), true, false);
  RunWith(true, true);

  // Given up, it comes back as new, and what came meanwhile was not for it.
  leave_rows_waiting();
  const std::string system = refused();
  {
    Weir weir(folder_, Run(false, true, {"--drop-output", system}));
    FeedTo(false, true);
    EXPECT_TRUE(Eventually(seconds(30), [&] { return Files().size() >= to_files_.size(); })) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    ExpectSays(weir.Output(), {"system " + system + ": 100 unconfirmed rows are dropped"});
  }
  broker.Resume();
  RunWith(false, true);
  RunWith(true, true, {"system " + system + " is new to checkpoint"});
}

}  // namespace
}  // namespace weir::job_test
