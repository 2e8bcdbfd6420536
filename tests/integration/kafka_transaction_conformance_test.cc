// Conformance: what a transactional producer does.
#include <algorithm>
#include <map>

#include "tests/integration/kafka_transactions.h"

namespace weir::kafka_test {
namespace {

class KafkaTransactionConformanceTest : public KafkaTransactions {};

TEST_P(KafkaTransactionConformanceTest, RowsAreHiddenUntilTheCommit) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Opened("id", topic, {"a", "b"});
  const auto consumer = ConsumerAt(topic, 0);
  Linger(*consumer);
  EXPECT_TRUE(seen_.empty());
  ASSERT_EQ(producer->Commit().ToString(), "ok");
  ASSERT_TRUE(Read(*consumer, 2)) << error_.ToString();
  EXPECT_EQ(seen_, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(End(topic), 3);  // the commit itself takes an offset
}

TEST_P(KafkaTransactionConformanceTest, AbortedRowsAreNeverSeenAndLeaveAGap) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Started("id");
  InOne(*producer, topic, {"a"});
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  ASSERT_EQ(Write(*producer, topic, {"lost"}).ToString(), "ok");
  ASSERT_TRUE(WriteUntilStored(*producer, topic));
  ASSERT_EQ(producer->Abort().ToString(), "ok");
  InOne(*producer, topic, {"b"});
  EXPECT_EQ(Visible(topic), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(offsets_[0], 0);
  EXPECT_GE(offsets_[1], 4);  // commit, a row at least, abort
}

TEST_P(KafkaTransactionConformanceTest, InitEndsThePredecessorsOpenTransaction) {
  const std::string topic = Topic(1);
  const ProducerPtr older = Opened("id", topic, {"lost"});
  ASSERT_TRUE(WriteUntilStored(*older, topic));
  const ProducerPtr newer = Started("id");
  InOne(*newer, topic, {"a"});
  EXPECT_EQ(Visible(topic), (std::vector<std::string>{"a"}));
}

TEST_P(KafkaTransactionConformanceTest, ACommitIsFencedByANewerProducer) {
  const std::string topic = Topic(1);
  const ProducerPtr older = Opened("id", topic, {"lost"});
  const ProducerPtr newer = Started("id");
  ExpectCode(StatusCode::kFenced, older->Commit());
  ExpectCode(StatusCode::kFenced, older->Commit());
  EXPECT_TRUE(Visible(topic).empty());
}

TEST_P(KafkaTransactionConformanceTest, AProducerThatWasFencedBetweenTransactionsIsToldWithTheNext) {
  const std::string topic = Topic(1);
  const ProducerPtr older = Started("id");
  InOne(*older, topic, {"a"});
  const ProducerPtr newer = Started("id");
  Status status = older->Begin();
  if (status.ok()) status = Write(*older, topic, {"lost"});
  if (status.ok()) status = older->Commit();
  ExpectCode(StatusCode::kFenced, status);
  InOne(*newer, topic, {"b"});
  EXPECT_EQ(Visible(topic), (std::vector<std::string>{"a", "b"}));
}

TEST_P(KafkaTransactionConformanceTest, ProducingIsFencedByANewerProducer) {
  const std::string topic = Topic(1);
  const ProducerPtr older = Opened("id", topic, {"lost"});
  ASSERT_TRUE(WriteUntilStored(*older, topic));
  const ProducerPtr newer = Started("id");
  Status status;
  ASSERT_TRUE(world_->Until([&] {
    world_->Wait();
    status = Write(*older, topic, {"lost"});
    return !status.ok();
  }));
  ExpectCode(StatusCode::kFenced, status);
  EXPECT_FALSE(older->Commit().ok());
  (void)older->Abort();
  InOne(*newer, topic, {"a"});
  EXPECT_EQ(Visible(topic), (std::vector<std::string>{"a"}));
}

TEST_P(KafkaTransactionConformanceTest, TwoTopicsAreCommittedTogetherOrNotAtAll) {
  const std::string first = Topic(1, "first");
  const std::string second = Topic(1, "second");
  const ProducerPtr producer = Started("id");
  for (const bool commit : {false, true}) {
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(Write(*producer, first, {commit ? "a" : "lost"}).ToString(), "ok");
    ASSERT_EQ(Write(*producer, second, {commit ? "b" : "lost"}).ToString(), "ok");
    ASSERT_EQ((commit ? producer->Commit() : producer->Abort()).ToString(), "ok");
  }
  EXPECT_EQ(Visible(first), (std::vector<std::string>{"a"}));
  EXPECT_EQ(Visible(second), (std::vector<std::string>{"b"}));
}

TEST_P(KafkaTransactionConformanceTest, ATransactionWhoseTimeIsOverIsLost) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Started("id", std::chrono::seconds(1));
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  ASSERT_EQ(Write(*producer, topic, {"lost"}).ToString(), "ok");
  const MonotonicTime start = Now();
  ASSERT_TRUE(world_->Until([&] { return Now() - start > std::chrono::milliseconds(2500); }));
  ExpectCode(StatusCode::kFenced, producer->Commit());
  EXPECT_TRUE(Visible(topic).empty());
  const ProducerPtr next = Started("id");
  InOne(*next, topic, {"a"});
}

TEST_P(KafkaTransactionConformanceTest, ARowThatIsTooLargeIsNamedAndNothingIsCommitted) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Opened("id", topic, {"lost"});
  const Status status = Write(*producer, topic, {std::string(1'200'000, 'x')}, "big-one");
  ExpectCode(StatusCode::kInvalidArgument, status);
  for (const std::string& part : {topic, std::string("big-one"), std::string("1200007"), std::string("1000000")}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }
  EXPECT_EQ(producer->Commit().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(producer->Abort().ToString(), "ok");
  EXPECT_TRUE(Visible(topic).empty());
}

TEST_P(KafkaTransactionConformanceTest, ARowThatOnlyTheTopicFindsTooLargeIsToldByTheCommit) {
  const std::string other = Topic(1);
  const std::string topic = world_->NewName("narrow");
  ASSERT_EQ(world_->NewAdmin()->CreateTopic(topic, 1, {{"max.message.bytes", "1000"}}).ToString(), "ok");
  std::string value;  // that doesn't compress well
  for (uint32_t i = 0; value.size() < 20'000; ++i) value += std::to_string(i * 2654435761U);
  const ProducerPtr producer = Opened("id", other, {"lost"});
  Status status = Write(*producer, topic, {value}, "big-one");
  if (status.ok()) status = producer->Commit();
  ExpectCode(StatusCode::kInvalidArgument, status);
  for (const std::string& part : {topic, std::string("big-one"), std::to_string(value.size() + 7)}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }
  EXPECT_EQ(producer->Abort().ToString(), "ok");
  EXPECT_TRUE(Visible(other).empty());
  EXPECT_TRUE(Visible(topic).empty());
}

TEST_P(KafkaTransactionConformanceTest, ATopicThatWasDeletedEndsTheTransaction) {
  const std::string topic = Topic(1);
  const std::string other = Topic(1, "other");
  const ProducerPtr producer = Started("id");
  InOne(*producer, topic, {"a"});
  ASSERT_EQ(world_->DeleteTopic(topic).ToString(), "ok");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  Status status = Write(*producer, other, {"lost"});
  const MonotonicTime start = Now();
  if (status.ok()) status = Write(*producer, topic, {"lost"});
  if (status.ok()) status = producer->Commit();
  EXPECT_LT(Now() - start, kRequestTimeout + std::chrono::seconds(2));
  // A client that knew the topic may go on asking for it.
  if (status.code() != StatusCode::kUnavailable) ExpectCode(StatusCode::kNotFound, status);
  EXPECT_NE(status.message().find(topic), std::string::npos) << status.ToString();
  (void)producer->Abort();
  const ProducerPtr next = Started("id");
  ASSERT_EQ(next->Begin().ToString(), "ok");
  ExpectCode(StatusCode::kNotFound, Write(*next, topic, {"lost"}));
  EXPECT_TRUE(Visible(other).empty());
}

TEST_P(KafkaTransactionConformanceTest, AnUnknownTopicIsNamedAndNothingIsCommitted) {
  const std::string topic = Topic(1);
  const std::string missing = world_->NewName("missing");
  const ProducerPtr producer = Opened("id", topic, {"lost"});
  const MonotonicTime start = Now();
  const Status status = Write(*producer, missing, {"x"});
  EXPECT_LT(Now() - start, std::chrono::seconds(5));
  ExpectCode(StatusCode::kNotFound, status);
  EXPECT_NE(status.message().find(missing), std::string::npos) << status.ToString();
  EXPECT_EQ(producer->Commit().code(), StatusCode::kNotFound);
  EXPECT_EQ(producer->Abort().ToString(), "ok");
  EXPECT_TRUE(Visible(topic).empty());
  EXPECT_FALSE(world_->NewAdmin()->DescribeTopic(missing).has_value());
}

TEST_P(KafkaTransactionConformanceTest, APartitionThatTheTopicLacksIsNotFound) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Started("id");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  Status status = producer->Produce(topic, std::vector<ProduceRow>{{.key = "k", .value = "v", .partition = 9}});
  if (status.ok()) status = producer->Commit();
  ExpectCode(StatusCode::kNotFound, status);
}

TEST_P(KafkaTransactionConformanceTest, AnEmptyTransactionCommits) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Started("id");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(producer->Commit().ToString(), "ok");
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(producer->Abort().ToString(), "ok");
  }
  EXPECT_EQ(producer->Abort().ToString(), "ok");
  EXPECT_EQ(End(topic), 0);
  InOne(*producer, topic, {"a"});
}

TEST_P(KafkaTransactionConformanceTest, CallsOutOfOrderAreRefused) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Started("id");
  EXPECT_EQ(Write(*producer, topic, {"a"}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(producer->Commit().code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  EXPECT_EQ(producer->Begin().code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(Write(*producer, topic, {"b"}).ToString(), "ok");
  ASSERT_EQ(producer->Commit().ToString(), "ok");
  EXPECT_EQ(Made("id")->Begin().code(), StatusCode::kInternal);
}

TEST_P(KafkaTransactionConformanceTest, ManyTransactionsOneAfterTheOther) {
  const std::string topic = Topic(1);
  const std::string markers = MarkerTopic();
  const ProducerPtr producer = Started("id");
  constexpr int kCount = 50;
  const MonotonicTime start = Now();
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(Write(*producer, topic, {std::to_string(i)}).ToString(), "ok");
    ASSERT_EQ(Write(*producer, markers, {std::to_string(i)}, "job").ToString(), "ok");
    ASSERT_EQ(producer->Commit().ToString(), "ok");
  }
  RecordProperty("transaction_us", std::to_string((Now() - start).count() / kCount / 1000));
  EXPECT_EQ(Visible(topic), Numbers(0, kCount));
  EXPECT_EQ(Newest(markers, "job"), std::to_string(kCount - 1));
}

TEST_P(KafkaTransactionConformanceTest, AProducerThatDiesLeavesItsTransactionToTheNextInit) {
  const std::string topic = Topic(1);
  const std::string markers = MarkerTopic();
  for (int life = 0; life < 4; ++life) {
    const ProducerPtr producer = Started("id");
    EXPECT_EQ(Newest(markers, "job"), life == 0 ? Value() : Value(std::to_string(life - 1)));
    InOne(*producer, markers, {std::to_string(life)}, "job");
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(Write(*producer, markers, {"lost"}, "job").ToString(), "ok");
    ASSERT_EQ(Write(*producer, topic, {"lost"}).ToString(), "ok");
    for (int i = 0; i < 5 * life; ++i) world_->Wait();
  }
  const ProducerPtr last = Started("id");
  EXPECT_EQ(Newest(markers, "job"), "3");
  EXPECT_TRUE(Visible(topic).empty());
}

TEST_P(KafkaTransactionConformanceTest, ProducersOfOtherIdsAreNotDisturbed) {
  const std::string topic = Topic(1);
  const ProducerPtr one = Opened("one", topic, {"a"});
  const ProducerPtr two = Opened("two", topic, {"b"});
  ASSERT_EQ(two->Commit().ToString(), "ok");
  ASSERT_EQ(one->Commit().ToString(), "ok");
  std::vector<std::string> visible = Visible(topic);
  std::ranges::sort(visible);
  EXPECT_EQ(visible, (std::vector<std::string>{"a", "b"}));
}

// In whichever moment of it.
TEST_P(KafkaTransactionConformanceTest, AProducerMayBeDestroyedAmidATransaction) {
  const std::string topic = Topic(1);
  for (int round = 0; round < 80; ++round) {
    const ProducerPtr producer = Started("id");
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(Write(*producer, topic, {"lost"}).ToString(), "ok");
    std::this_thread::sleep_for(std::chrono::microseconds(25) * round);
  }
  InOne(*Started("id"), topic, {"kept"});
  EXPECT_EQ(Visible(topic), std::vector<std::string>{"kept"});
}

TEST_P(KafkaTransactionConformanceTest, AnUnreachableClusterIsUnavailableInBoundedTime) {
  const std::string topic = Topic(1);
  constexpr Duration kPatience = std::chrono::seconds(1);
  (void)Started("known");  // a broker's first transaction ever takes it a second
  const ProducerPtr known = Made("known", std::chrono::seconds(60), kPatience);
  ASSERT_EQ(known->Init().ToString(), "ok");
  InOne(*known, topic, {"a"});
  ASSERT_EQ(known->Begin().ToString(), "ok");
  const auto reader = Reader(kPatience);
  world_->SetReachable(false);
  MonotonicTime start = Now();
  const auto expect_unavailable = [&](const Status& status) {
    ExpectCode(StatusCode::kUnavailable, status);
    EXPECT_NE(status.message().find(world_->connection().bootstrap_servers), std::string::npos) << status.ToString();
    EXPECT_LT(Now() - start, 2 * kPatience + std::chrono::seconds(1)) << status.ToString();
    start = Now();
  };
  ProducerPtr fresh = Made("fresh", std::chrono::seconds(60), kPatience);
  expect_unavailable(fresh->Init());
  fresh.reset();
  EXPECT_LT(Now() - start, 2 * kPatience) << "the end of a client that has reached nobody";
  start = Now();
  Status status = Write(*known, topic, {"b"});
  if (status.ok()) status = known->Commit();
  expect_unavailable(status);
  expect_unavailable(StatusOf(Reader(kPatience)->ClusterId()));
  start = Now();
  expect_unavailable(StatusOf(reader->TopicConfig(topic, "cleanup.policy")));
  expect_unavailable(StatusOf(reader->NewestValue({topic, 0}, "k", connectors::KafkaReadUpTo::kEnd)));
  world_->SetReachable(true);
  // A broker that was away for longer than its session has to register again, and decides what was under way in its
  // old partitions when it comes to it.
  const std::string later = world_->NewName("later");
  ASSERT_TRUE(world_->Until([&] {
    world_->Wait();
    return world_->CreateTopic(later, 1).ok();
  }));
  const ProducerPtr next = Started("known");
  InOne(*next, later, {"c"});
  EXPECT_EQ(Visible(later), (std::vector<std::string>{"c"}));
}

TEST_P(KafkaTransactionConformanceTest, ACommitWaitsForAClusterThatComesBack) {
  const std::string topic = Topic(1);
  const ProducerPtr producer = Opened("id", topic, {"a"});
  world_->SetReachable(false);
  world_->Later(std::chrono::seconds(1), [&] { world_->SetReachable(true); });
  const MonotonicTime start = Now();
  EXPECT_EQ(producer->Commit().ToString(), "ok");
  EXPECT_GT(Now() - start, std::chrono::milliseconds(700));
  EXPECT_EQ(Visible(topic), (std::vector<std::string>{"a"}));
}

TEST_P(KafkaTransactionConformanceTest, AnAbortDecidesNothingAboutACommitWithoutAnAnswer) {
  const std::string topic = Topic(1);
  (void)Started("id");  // a broker's first transaction ever takes it a second
  const ProducerPtr producer = Made("id", std::chrono::seconds(60), std::chrono::seconds(1));
  ASSERT_EQ(producer->Init().ToString(), "ok");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  ASSERT_EQ(Write(*producer, topic, {"a"}).ToString(), "ok");
  world_->SetReachable(false);
  ExpectCode(StatusCode::kUnavailable, producer->Commit());
  world_->SetReachable(true);
  ExpectCode(StatusCode::kUnavailable, producer->Abort());
  ExpectCode(StatusCode::kUnavailable, producer->Begin());
  ExpectCode(StatusCode::kUnavailable, Write(*producer, topic, {"b"}));
  const ProducerPtr next = Started("id");
  const std::vector<std::string> decided = Visible(topic);
  EXPECT_LE(decided.size(), 1U);
  InOne(*next, topic, {"c"});
  EXPECT_EQ(Visible(topic).size(), decided.size() + 1);
}

TEST_P(KafkaTransactionConformanceTest, ATransactionTimeoutAboveTheBrokersLimitIsRefused) {
  const ProducerPtr producer = Made("id", std::chrono::minutes(16));
  const Status status = producer->Init();
  ExpectCode(StatusCode::kInvalidArgument, status);
  for (const char* part : {"transaction timeout", "broker"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }
  EXPECT_FALSE(producer->Begin().ok());
}

TEST_P(KafkaTransactionConformanceTest, ABigTransactionKeepsItsOrder) {
  const std::string topic = Topic(1);
  constexpr int kRows = 120'000;  // more than a client's queue holds
  const std::vector<std::string> values = Numbers(0, kRows);
  const ProducerPtr producer = Started("id");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  for (size_t at = 0; at < values.size(); at += 1000) {
    std::vector<ProduceRow> rows;
    for (size_t i = at; i < at + 1000; ++i) rows.push_back({.key = "k", .value = values[i]});
    ASSERT_EQ(producer->Produce(topic, rows).ToString(), "ok");
  }
  ASSERT_EQ(producer->Commit().ToString(), "ok");
  EXPECT_EQ(Visible(topic), values);
}

TEST_P(KafkaTransactionConformanceTest, RowsOfAKeyKeepTheirOrderOverPartitionsAndTransactions) {
  const std::string topic = Topic(4);
  const ProducerPtr producer = Started("id");
  constexpr int kKeys = 10;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    for (int key = 0; key < kKeys; ++key) {
      const std::string name = "key " + std::to_string(key);
      const std::string value = std::to_string(round);
      ASSERT_EQ(producer->Produce(topic, std::vector<ProduceRow>{{.key = name, .value = value}}).ToString(), "ok");
    }
    ASSERT_EQ((round % 5 == 4 ? producer->Abort() : producer->Commit()).ToString(), "ok");
  }
  const auto consumer = Consumer();
  std::vector<PartitionStart> all;
  for (int32_t p = 0; p < 4; ++p) all.push_back({{topic, p}, 0});
  ASSERT_TRUE(consumer->Assign(all).ok());
  ASSERT_TRUE(Read(*consumer, kKeys * (kRounds - kRounds / 5))) << error_.ToString();
  std::map<std::string, std::vector<std::string>> by_key;
  for (size_t i = 0; i < seen_.size(); ++i) by_key[keys_[i]].push_back(seen_[i]);
  std::vector<std::string> expected;
  for (int round = 0; round < kRounds; ++round) {
    if (round % 5 != 4) expected.push_back(std::to_string(round));
  }
  ASSERT_EQ(by_key.size(), size_t{kKeys});
  for (const auto& [key, values] : by_key) EXPECT_EQ(values, expected) << key;
}

TEST_P(KafkaTransactionConformanceTest, HeadersTimesAndNullsArrive) {
  const std::string topic = Topic(1);
  const std::vector<KafkaHeader> headers = {{"op", "c"}, {"source", std::string_view("a\0b", 3)}, {"op", ""}};
  const std::vector<ProduceRow> rows = {{.key = "k", .value = "v", .timestamp_ms = 1234, .headers = headers},
                                        {.key = {}, .value = "plain"},
                                        {.key = "gone", .value = {}, .headers = std::span(headers).first(1)}};
  const ProducerPtr producer = Started("id");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  ASSERT_EQ(producer->Produce(topic, rows).ToString(), "ok");
  ASSERT_EQ(producer->Commit().ToString(), "ok");
  const auto consumer = ConsumerAt(topic, 0);
  std::vector<std::string> told;
  std::vector<std::string> stored;
  ASSERT_TRUE(world_->Until([&] {
    const auto block = consumer->Fetch();
    if (!block.has_value() || *block == nullptr) return stored.size() >= rows.size();
    for (size_t i = 0; i < (*block)->records().size(); ++i) {
      const connectors::KafkaRecord& record = (*block)->records()[i];
      stored.push_back(record.value.data() == nullptr ? "null" : std::string(record.value));
      times_.push_back(record.timestamp_ms);
      std::string text;
      for (const KafkaHeader& header : (*block)->Headers(i)) {
        text += std::string(header.name) + "=" + std::string(header.value) + ";";
      }
      told.push_back(text);
    }
    return stored.size() >= rows.size();
  }));
  EXPECT_EQ(stored, (std::vector<std::string>{"v", "plain", "null"}));
  EXPECT_EQ(times_.front(), 1234);
  EXPECT_EQ(told, (std::vector<std::string>{std::string("op=c;source=a\0b;op=;", 20), "", "op=c;"}));
}

TEST_P(KafkaTransactionConformanceTest, ACommitDoesNotLinger) {
  const std::string topic = Topic(1);
  connectors::KafkaConnection connection = world_->connection();
  connection.properties.emplace_back("linger.ms", "5000");
  const ProducerPtr producer = std::move(*world_->factory().NewTransactionalProducer(
      connection, {world_->NewName("id"), std::chrono::seconds(60), kRequestTimeout}, *world_->context().clock));
  ASSERT_EQ(producer->Init().ToString(), "ok");
  const MonotonicTime start = Now();
  InOne(*producer, topic, {"a"});
  InOne(*producer, topic, {"b"});
  EXPECT_LT(Now() - start, std::chrono::seconds(4));
  RecordProperty("two_us", std::to_string((Now() - start).count() / 1000));
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaTransactionConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
