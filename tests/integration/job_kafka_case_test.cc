// Public reports about sinks, transactions, savepoints and ends of jobs, as whole jobs that write to Kafka exactly
// once, on a real broker.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "tests/harness/kafka_broker.h"
#include "tests/integration/job_kafka_copy.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

class JobKafkaCaseTest : public KafkaCopyTest {
 protected:
  void TearDown() override { harness::SharedKafkaBroker().Resume(); }

  std::string Write(const Json& job) { return definition_ = WriteJob(folder_, job); }
  static bool HasStarted(Weir& weir) {
    return Eventually(seconds(20), [&] { return weir.Says("first start") || weir.Says("goes on from"); });
  }
  uint64_t Checkpoints() {
    uint64_t newest = 0;
    for (const std::string& file : FilesUnder(Storage() + "/" + job_)) {
      const size_t at = file.rfind("/chk-");
      if (at == std::string::npos || !file.ends_with("/_metadata")) continue;
      newest = std::max<uint64_t>(newest, std::stoull(file.substr(at + 5)));
    }
    return newest;
  }
  bool MoreCheckpoints(uint64_t count) {
    const uint64_t before = Checkpoints();
    return Eventually(seconds(30 + count), [&] { return Checkpoints() >= before + count; });
  }
  void SaveTo(const std::string& folder, Arguments more = {}) {
    more.insert(more.begin(), {"savepoint", definition_, "--to", folder});
    const Ended saved = RunToEnd(folder_, std::move(more));
    EXPECT_EQ(saved.code, kOk) << saved.output;
  }
  std::vector<std::string> SortedOut() {
    std::vector<std::string> rows = Out();
    std::ranges::sort(rows);
    return rows;
  }
  // `lines` through a projection of (expression, name) come out of both kinds of sinks.
  void ExpectOut(const std::string& lines, const std::vector<std::pair<std::string, std::string>>& columns,
                 const std::string& key, std::vector<std::string> expected) {
    folder_.Write("in.jsonl", lines);
    Json job = EmptyJob(folder_, job_);
    job["sources"].push_back(FileSource(folder_, "rows", "in.jsonl", false));
    Json projected = {{"id", "projected"}, {"type", "project"}, {"input", "rows"}, {"columns", Json::object()}};
    for (const auto& [expression, name] : columns) projected["columns"][name] = expression;
    job["operators"].push_back(projected);
    job["sinks"].push_back(ExactSink("copy", "projected", out_));
    job["sinks"][0]["key"] = Json::array({key});
    job["sinks"].push_back(FileSink(folder_, "out", "projected"));
    const Ended ended = RunToEnd(folder_, {"run", Write(job)});
    EXPECT_EQ(ended.code, kOk) << ended.output;
    EXPECT_EQ(Out(), expected);
    std::ranges::sort(expected);
    EXPECT_EQ(OutLines(folder_), expected);
  }
  // A file of rows with one key, numbers from `from`; they count as fed.
  void WriteRows(const std::string& file, int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += Row(fed_++) + "\n";
    folder_.Append(file, lines);
  }
};

// A pipe as the standard output of a process; full and unread it stalls who writes to it.
class UnreadPipe {
 public:
  explicit UnreadPipe(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    end_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(end_, 0);
  }
  ~UnreadPipe() { close(end_); }
  UnreadPipe(const UnreadPipe&) = delete;
  UnreadPipe& operator=(const UnreadPipe&) = delete;

  const std::string& path() const { return path_; }
  // Takes what is there.
  void Read() {
    std::array<char, 65536> bytes{};
    for (ssize_t got = 1; got > 0;) {
      got = read(end_, bytes.data(), bytes.size());
      if (got > 0) text_.append(bytes.data(), static_cast<size_t>(got));
    }
  }
  const std::string& text() const { return text_; }

 private:
  const std::string path_;
  int end_ = -1;
  std::string text_;
};

TEST_F(JobKafkaCaseTest, case_H07_ASinkThatStallsForLongerThanThePollIntervalLosesAndRepeatsNothing) {
  Json job = CopyJob();
  job["sources"][0]["group"] = world_->NewName("group");
  job["sources"][0]["properties"] = {{"max.poll.interval.ms", "6000"}, {"session.timeout.ms", "6000"}};
  job["memory"] = {{"bytes-max", "64MiB"}};
  job["state"] = {{"bytes-max", "8MiB"}};
  job["sinks"].push_back({{"id", "shown"}, {"connector", "print"}, {"input", "numbers"}});
  UnreadPipe pipe(folder_.Path("pipe"));
  harness::ChildProcess::Options options;
  options.arguments = {WeirBinary(), "run", Write(job), "--quiet"};
  options.output_path = pipe.path();
  auto process = harness::ChildProcess::Start(options);
  ASSERT_TRUE(process.has_value());
  for (int stall = 0; stall < (Torture() ? 3 : 1); ++stall) {
    Feed(60'000);
    Pause(Torture() ? seconds(20) : seconds(9));
    EXPECT_LT(Out().size(), static_cast<size_t>(fed_));  // it does stall
    EXPECT_TRUE(Eventually(seconds(60), [&] {
      pipe.Read();
      return Out().size() >= static_cast<size_t>(fed_);
    })) << pipe.text();
  }
  process->Signal(SIGTERM);
  std::optional<int> code;
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    pipe.Read();
    code = process->Wait(milliseconds(0));
    return code.has_value();
  }));
  EXPECT_EQ(code, kOk);
  EXPECT_EQ(Out(), Fed());
}

// The cluster stands still for longer than a message may wait in the client.
TEST_F(JobKafkaCaseTest, case_H12_AMessageThatTimedOutInTheClientIsNotLeftOut) {
  Json job = CopyJob();
  job["sinks"][0]["properties"] = {{"message.timeout.ms", "3000"}};
  Write(job);
  Weir weir = Begin();
  Feed(100);
  EXPECT_TRUE(AllOut()) << weir.Output();
  for (int round = 0; round < (Torture() ? 5 : 2); ++round) {
    Feed(20'000);
    Pause(milliseconds(150 + 100 * round));
    harness::SharedKafkaBroker().Pause();
    Pause(seconds(6));
    harness::SharedKafkaBroker().Resume();
    EXPECT_TRUE(AllOut()) << weir.Output();
  }
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Out(), Fed());
}

// With --rewind: ARewindHappensOnceAndDoublesOnlyWhatCameBehindIt in job_kafka_exact_test.cc.
TEST_F(JobKafkaCaseTest, case_H13_ASecondStartFromOneSavepointGoesOnFromTheNewest) {
  {
    Weir weir = Begin();
    Feed(50);
    EXPECT_TRUE(AllOut()) << weir.Output();
    SaveTo(folder_.Path("sp"), {"--stop"});
    EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
  }
  for (int life = 0; life < 3; ++life) {
    Weir weir = Begin({"--restore", folder_.Path("sp")});
    for (int i = 0; i < 3; ++i) {
      Feed(50);
      EXPECT_TRUE(AllOut()) << weir.Output();
      EXPECT_TRUE(MoreCheckpoints(1)) << weir.Output();
    }
    weir.Kill9();
    EXPECT_EQ(weir.Says("it is taken"), true) << weir.Output();
  }
  EXPECT_EQ(Out(), Fed());
}

TEST_F(JobKafkaCaseTest, case_H14_CheckpointsWithoutRowsSucceed) {
  Json job = CopyJob();
  job["operators"].push_back({{"id", "none"}, {"type", "filter"}, {"input", "numbers"}, {"where", "n < 0"}});
  job["sinks"].push_back(ExactSink("nothing", "none", out_));
  job["checkpoint"]["tolerated-failures"] = 0;
  Write(job);
  Weir weir = Begin();
  EXPECT_TRUE(MoreCheckpoints(Torture() ? 300 : 20)) << weir.Output();
  Feed(5);
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_TRUE(MoreCheckpoints(5)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Out(), Fed());
}

TEST_F(JobKafkaCaseTest, case_H15_ATransactionTimeoutAboveTheBrokersMaximumIsRefusedWithBothNumbers) {
  const Ended refused = RunToEnd(folder_, {"run", definition_, "--set", "sinks.copy.transaction-timeout=2h"});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"a transaction timeout of 7200 s", "transaction.max.timeout.ms (15 minutes"});
}

// Policy dead-letter: a sink has none yet.
TEST_F(JobKafkaCaseTest, case_H16_ARowOverTheLimitFailsTheJobWithKeySizeAndLimit) {
  const std::string wide = out_ + "-wide";
  ASSERT_TRUE(harness::SharedKafkaBroker().CreateTopic(wide, 1, {{"max.message.bytes", "4000000"}}).ok());
  Json job = EmptyJob(folder_, job_);
  job["sources"].push_back(FileSource(folder_, "numbers", "in.jsonl", true));
  job["sinks"].push_back(ExactSink("copy", "numbers", wide));
  Write(job);
  WriteRows("in.jsonl", 500);
  folder_.Append("in.jsonl", R"({"k":7,"n":")" + std::string(2'000'000, 'x') + "\"}\n");
  WriteRows("in.jsonl", 500);
  for (int start = 0; start < 2; ++start) {  // not skipped by the next one either
    const Ended failed = RunToEnd(folder_, {"run", definition_, "--quiet"});
    EXPECT_EQ(failed.code, kJobFailed) << failed.output;
    ExpectSays(failed.output, {"[7]", "20000", "the limit is 1000000", "message.max.bytes"});
    EXPECT_LE(Out(wide).size(), 500U);
  }
  Weir weir = Begin({"--set", R"(sinks.copy.properties={"message.max.bytes":"4000000"})"});
  EXPECT_TRUE(Eventually(seconds(30), [&] { return Out(wide).size() >= 1001; })) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  std::vector<std::string> out = Out(wide);
  ASSERT_EQ(out.size(), 1001U);
  EXPECT_GT(out[500].size(), 2'000'000U);
  out.erase(out.begin() + 500);
  EXPECT_EQ(out, Fed());
}

TEST_F(JobKafkaCaseTest, case_H16_ARowOverTheLimitGoesToTheDeadLettersAndTheOthersAreDelivered) {
  const std::string dead = out_ + "-dead";
  ASSERT_EQ(world_->CreateTopic(dead, 1).ToString(), "ok");
  Json job = EmptyJob(folder_, job_);
  job["sources"].push_back(FileSource(folder_, "numbers", "in.jsonl", false));
  Json sink = ExactSink("copy", "numbers", out_);
  sink["on-too-large"] = "dead-letter";
  sink["dead-letter-topic"] = dead;
  job["sinks"].push_back(sink);
  WriteRows("in.jsonl", 500);
  const std::string begin = R"({"k":7,"n":"xxx)";
  folder_.Append("in.jsonl", begin + std::string(2'000'000, 'x') + "\"}\n");
  WriteRows("in.jsonl", 500);
  const Ended ended = RunToEnd(folder_, {"run", Write(job)});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  ExpectSays(ended.output, {"sent to topic \"" + dead, "[7]", "the limit is 1000000"});
  EXPECT_EQ(Out(), Fed());
  const std::vector<std::string> letters = Out(dead);
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_TRUE(letters[0].starts_with(begin)) << letters[0].substr(0, 100);
  EXPECT_GT(letters[0].size(), 900'000U);
  EXPECT_LT(letters[0].size(), 1'000'000U);
}

TEST_F(JobKafkaCaseTest, case_H17_AKeyGoesWhereJavaProducersPutItAndStaysThereAfterARestart) {
  constexpr int kPartitions = 15;
  constexpr size_t kKeys = 1000;
  const std::string topic = out_ + "-15";
  ASSERT_EQ(world_->CreateTopic(topic, kPartitions).ToString(), "ok");
  Json job = EmptyJob(folder_, job_);
  job["sources"].push_back(FileSource(folder_, "orders", "in.jsonl", true));
  Json sink = ExactSink("copy", "orders", topic);
  sink["key-format"] = "raw";
  job["sinks"].push_back(sink);
  Write(job);
  for (size_t life = 1; life <= 2; ++life) {
    std::string lines;
    for (size_t i = 1; i <= kKeys; ++i) lines += R"({"k":"ord-)" + std::to_string(i) + "\"}\n";
    folder_.Append("in.jsonl", lines);
    Weir weir = Begin();
    EXPECT_TRUE(Eventually(seconds(30), [&] { return ReadTopic(*world_, topic, kPartitions).size() >= life * kKeys; }))
        << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  }
  const std::vector<TopicRecord> records = ReadTopic(*world_, topic, kPartitions);
  EXPECT_EQ(records.size(), 2 * kKeys);
  for (const TopicRecord& record : records) {
    ASSERT_EQ(record.partition, simulation::Murmur2Partition(record.key.value_or(""), kPartitions)) << *record.key;
  }
}

// connectors/kafka/README.md says what holds.
TEST_F(JobKafkaCaseTest, case_H18_ATopicThatGrowsMovesAKeyOnceAndKeepsItsOrder) {
  constexpr int kKeys = 100;
  const std::string topic = out_ + "-grows";
  ASSERT_EQ(world_->CreateTopic(topic, 3).ToString(), "ok");
  Json job = EmptyJob(folder_, job_);
  job["sources"].push_back(FileSource(folder_, "rows", "in.jsonl", true));
  Json sink = ExactSink("copy", "rows", topic);
  sink["properties"] = {{"topic.metadata.refresh.interval.ms", "200"}};
  job["sinks"].push_back(sink);
  Write(job);
  Weir weir = Begin();
  size_t rows = 0;
  for (int round = 0; round < 60; ++round) {
    std::string lines;
    for (int k = 0; k < kKeys; ++k, ++rows)
      lines += R"({"k":)" + std::to_string(k) + ",\"n\":" + std::to_string(round) + "}\n";
    folder_.Append("in.jsonl", lines);
    if (round == 20) {
      EXPECT_TRUE(world_->AddPartitions(topic, 6).ok());
    }
    Pause(milliseconds(50));
  }
  EXPECT_TRUE(Eventually(seconds(30), [&] { return ReadTopic(*world_, topic, 6).size() >= rows; })) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  std::map<std::string, std::map<int32_t, std::vector<int>>> by_key;
  for (const TopicRecord& record : ReadTopic(*world_, topic, 6)) {
    by_key[*record.key][record.partition].push_back(Json::parse(*record.value)["n"].get<int>());
  }
  EXPECT_EQ(by_key.size(), static_cast<size_t>(kKeys));
  for (const auto& [key, partitions] : by_key) {
    std::vector<std::vector<int>> parts;
    for (const auto& [partition, numbers] : partitions) parts.push_back(numbers);
    std::ranges::sort(parts);
    std::vector<int> all;
    for (const std::vector<int>& part : parts) all.insert(all.end(), part.begin(), part.end());
    std::vector<int> expected(60);
    for (int i = 0; i < 60; ++i) expected[static_cast<size_t>(i)] = i;
    EXPECT_EQ(all, expected) << key;
    EXPECT_LE(partitions.size(), 2U) << key;
  }
}

TEST_F(JobKafkaCaseTest, case_H22_WhatASavepointHasWrittenIsNotWrittenAgain) {
  Json job = CopyJob();
  job["checkpoint"]["interval"] = "1h";
  Write(job);
  for (int life = 0; life < 3; ++life) {
    Weir weir = Begin();
    EXPECT_TRUE(HasStarted(weir)) << weir.Output();
    Feed(100);
    // One may be cut before the rows are read: as often as it takes.
    for (int i = 0; Out().size() < static_cast<size_t>(fed_) && i < 50; ++i) {
      SaveTo(folder_.Path("sp-" + std::to_string(life) + "-" + std::to_string(i)));
      Pause(milliseconds(100));
    }
    weir.Kill9();
    EXPECT_EQ(Out(), Fed());
  }
}

TEST_F(JobKafkaCaseTest, case_H23_AChainOfStopsWithSavepointLosesAndRepeatsNothing) {
  Arguments restore;
  for (int link = 0; link < (Torture() ? 20 : 5); ++link) {
    Weir weir = Begin(restore);
    EXPECT_TRUE(HasStarted(weir)) << weir.Output();
    for (int i = 0; i < 5; ++i) {
      Feed(20);
      Pause(milliseconds(50));
    }
    const std::string folder = folder_.Path("sp-" + std::to_string(link));
    SaveTo(folder, {"--stop"});
    EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
    restore = {"--restore", folder};
  }
  Weir weir = Begin(restore);
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Out(), Fed());
}

TEST_F(JobKafkaCaseTest, case_H24_TheLastRowsOfABoundedJobAreVisibleWhenItHasFinished) {
  Json job = EmptyJob(folder_, job_);
  job["checkpoint"]["interval"] = "1h";
  job["sources"].push_back(FileSource(folder_, "a", "a.jsonl", false));
  job["sources"].push_back(FileSource(folder_, "b", "b.jsonl", false));
  job["operators"].push_back({{"id", "all"}, {"type", "union"}, {"inputs", {"a", "b"}}});
  job["sinks"].push_back(ExactSink("copy", "all", out_));
  Write(job);
  WriteRows("a.jsonl", 10);
  WriteRows("b.jsonl", 990);
  const Ended finished = RunToEnd(folder_, {"run", definition_, "--quiet"});
  EXPECT_EQ(finished.code, kOk) << finished.output;
  ExpectSays(finished.output, {"finished"});
  std::vector<std::string> expected = Fed();
  std::ranges::sort(expected);
  EXPECT_EQ(SortedOut(), expected);
}

TEST_F(JobKafkaCaseTest, case_H24_CheckpointsGoOnWhenOneOfTwoSourcesHasEnded) {
  Json job = EmptyJob(folder_, job_);
  job["sources"].push_back(FileSource(folder_, "a", "a.jsonl", false));
  job["sources"].push_back(FileSource(folder_, "b", "b.jsonl", true));
  job["operators"].push_back({{"id", "all"}, {"type", "union"}, {"inputs", {"a", "b"}}});
  job["sinks"].push_back(ExactSink("copy", "all", out_));
  Write(job);
  WriteRows("a.jsonl", 10);
  for (int life = 0; life < 2; ++life) {
    Weir weir = Begin();
    for (int i = 0; i < 3; ++i) {
      WriteRows("b.jsonl", 100);
      EXPECT_TRUE(AllOut()) << weir.Output();
      EXPECT_TRUE(MoreCheckpoints(2)) << weir.Output();
    }
    weir.Kill9();
  }
  std::vector<std::string> expected = Fed();
  std::ranges::sort(expected);
  EXPECT_EQ(SortedOut(), expected);
}

// What a PostgreSQL sink makes of these three comes with it.
TEST_F(JobKafkaCaseTest, case_H38_NamesInUpperCaseReservedOrQuotedStayAsTheyAre) {
  ExpectOut(R"({"ID":1,"createdAt":"x","select":true,"a\"b":2})",
            {{"\"ID\"", "ID"}, {"createdAt", "createdAt"}, {"\"select\"", "select"}, {"\"a\"\"b\"", "a\"b"}}, "ID",
            {R"({"ID":1,"createdAt":"x","select":true,"a\"b":2})"});
}

TEST_F(JobKafkaCaseTest, case_H43_NumbersWithAnExponentAreDecimals) {
  std::string lines;
  for (const std::string amount : {"7E+3", "7E-3", "5.25E9", "\"-3E-7\""}) {
    lines += R"({"id":1,"amt":)" + amount + "}\n";
  }
  ExpectOut(lines, {{"id", "id"}, {"CAST(amt AS numeric(20,8))", "amt"}}, "id",
            {R"({"id":1,"amt":7000.00000000})", R"({"id":1,"amt":0.00700000})", R"({"id":1,"amt":5250000000.00000000})",
             R"({"id":1,"amt":-0.00000030})"});
}

TEST_F(JobKafkaCaseTest, case_H48_AZeroByteInAStringIsDeliveredWithTheRowsAroundIt) {
  std::string lines;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    expected.push_back(R"({"id":)" + std::to_string(i) + R"(,"note":")" + (i == 7 ? R"(a\u0000b)" : "ab") + "\"}");
    lines += expected.back() + "\n";
  }
  ExpectOut(lines, {{"id", "id"}, {"note", "note"}}, "id", expected);
}

TEST_F(JobKafkaCaseTest, case_H71_ASignalAndAStopFlushAlike) {
  Json job = CopyJob();
  job["checkpoint"]["interval"] = "1h";  // what comes out comes with the stop
  Write(job);
  for (const bool by_signal : {true, false, true}) {
    const size_t before = Out().size();
    Weir weir = Begin();
    EXPECT_TRUE(HasStarted(weir)) << weir.Output();
    Feed(3);
    Pause(seconds(2));
    EXPECT_EQ(Out().size(), before);
    if (!by_signal) {
      const Ended stopped = RunToEnd(folder_, {"stop", definition_});
      EXPECT_EQ(stopped.code, kOk) << stopped.output;
    }
    EXPECT_EQ(by_signal ? weir.Stop() : weir.Wait(seconds(10)), kOk) << weir.Output();
    EXPECT_EQ(Out(), Fed());
  }
}

}  // namespace
}  // namespace weir::job_test
