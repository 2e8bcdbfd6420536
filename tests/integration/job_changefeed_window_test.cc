// Whole jobs over a part of a changefeed, on a real broker: where they begin, that they end by themselves, and that
// nothing is missing then. Behaviours Bnn are those of reference/replicator-kafka.md.
#include <gtest/gtest.h>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

class JobChangefeedWindowTest : public testing::Test {
 protected:
  static constexpr int32_t kPartitions = 3;

  JobChangefeedWindowTest() { EXPECT_EQ(world_->CreateTopic(topic_, kPartitions).ToString(), "ok"); }

  // Second `second` of an hour ago.
  std::string Hlc(int second) const { return std::to_string(MsOf(second)) + "000000.0000000000"; }
  int64_t MsOf(int second) const { return base_ms_ + int64_t{second} * 1000; }
  static std::string RowOf(int32_t partition, int second) {
    return R"({"p":)" + std::to_string(partition) + R"(,"s":)" + std::to_string(second) + "}";
  }
  void PutRow(int32_t partition, int second) {
    world_->Append(topic_, partition,
                   {{.key = "[1]",
                     .value = R"({"after":)" + RowOf(partition, second) + R"(,"updated":")" + Hlc(second) + "\"}",
                     .timestamp_ms = MsOf(second)}});
  }
  void PutResolved(int32_t partition, int second) {
    world_->Append(topic_, partition,
                   {{.value = R"({"resolved":")" + Hlc(second) + "\"}", .timestamp_ms = MsOf(second)}});
  }
  // Rows of seconds in [from, to) in each partition, each fifth second resolved.
  void PutSeconds(int from, int to) {
    for (int32_t p = 0; p < kPartitions; ++p) {
      for (int second = from; second < to; ++second) {
        if (second % 5 == 0) PutResolved(p, second);
        PutRow(p, second);
      }
    }
  }
  static std::vector<std::string> Rows(int from, int to) {
    std::vector<std::string> rows;
    for (int32_t p = 0; p < kPartitions; ++p) {
      for (int second = from; second < to; ++second) rows.push_back(RowOf(p, second));
    }
    std::ranges::sort(rows);
    return rows;
  }
  Json Job(std::optional<int> min, std::optional<int> max) {
    Json job = CopyJob(*world_, folder_, topic_, "cockroachdb");
    if (min) job["sources"][0]["min-timestamp"] = Hlc(*min);
    if (max) job["sources"][0]["max-timestamp"] = Hlc(*max);
    return job;
  }
  bool ComesOut(size_t rows) {
    return Eventually(seconds(30), [&] { return OutLines(folder_).size() >= rows; });
  }

  const std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  const std::string topic_ = world_->NewName("feed");
  const int64_t base_ms_ = (WallMs() - 3'600'000) / 1000 * 1000;
  JobFolder folder_;
};

TEST_F(JobChangefeedWindowTest, B27_AJobOverARangeBringsAllOfItAndFinishes) {
  PutSeconds(0, 60);
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, Job(21, 43))});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(OutLines(folder_), Rows(21, 43));
}

TEST_F(JobChangefeedWindowTest, B27_ItFinishesWhenTheLastPartitionIsThere) {
  PutSeconds(0, 10);
  Json job = Job(std::nullopt, 12);
  job["parallelism"] = 2;
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_TRUE(ComesOut(Rows(0, 10).size())) << weir.Output();
  for (int32_t p = 0; p < kPartitions; ++p) {
    EXPECT_TRUE(weir.Running());
    PutRow(p, 10);
    PutRow(p, 13);
    PutRow(p, 11);
    PutResolved(p, 12);
    EXPECT_TRUE(ComesOut(Rows(0, 10).size() + 2 * static_cast<size_t>(p + 1))) << weir.Output();
  }
  EXPECT_EQ(weir.Wait(seconds(30)), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), Rows(0, 12));
}

TEST_F(JobChangefeedWindowTest, B27_AKilledJobStillFinishesWithEveryRowOnce) {
  PutSeconds(0, 10);
  const std::string path = WriteJob(folder_, Job(5, 30));
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(Rows(5, 10).size())) << weir.Output();
    weir.Kill9();
  }
  PutSeconds(10, 20);
  for (int32_t p = 1; p < kPartitions; ++p) PutResolved(p, 30);  // these end before the next start
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(Rows(5, 20).size())) << weir.Output();
    weir.Kill9();
  }
  PutResolved(0, 30);
  const Ended ended = RunToEnd(folder_, {"run", path});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(OutLines(folder_), Rows(5, 20));
}

TEST_F(JobChangefeedWindowTest, B26_B51_TheSameMinGoesOnFromTheCheckpointUnlessItIsLeftOut) {
  PutSeconds(0, 20);
  const std::string path = WriteJob(folder_, Job(10, std::nullopt));
  for (const int end : {20, 30}) {
    if (end == 30) PutSeconds(20, 30);
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(Rows(10, end).size())) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    EXPECT_EQ(OutLines(folder_), Rows(10, end));
  }
  Json anew = Job(10, std::nullopt);
  anew["sinks"][0]["path"] = folder_.Path("anew");
  Weir weir(folder_, {"run", WriteJob(folder_, anew, "anew.json"), "--restore", "none"});
  EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_, "anew").size() >= Rows(10, 30).size(); }))
      << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_, "anew"), Rows(10, 30));
}

}  // namespace
}  // namespace weir::job_test
