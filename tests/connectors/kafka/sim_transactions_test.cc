// What the simulated cluster does to a committer that a real broker can't be made to do at will: commits of which the
// client never hears, requests that come after their sender's death, compaction.
#include <gtest/gtest.h>

#include <set>

#include "tests/simulation/manual_clock.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::simulation {
namespace {

using connectors::KafkaTransactionalProducer;
using connectors::ProduceRow;

class SimTransactionsTest : public testing::Test {
 protected:
  void Build(uint64_t seed, const SimKafkaFaults& faults) {
    kafka_ = std::make_unique<SimKafka>(clock_, SeededRandom(seed).Split("kafka"));
    kafka_->SetFaults(faults);
    clients_ = kafka_->NewClientFactory();
    ASSERT_TRUE(kafka_->CreateTopic("t", 1).ok());
    ASSERT_TRUE(kafka_->CreateTopic("markers", 1, {{"cleanup.policy", "compact"}}).ok());
  }
  std::unique_ptr<KafkaTransactionalProducer> Started() {
    auto producer = *clients_->NewTransactionalProducer(
        {.bootstrap_servers = "sim:9092", .properties = {}},
        {.transactional_id = "job", .transaction_timeout = kTimeout, .request_timeout = std::chrono::seconds(5)},
        clock_);
    EXPECT_EQ(producer->Init().ToString(), "ok");
    return producer;
  }
  static Status Write(KafkaTransactionalProducer& producer, const std::string& topic, const std::string& value) {
    return producer.Produce(topic, std::vector<ProduceRow>{{.key = "k", .value = value}});
  }
  void Pass(Duration time) {
    const MonotonicTime end = clock_.Now() + time;
    while (kafka_->NextEvent().value_or(end) < end) {
      clock_.AdvanceTo(std::max(clock_.Now(), *kafka_->NextEvent()));
      kafka_->RunDue();
    }
    clock_.AdvanceTo(end);
  }
  std::vector<std::string> Committed(const std::string& topic) {
    std::vector<std::string> values;
    for (const SimRecord& record : kafka_->Committed(topic, 0)) values.push_back(record.value.value_or("null"));
    return values;
  }

  static constexpr Duration kTimeout = std::chrono::seconds(60);
  ManualClock clock_;
  std::unique_ptr<SimKafka> kafka_;
  std::unique_ptr<connectors::KafkaClientFactory> clients_;
};

TEST_F(SimTransactionsTest, AnUnknownCommitHasHappenedOrNotOrHappensLater) {
  std::set<std::string> courses;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Build(seed, {.unknown_commit_one_in = 1});
    const auto producer = Started();
    ASSERT_TRUE(producer->Begin().ok());
    ASSERT_TRUE(Write(*producer, "t", "a").ok());
    EXPECT_EQ(producer->Commit().code(), StatusCode::kUnavailable);
    EXPECT_EQ(producer->Commit().code(), StatusCode::kUnavailable);
    const bool at_once = !Committed("t").empty();
    Pass(std::chrono::seconds(10));
    const bool later = !Committed("t").empty();
    EXPECT_TRUE(later || !at_once);
    courses.insert(at_once ? "at once" : later ? "later" : "never");
    EXPECT_EQ(kafka_->HasOpenTransaction("job"), !later);
    Pass(kTimeout);
    EXPECT_FALSE(kafka_->HasOpenTransaction("job"));
    EXPECT_EQ(!Committed("t").empty(), later);
  }
  EXPECT_EQ(courses.size(), 3U);
}

TEST_F(SimTransactionsTest, AnInitDecidesAnUnknownCommitForGood) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Build(seed, {.unknown_commit_one_in = 1});
    auto producer = Started();
    ASSERT_TRUE(producer->Begin().ok());
    ASSERT_TRUE(Write(*producer, "t", "a").ok());
    EXPECT_FALSE(producer->Commit().ok());
    producer = Started();
    const std::vector<std::string> decided = Committed("t");
    Pass(2 * kTimeout);
    EXPECT_EQ(Committed("t"), decided);
  }
}

TEST_F(SimTransactionsTest, RowsThatComeAfterTheirSendersDeathAreNeverSeen) {
  bool late = false;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Build(seed, {});
    auto producer = Started();
    ASSERT_TRUE(producer->Begin().ok());
    ASSERT_TRUE(Write(*producer, "t", "lost").ok());
    const bool sent = kafka_->HasOpenTransaction("job");
    producer.reset();
    if (seed % 2 == 0) producer = Started();
    Pass(std::chrono::seconds(1));
    EXPECT_FALSE(seed % 2 == 0 && kafka_->HasOpenTransaction("job"));
    late = late || (!sent && kafka_->HasOpenTransaction("job"));
    Pass(2 * kTimeout);
    EXPECT_FALSE(kafka_->HasOpenTransaction("job"));
    EXPECT_TRUE(Committed("t").empty());
  }
  EXPECT_TRUE(late);
}

TEST_F(SimTransactionsTest, CompactionKeepsTheNewestOfEachKeyAndTheMarkerReaderSeesNoDifference) {
  Build(1, {.compact_one_in = 2});
  const auto producer = Started();
  const auto reader =
      *clients_->NewMarkerReader({.bootstrap_servers = "sim:9092", .properties = {}}, std::chrono::seconds(5), clock_);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(producer->Begin().ok());
    ASSERT_TRUE(Write(*producer, "markers", std::to_string(i)).ok());
    ASSERT_TRUE(Write(*producer, "t", std::to_string(i)).ok());
    ASSERT_EQ((i % 5 == 4 ? producer->Abort() : producer->Commit()).ToString(), "ok");
    const int newest = i % 5 == 4 ? i - 1 : i;
    EXPECT_EQ(*reader->NewestValue({"markers", 0}, "k", connectors::KafkaReadUpTo::kEnd), std::to_string(newest));
  }
  kafka_->Compact("markers");
  kafka_->Compact("t");
  EXPECT_EQ(Committed("markers"), std::vector<std::string>{"48"});
  EXPECT_EQ(Committed("t").size(), 40U);
  EXPECT_GT(kafka_->FindTopic("markers")->partitions[0].next, 50);
}

TEST_F(SimTransactionsTest, AWaitThatNobodyLetsTimePassForIsOverAtOnce) {
  Build(1, {});
  const uint64_t other = kafka_->BeginTransaction();
  kafka_->AppendIn(other, "markers", 0, {.key = "k", .value = "v"});
  const auto reader =
      *clients_->NewMarkerReader({.bootstrap_servers = "sim:9092", .properties = {}}, std::chrono::seconds(5), clock_);
  EXPECT_EQ(reader->NewestValue({"markers", 0}, "k", connectors::KafkaReadUpTo::kEnd).error().code(),
            StatusCode::kUnavailable);
  kafka_->SetPassTime([this](MonotonicTime limit) { clock_.AdvanceTo(limit); });
  const MonotonicTime start = clock_.Now();
  EXPECT_EQ(reader->NewestValue({"markers", 0}, "k", connectors::KafkaReadUpTo::kEnd).error().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(clock_.Now() - start, std::chrono::seconds(5));
}

TEST_F(SimTransactionsTest, ADeletedTopicsTransactionEndsAllTheSame) {
  Build(1, {});
  const auto producer = Started();
  ASSERT_TRUE(producer->Begin().ok());
  ASSERT_TRUE(Write(*producer, "t", "lost").ok());
  ASSERT_TRUE(Write(*producer, "markers", "a").ok());
  ASSERT_TRUE(kafka_->DeleteTopic("t").ok());
  const Status status = producer->Commit();
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kNotFound) << status.ToString();
  Pass(2 * kTimeout);
  EXPECT_FALSE(kafka_->HasOpenTransaction("job"));
}

}  // namespace
}  // namespace weir::simulation
