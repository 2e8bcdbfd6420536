// Public reports about positions in Kafka topics, as whole jobs on a real broker.
// tests/integration/kafka_source_test.cc has them for the source alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using connectors::TopicPartition;
using std::chrono::milliseconds;
using std::chrono::seconds;

class JobPositionCaseTest : public testing::Test {
 protected:
  std::string Topic(int partitions, const std::string& stem = "in") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  Json JobOf(const std::string& topic) { return CopyJob(*world_, folder_, topic); }
  // Records, and the rows that come of them.
  static std::string Row(const std::string& text) { return "{\"v\":\"" + text + "\"}"; }
  static std::vector<std::string> Numbers(int from, int to) {
    std::vector<std::string> rows;
    for (int i = from; i < to; ++i) rows.push_back(Row(std::to_string(i)));
    return rows;
  }
  static std::vector<std::string> Sorted(std::vector<std::string> rows) {
    std::ranges::sort(rows);
    return rows;
  }
  bool ComesOut(size_t rows, const std::string& sink = "out") {
    return Eventually(seconds(30), [&] { return OutLines(folder_, sink).size() >= rows; });
  }
  bool HasCheckpoint() {
    return Eventually(seconds(30), [&] {
      return std::ranges::any_of(FilesUnder(folder_.Path("checkpoints/copy")),
                                 [](const std::string& file) { return file.ends_with("/_metadata"); });
    });
  }
  int64_t Committed(const std::string& group, const std::string& topic) {
    const std::vector<TopicPartition> partitions = {{topic, 0}};
    const auto offsets = world_->NewAdmin()->CommittedOffsets(group, partitions);
    return offsets.has_value() ? (*offsets)[0].value_or(-1) : -2;
  }
  // Runs until so many rows are out in all, and stops.
  void RunUntil(const std::string& path, size_t rows, Arguments more = {}) {
    Arguments arguments = {"run", path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Weir weir(folder_, std::move(arguments));
    EXPECT_TRUE(ComesOut(rows)) << weir.Output();
    EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  }

  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  JobFolder folder_;
};

TEST_F(JobPositionCaseTest, case_H01_TheGroupHasTheNextOffset) {
  const std::string topic = Topic(1);
  const std::string group = world_->NewName("group");
  world_->AppendValues(topic, 0, Numbers(0, 10));
  Json job = JobOf(topic);
  job["sources"][0]["group"] = group;
  RunUntil(WriteJob(folder_, job), 10);
  EXPECT_EQ(Committed(group, topic), 10);
  job["name"] = "fresh";
  job["sources"][0]["start"] = "group-offsets";
  job["sinks"][0]["path"] = folder_.Path("fresh");
  Weir fresh(folder_, {"run", WriteJob(folder_, job, "fresh.json")});
  fresh.Wait(milliseconds(1'500));
  EXPECT_TRUE(OutLines(folder_, "fresh").empty());
  world_->AppendValues(topic, 0, {Row("new")});
  EXPECT_TRUE(ComesOut(1, "fresh")) << fresh.Output();
  EXPECT_EQ(fresh.Stop(), 0) << fresh.Output();
  EXPECT_EQ(OutLines(folder_, "fresh"), std::vector<std::string>{Row("new")});
}

TEST_F(JobPositionCaseTest, case_H02_LatestMeansTheSameMomentForEmptyPartitions) {
  const std::string topic = Topic(3);
  world_->AppendValues(topic, 0, {Row("old")});
  Json job = JobOf(topic);
  job["sources"][0]["start"] = "latest";
  const std::string path = WriteJob(folder_, job);
  {
    Weir first(folder_, {"run", path});
    EXPECT_TRUE(HasCheckpoint()) << first.Output();
    world_->AppendValues(topic, 0, {Row("a")});
    world_->AppendValues(topic, 1, {Row("b")});
    EXPECT_TRUE(ComesOut(2)) << first.Output();
    EXPECT_EQ(first.Stop(), 0) << first.Output();
  }
  for (int32_t p = 0; p < 3; ++p) world_->AppendValues(topic, p, {Row("new" + std::to_string(p))});
  const Ended shown = RunToEnd(folder_, {"state", "show", folder_.Path("checkpoints/copy")});
  EXPECT_EQ(shown.code, 0);
  ExpectSays(shown.output, {topic + "-2"});
  RunUntil(path, 5);
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{Row("a"), Row("b"), Row("new0"), Row("new1"), Row("new2")}));
}

TEST_F(JobPositionCaseTest, case_H03_NewPartitionsAreReadWithoutARestart) {
  const std::string topic = Topic(2);
  world_->AppendValues(topic, 0, Numbers(0, 5));
  Json job = JobOf(topic);
  job["sources"][0]["discovery-interval"] = "200ms";
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_TRUE(ComesOut(5)) << weir.Output();
  EXPECT_EQ(world_->AddPartitions(topic, 4).ToString(), "ok");
  world_->AppendValues(topic, 2, Numbers(5, 10));
  world_->AppendValues(topic, 3, Numbers(10, 15));
  EXPECT_TRUE(ComesOut(15)) << weir.Output();
  EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  EXPECT_EQ(OutLines(folder_), Sorted(Numbers(0, 15)));
}

TEST_F(JobPositionCaseTest, case_H04_ARecreatedTopicIsAnErrorWithBothOffsets) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 500));
  const std::string path = WriteJob(folder_, JobOf(topic));
  RunUntil(path, 500);
  EXPECT_EQ(world_->DeleteTopic(topic).ToString(), "ok");
  EXPECT_TRUE(Eventually(seconds(20), [&] { return world_->CreateTopic(topic, 1).ok(); }));
  world_->AppendValues(topic, 0, Numbers(0, 50));
  const Ended ended = RunToEnd(folder_, {"run", path}, {}, seconds(30));
  EXPECT_EQ(ended.code, 1) << ended.output;
  ExpectSays(ended.output, {topic, "partition 0", "500", "50"});
  EXPECT_EQ(OutLines(folder_).size(), 500U);
}

// What connectors/kafka/README.md says of a client that does not tell topic ids: it goes on where it was, at once.
TEST_F(JobPositionCaseTest, case_H04_ARecreatedTopicWithMoreRecordsIsReadFromTheSavedOffset) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 500));
  const std::string path = WriteJob(folder_, JobOf(topic));
  RunUntil(path, 500);
  EXPECT_EQ(world_->DeleteTopic(topic).ToString(), "ok");
  EXPECT_TRUE(Eventually(seconds(20), [&] { return world_->CreateTopic(topic, 1).ok(); }));
  world_->AppendValues(topic, 0, Numbers(1'000, 1'800));
  RunUntil(path, 800);
  std::vector<std::string> rows = Numbers(0, 500);
  std::ranges::copy(Numbers(1'500, 1'800), std::back_inserter(rows));
  EXPECT_EQ(OutLines(folder_), Sorted(rows));
}

TEST_F(JobPositionCaseTest, case_H05_ABoundedJobEndsBehindTransactionMarkers) {
  const std::string topic = Topic(3);
  const auto in_transaction = [&](int32_t partition, int from, int to, bool commit) {
    const uint64_t transaction = world_->BeginTransaction();
    std::vector<kafka_test::TestRecord> records;
    for (const std::string& value : Numbers(from, to)) records.push_back({.value = value});
    world_->AppendIn(transaction, topic, partition, records);
    world_->EndTransaction(transaction, commit);
  };
  in_transaction(0, 0, 100, true);
  in_transaction(1, 100, 200, true);
  in_transaction(1, 900, 950, false);
  Json job = JobOf(topic);
  job["sources"][0]["end"] = "latest";
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job)}, {}, seconds(20));
  EXPECT_EQ(ended.code, 0) << ended.output;
  ExpectSays(ended.output, {"finished"});
  EXPECT_EQ(OutLines(folder_), Sorted(Numbers(0, 200)));
}

TEST_F(JobPositionCaseTest, case_H06_GapsOfTransactionMarkersRaiseNoAlarm) {
  const std::string topic = Topic(1);
  const auto put = [&](const std::string& value) {
    const uint64_t transaction = world_->BeginTransaction();
    world_->AppendIn(transaction, topic, 0, {{.value = Row(value)}});
    world_->EndTransaction(transaction, true);
  };
  put("0");
  put("2");
  for (const char* isolation : {"read-committed", "read-uncommitted"}) {
    Json job = JobOf(topic);
    job["name"] = isolation;
    job["sources"][0]["isolation"] = isolation;
    job["sinks"][0]["path"] = folder_.Path(isolation);
    const std::string path = WriteJob(folder_, job, std::string(isolation) + ".json");
    const size_t rows = OutLines(folder_, "read-committed").empty() ? 2 : 4;
    for (int start = 0; start < 2; ++start) {
      if (start == 1 && rows == 2) {
        put("4");
        put("6");
      }
      Weir weir(folder_, {"run", path});
      const size_t wanted = start == 0 ? rows : 4;
      EXPECT_TRUE(ComesOut(wanted, isolation)) << weir.Output();
      EXPECT_EQ(weir.Stop(), 0) << weir.Output();
      for (const char* alarm : {"error", "warning", "loss", "lost"}) EXPECT_FALSE(weir.Says(alarm)) << weir.Output();
    }
    EXPECT_EQ(OutLines(folder_, isolation), (std::vector<std::string>{Row("0"), Row("2"), Row("4"), Row("6")}));
  }
}

TEST_F(JobPositionCaseTest, case_H08_AbortedRecordsAreNotReadByDefault) {
  const std::string topic = Topic(1);
  const uint64_t bad = world_->BeginTransaction();
  const uint64_t good = world_->BeginTransaction();
  for (int i = 0; i < 50; ++i) {
    world_->AppendIn(bad, topic, 0, {{.value = Row("bad")}});
    world_->AppendIn(good, topic, 0, {{.value = Row("good")}});
  }
  world_->EndTransaction(bad, false);
  world_->EndTransaction(good, true);
  Json job = JobOf(topic);
  job["sources"][0]["end"] = "latest";
  EXPECT_EQ(RunToEnd(folder_, {"run", WriteJob(folder_, job)}).code, 0);
  EXPECT_EQ(OutLines(folder_), std::vector<std::string>(50, Row("good")));
}

TEST_F(JobPositionCaseTest, case_H27_EachPartitionHasOneReaderWhateverTheOrderOfTopics) {
  const std::string a = Topic(4, "a");
  const std::string b = Topic(3, "b");
  Json job = JobOf(a);
  job["parallelism"] = 3;
  std::vector<std::string> all;
  for (int round = 0; round < 10; ++round) {
    job["sources"][0]["topics"] = round % 2 == 0 ? Json::array({a, b}) : Json::array({b, a});
    for (int32_t p = 0; p < 7; ++p) {
      const std::vector<std::string> values = Numbers(round * 70 + p * 10, round * 70 + p * 10 + 10);
      world_->AppendValues(p < 4 ? a : b, p < 4 ? p : p - 4, values);
      all.insert(all.end(), values.begin(), values.end());
    }
    RunUntil(WriteJob(folder_, job), all.size());
    const Ended shown = RunToEnd(folder_, {"state", "show", folder_.Path("checkpoints/copy")});
    for (int32_t p = 0; p < 7; ++p) {
      const std::string split = "\"" + (p < 4 ? a + "-" + std::to_string(p) : b + "-" + std::to_string(p - 4)) + "\"";
      const size_t first = shown.output.find(split);
      EXPECT_NE(first, std::string::npos) << split << " has no reader:\n" << shown.output;
      EXPECT_EQ(shown.output.find(split, first + 1), std::string::npos) << split << " twice:\n" << shown.output;
    }
  }
  EXPECT_EQ(OutLines(folder_), Sorted(all));
}

TEST_F(JobPositionCaseTest, case_H60_TombstonesOfAChangefeed) {
  const std::string topic = Topic(1);
  const std::string out = Topic(1, "out");
  world_->Append(topic, 0,
                 {{.key = "[1]", .value = R"({"after":{"id":1,"v":"x"},"updated":"5.0000000000"})"},
                  {.key = "[1]", .value = R"({"after":null,"updated":"6.0000000000"})"},
                  {.key = "[1]", .value = std::nullopt},
                  {.key = std::nullopt, .value = std::nullopt},
                  {.key = "[2]", .value = ""},
                  {.key = "[3]", .value = R"({"after":{"id":3,"v":"y"},"updated":"7.0000000000"})"}});
  Json job = EmptyJob(folder_, "copy");
  job["sources"].push_back(KafkaSource(*world_, "in", topic, "cockroachdb"));
  job["sources"][0]["key-columns"] = {"id"};
  job["sources"][0]["end"] = "latest";
  job["sources"][0]["on-error"] = "dead-letter";
  job["sinks"].push_back(KafkaSink(*world_, "out", "in", out, Json::array({"id"})));
  job["sinks"].push_back(FileSink(folder_, "dead", "in.dead-letter"));
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_EQ(ended.code, 0) << ended.output;
  const std::vector<TopicRecord> records = ReadTopic(*world_, out, 1);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].value, R"({"id":1,"v":"x"})");
  EXPECT_EQ(records[1].key, "[1]");
  EXPECT_EQ(records[1].value, std::nullopt);
  EXPECT_EQ(records[2].value, R"({"id":3,"v":"y"})");
  const std::vector<std::string> dead = OutLines(folder_, "dead");
  ASSERT_EQ(dead.size(), 1U);
  ExpectSays(dead[0], {"\"offset\":4"});
}

}  // namespace
}  // namespace weir::job_test
