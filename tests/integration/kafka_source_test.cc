// The kafka source on the simulated cluster and on a real broker: where it starts and ends, what a checkpoint holds,
// what it does about a changed topic and about bad records. Cases Hnn are those of public reports.
#include <gtest/gtest.h>

#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {
namespace {

using connectors::TopicPartition;

class KafkaSourceTest : public testing::TestWithParam<bool> {
 protected:
  KafkaSourceTest() : world_(GetParam() ? NewRealWorld() : NewSimWorld()) {}

  std::string Topic(int partitions, const std::string& stem = "s") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  static Definition Raw(const std::string& topic, Definition more = {}) {
    Definition definition = {{"topics", Text(topic)}, {"format", Text("raw")}};
    for (auto& member : more) definition.push_back(std::move(member));
    return definition;
  }
  std::unique_ptr<SourceDriver> Started(Definition definition, const SourceSnapshot* restored = nullptr,
                                        uint32_t parallelism = 1) {
    auto driver = std::make_unique<SourceDriver>(*world_, std::move(definition), parallelism);
    EXPECT_EQ(driver->Start(restored).ToString(), "ok");
    return driver;
  }
  void ExpectError(SourceDriver& driver, StatusCode code, const std::vector<std::string>& parts) {
    EXPECT_FALSE(driver.Until([] { return false; }));
    EXPECT_EQ(driver.error.code(), code) << driver.error.ToString();
    for (const std::string& part : parts) {
      EXPECT_NE(driver.error.message().find(part), std::string::npos) << part << " in " << driver.error.ToString();
    }
  }
  int64_t Committed(const std::string& group, const std::string& topic) {
    const auto offsets = world_->NewAdmin()->CommittedOffsets(group, std::vector<TopicPartition>{{topic, 0}});
    return offsets.has_value() ? (*offsets)[0].value_or(-1) : -2;
  }
  static std::vector<std::string> Numbers(int from, int to) {
    std::vector<std::string> values;
    for (int i = from; i < to; ++i) values.push_back(std::to_string(i));
    return values;
  }

  std::unique_ptr<KafkaWorld> world_;
};

TEST_P(KafkaSourceTest, ReadsAllPartitionsAndGoesOnFromACheckpoint) {
  const std::string topic = Topic(3);
  for (int32_t p = 0; p < 3; ++p) world_->AppendValues(topic, p, Numbers(p * 100, p * 100 + 50));
  auto first = Started(Raw(topic), nullptr, 2);
  ASSERT_TRUE(first->ReadRows(150)) << first->error.ToString();
  EXPECT_EQ(first->SplitsOf(0) + first->SplitsOf(1), 3U);
  EXPECT_GE(first->SplitsOf(0), 1U);
  EXPECT_GE(first->SplitsOf(1), 1U);
  const SourceSnapshot snapshot = first->Snapshot(1);
  ASSERT_EQ(snapshot.splits.size(), 3U);
  EXPECT_EQ(snapshot.splits[0].id, topic + "-0");
  EXPECT_EQ(snapshot.splits[0].position, "{\"offset\":50}");
  first.reset();
  for (int32_t p = 0; p < 3; ++p) world_->AppendValues(topic, p, {"next"});
  auto second = Started(Raw(topic), &snapshot, 3);
  ASSERT_TRUE(second->ReadRows(3)) << second->error.ToString();
  EXPECT_EQ(second->rows, (std::vector<std::string>{"next", "next", "next"}));
}

TEST_P(KafkaSourceTest, StartsAtATimestamp) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0,
                 {{.value = "a", .timestamp_ms = 1000},
                  {.value = "b", .timestamp_ms = 2000},
                  {.value = "c", .timestamp_ms = 3000}});
  auto driver = Started(Raw(topic, {{"start", Text("timestamp")}, {"start-timestamp", Number(1500)}}));
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, (std::vector<std::string>{"b", "c"}));
}

TEST_P(KafkaSourceTest, StartsAndEndsAtGivenOffsets) {
  const std::string topic = Topic(2);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  world_->AppendValues(topic, 1, {"other"});
  auto driver = Started(Raw(topic, {{"start", Text("offsets")},
                                    {"start-offsets", Object({{topic + "-0", Number(3)}})},
                                    {"end", Text("offsets")},
                                    {"end-offsets", Object({{topic + "-0", Number(6)}})}}));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows, Numbers(3, 6));
  EXPECT_EQ(driver->Snapshot(1).splits[0].position, "{\"offset\":6,\"end\":6}");
}

TEST_P(KafkaSourceTest, AnEndThatComesOrGoesWithTheDefinitionHoldsFromTheNextStart) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  SourceSnapshot snapshot{"{\"partitions\":[\"" + topic + "-0\"]}", {{topic + "-0", "{\"offset\":4}"}}};
  auto ending = Started(Raw(topic, {{"end", Text("latest")}}), &snapshot);
  ASSERT_TRUE(ending->ReadToEnd()) << ending->error.ToString();
  EXPECT_EQ(ending->rows, Numbers(4, 10));
  snapshot = ending->Snapshot(1);
  EXPECT_EQ(snapshot.splits[0].position, "{\"offset\":10,\"end\":10}");
  world_->AppendValues(topic, 0, Numbers(10, 12));
  auto endless = Started(Raw(topic), &snapshot);
  ASSERT_TRUE(endless->ReadRows(2)) << endless->error.ToString();
  EXPECT_EQ(endless->rows, Numbers(10, 12));
  EXPECT_EQ(endless->Snapshot(2).splits[0].position, "{\"offset\":12}");
}

TEST_P(KafkaSourceTest, AGivenOffsetOutsideTheLogIsAnError) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  auto driver =
      Started(Raw(topic, {{"start", Text("offsets")}, {"start-offsets", Object({{topic + "-0", Number(11)}})}}));
  ExpectError(*driver, StatusCode::kFailedPrecondition, {topic, "partition 0", "11", "10"});
  auto unknown =
      Started(Raw(topic, {{"start", Text("offsets")}, {"start-offsets", Object({{topic + "-7", Number(1)}})}}));
  ExpectError(*unknown, StatusCode::kInvalidArgument, {topic, "partition 7", "start-offsets"});
}

TEST_P(KafkaSourceTest, case_H01_CommitsTheNextOffsetOfAppliedCheckpointsOnly) {
  const std::string topic = Topic(1);
  const std::string group = world_->NewName("g");
  world_->AppendValues(topic, 0, Numbers(0, 10));
  {
    auto driver = Started(Raw(topic, {{"group", Text(group)}}));
    ASSERT_TRUE(driver->ReadRows(10)) << driver->error.ToString();
    (void)driver->Snapshot(1);
    driver->Linger(std::chrono::milliseconds(200));
    EXPECT_EQ(Committed(group, topic), -1);
    driver->Applied(1);
    EXPECT_TRUE(driver->Until([&] { return Committed(group, topic) == 10; }));
  }
  auto fresh = Started(Raw(topic, {{"group", Text(group)}, {"start", Text("group-offsets")}}));
  fresh->Linger(std::chrono::milliseconds(500));
  EXPECT_TRUE(fresh->rows.empty());
  world_->AppendValues(topic, 0, {"new"});
  ASSERT_TRUE(fresh->ReadRows(1)) << fresh->error.ToString();
  EXPECT_EQ(fresh->rows, std::vector<std::string>{"new"});
}

TEST_P(KafkaSourceTest, case_H01_ARestoredCheckpointThatIsToldAgainCommitsItsOwnPositions) {
  const std::string topic = Topic(1);
  const std::string group = world_->NewName("g");
  world_->AppendValues(topic, 0, Numbers(0, 10));
  SourceSnapshot snapshot;
  {
    auto driver = Started(Raw(topic, {{"group", Text(group)}}));
    ASSERT_TRUE(driver->ReadRows(10));
    snapshot = driver->Snapshot(1);
  }
  world_->AppendValues(topic, 0, Numbers(10, 20));
  auto restored = Started(Raw(topic, {{"group", Text(group)}}), &snapshot);
  ASSERT_TRUE(restored->ReadRows(10)) << restored->error.ToString();
  restored->Applied(1);
  EXPECT_TRUE(restored->Until([&] { return Committed(group, topic) == 10; }));
}

TEST_P(KafkaSourceTest, case_H02_LatestIsConcreteForPartitionsNeverRead) {
  const std::string topic = Topic(3);
  world_->AppendValues(topic, 0, {"old"});
  SourceSnapshot snapshot;
  {
    auto driver = Started(Raw(topic, {{"start", Text("latest")}}));
    ASSERT_TRUE(driver->Until([&] { return driver->ready(); })) << driver->error.ToString();
    world_->AppendValues(topic, 0, {"a"});
    world_->AppendValues(topic, 1, {"b"});
    ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
    EXPECT_EQ(driver->sorted_rows(), (std::vector<std::string>{"a", "b"}));
    snapshot = driver->Snapshot(1);
  }
  EXPECT_EQ(snapshot.splits[2].position, "{\"offset\":0}");
  for (int32_t p = 0; p < 3; ++p) world_->AppendValues(topic, p, {"new" + std::to_string(p)});
  auto restored = Started(Raw(topic, {{"start", Text("latest")}}), &snapshot);
  ASSERT_TRUE(restored->ReadRows(3)) << restored->error.ToString();
  EXPECT_EQ(restored->sorted_rows(), (std::vector<std::string>{"new0", "new1", "new2"}));
}

TEST_P(KafkaSourceTest, case_H03_FindsNewPartitions) {
  const std::string topic = Topic(2);
  auto driver = Started(Raw(topic, {{"discovery-interval", Text("300ms")}, {"start", Text("latest")}}), nullptr, 2);
  ASSERT_TRUE(driver->Until([&] { return driver->ready(); })) << driver->error.ToString();
  ASSERT_EQ(world_->AddPartitions(topic, 4).ToString(), "ok");
  for (int32_t p = 0; p < 4; ++p) world_->AppendValues(topic, p, {std::to_string(p)});
  ASSERT_TRUE(driver->ReadRows(4)) << driver->error.ToString();
  EXPECT_EQ(driver->sorted_rows(), Numbers(0, 4));
  // What was found is part of the checkpoint and not found again.
  const SourceSnapshot snapshot = driver->Snapshot(1);
  EXPECT_EQ(snapshot.splits.size(), 4U);
  driver = Started(Raw(topic, {{"discovery-interval", Text("300ms")}}), &snapshot);
  driver->Linger(std::chrono::seconds(1));
  EXPECT_TRUE(driver->rows.empty());
  EXPECT_TRUE(driver->error.ok()) << driver->error.ToString();
}

TEST_P(KafkaSourceTest, case_H03_PartitionsAddedBetweenTwoRunsAreReadFromTheirStart) {
  const std::string topic = Topic(1);
  auto driver = Started(Raw(topic, {{"start", Text("latest")}}));
  ASSERT_TRUE(driver->Until([&] { return driver->ready(); })) << driver->error.ToString();
  const SourceSnapshot snapshot = driver->Snapshot(1);
  driver.reset();
  ASSERT_EQ(world_->AddPartitions(topic, 2).ToString(), "ok");
  world_->AppendValues(topic, 1, {"first"});
  driver = Started(Raw(topic, {{"start", Text("latest")}}), &snapshot);
  ASSERT_TRUE(driver->ReadRows(1)) << driver->error.ToString();
}

TEST_P(KafkaSourceTest, case_H03_ABoundedSourceDoesNotDiscover) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 5));
  auto driver = Started(Raw(topic, {{"end", Text("latest")}, {"discovery-interval", Text("100ms")}}));
  ASSERT_TRUE(driver->Until([&] { return driver->ready(); })) << driver->error.ToString();
  ASSERT_EQ(world_->AddPartitions(topic, 2).ToString(), "ok");
  world_->AppendValues(topic, 1, {"not mine"});
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows, Numbers(0, 5));
}

TEST_P(KafkaSourceTest, FindsNewTopicsByPattern) {
  const std::string one = Topic(1, "pattern-a");
  world_->AppendValues(one, 0, {"a"});
  std::string pattern = "pattern-[a-z]\\." + one.substr(one.find('.') + 1);
  auto driver =
      Started({{"topic-pattern", Text(pattern)}, {"format", Text("raw")}, {"discovery-interval", Text("300ms")}});
  ASSERT_TRUE(driver->ReadRows(1)) << driver->error.ToString();
  const std::string two = Topic(1, "pattern-b");
  Topic(1, "pattern-9");
  world_->AppendValues(two, 0, {"b"});
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  driver->Linger(std::chrono::milliseconds(700));
  EXPECT_EQ(driver->Snapshot(1).splits.size(), 2U);
}

TEST_P(KafkaSourceTest, case_H04_AnOffsetBeyondTheEndOfARecreatedTopic) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 500));
  SourceSnapshot snapshot;
  {
    auto driver = Started(Raw(topic));
    ASSERT_TRUE(driver->ReadRows(500));
    snapshot = driver->Snapshot(1);
  }
  ASSERT_EQ(world_->DeleteTopic(topic).ToString(), "ok");
  ASSERT_TRUE(world_->Until([&] { return world_->CreateTopic(topic, 1).ok(); }));
  world_->AppendValues(topic, 0, Numbers(0, 50));
  auto restored = Started(Raw(topic), &snapshot);
  ExpectError(*restored, StatusCode::kFailedPrecondition, {topic, "partition 0", "500", "50"});
}

TEST_P(KafkaSourceTest, ASavedOffsetBelowTheLogsStartIsAnError) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  SourceSnapshot snapshot;
  {
    auto driver = Started(Raw(topic, {{"end", Text("offsets")}, {"end-offsets", Object({{topic + "-0", Number(4)}})}}));
    ASSERT_TRUE(driver->ReadToEnd());
    snapshot = driver->Snapshot(1);
  }
  snapshot.splits[0].position = "{\"offset\":4}";
  world_->TrimLog(topic, 0, 8);
  auto restored = Started(Raw(topic), &snapshot);
  ExpectError(*restored, StatusCode::kFailedPrecondition, {topic, "4", "8"});
}

TEST_P(KafkaSourceTest, case_H05_ABoundedReadEndsBehindATransactionMarker) {
  const std::string topic = Topic(3);
  const uint64_t good = world_->BeginTransaction();
  for (int i = 0; i < 99; ++i) world_->AppendIn(good, topic, i % 3, {{.value = std::to_string(i)}});
  world_->EndTransaction(good, true);
  const uint64_t bad = world_->BeginTransaction();
  world_->AppendIn(bad, topic, 0, {{.value = "aborted"}});
  world_->EndTransaction(bad, false);
  auto driver = Started(Raw(topic, {{"end", Text("latest")}}));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows.size(), 99U);
  EXPECT_EQ(driver->watermarks[topic + "-0"], operators::EventTime::Max());
  const SourceSnapshot snapshot = driver->Snapshot(1);
  auto restored = Started(Raw(topic, {{"end", Text("latest")}}), &snapshot);
  ASSERT_TRUE(restored->ReadToEnd()) << restored->error.ToString();
  EXPECT_TRUE(restored->rows.empty());
}

TEST_P(KafkaSourceTest, case_H06_GapsAreNoLoss) {
  const std::string topic = Topic(1);
  for (int i = 0; i < 4; ++i) {
    const uint64_t transaction = world_->BeginTransaction();
    world_->AppendIn(transaction, topic, 0, {{.value = std::to_string(2 * i)}});
    world_->EndTransaction(transaction, true);
  }
  for (const char* isolation : {"read-committed", "read-uncommitted"}) {
    SourceSnapshot snapshot{"{\"partitions\":[\"" + topic + "-0\"]}", {{topic + "-0", "{\"offset\":3}"}}};
    auto driver = Started(Raw(topic, {{"isolation", Text(isolation)}}), &snapshot);
    ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
    EXPECT_EQ(driver->rows, (std::vector<std::string>{"4", "6"}));
  }
}

TEST_P(KafkaSourceTest, case_H08_B50_AbortedRecordsAreSeenOnlyWhenAskedFor) {
  const std::string topic = Topic(1);
  const uint64_t bad = world_->BeginTransaction();
  const uint64_t good = world_->BeginTransaction();
  for (int i = 0; i < 50; ++i) {
    world_->AppendIn(bad, topic, 0, {{.value = "bad"}});
    world_->AppendIn(good, topic, 0, {{.value = "good"}});
  }
  world_->EndTransaction(bad, false);
  world_->EndTransaction(good, true);
  auto committed = Started(Raw(topic, {{"end", Text("latest")}}));
  ASSERT_TRUE(committed->ReadToEnd()) << committed->error.ToString();
  EXPECT_EQ(committed->rows, std::vector<std::string>(50, "good"));
  auto all = Started(Raw(topic, {{"end", Text("latest")}, {"isolation", Text("read-uncommitted")}}));
  ASSERT_TRUE(all->ReadToEnd()) << all->error.ToString();
  EXPECT_EQ(all->rows.size(), 100U);
}

TEST_P(KafkaSourceTest, case_H60_TombstonesAreIgnoredAndEmptyValuesAreBad) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0,
                 {{.key = "[1]", .value = R"({"after":{"id":1},"updated":"5.0000000000"})"},
                  {.key = "[1]", .value = R"({"after":null,"updated":"6.0000000000"})"},
                  {.key = "[1]", .value = std::nullopt},
                  {.key = std::nullopt, .value = std::nullopt},
                  {.key = "[1]", .value = ""}});
  auto driver = Started({{"topics", Text(topic)},
                         {"format", Text("cockroachdb")},
                         {"key-columns", List({"id"})},
                         {"on-error", Text("dead-letter")},
                         {"end", Text("latest")}});
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows.size(), 2U);
  EXPECT_EQ(driver->dead_letters, std::vector<std::string>{topic + "/0/4/"});
}

TEST_P(KafkaSourceTest, case_H68_ABadRecordFailsIsSkippedOrPutAside) {
  const std::string topic = Topic(1);
  const std::string a = R"({"a":1})";
  const std::string b = R"({"a":2})";
  world_->AppendValues(topic, 0, {a, a, a, R"({"a":1)", b, b, b});
  const auto with = [&](const char* policy) {
    return Definition{{"topics", Text(topic)}, {"on-error", Text(policy)}, {"end", Text("latest")}};
  };
  for (int start = 0; start < 2; ++start) {
    auto failing = Started(with("fail"));
    ExpectError(*failing, StatusCode::kInvalidArgument, {topic, "partition 0", "offset 3"});
  }
  auto skipping = Started(with("skip"));
  ASSERT_TRUE(skipping->ReadToEnd()) << skipping->error.ToString();
  EXPECT_EQ(skipping->rows, (std::vector<std::string>{"1", "1", "1", "2", "2", "2"}));
  EXPECT_EQ(skipping->bad_records(), 1U);
  EXPECT_EQ(skipping->Snapshot(1).splits[0].position, "{\"offset\":7,\"end\":7}");
  auto keeping = Started(with("dead-letter"));
  ASSERT_TRUE(keeping->ReadToEnd()) << keeping->error.ToString();
  EXPECT_EQ(keeping->rows.size(), 6U);
  EXPECT_EQ(keeping->dead_letters, std::vector<std::string>{topic + "/0/3/{\"a\":1"});
}

TEST_P(KafkaSourceTest, ResolvedMessagesAreWatermarksJustBelowAndAreKept) {
  const std::string topic = Topic(2);
  world_->AppendValues(topic, 0, {R"({"resolved":"100.0000000001"})"});
  world_->AppendValues(topic, 1, {R"({"resolved":"90.0000000000"})", R"({"resolved":"80.0000000000"})"});
  const Definition definition = {{"topics", Text(topic)}, {"format", Text("cockroachdb")}};
  SourceSnapshot snapshot;
  {
    auto driver = Started(definition);
    ASSERT_TRUE(driver->Until([&] { return driver->watermarks.size() == 2; })) << driver->error.ToString();
    driver->Linger(std::chrono::milliseconds(200));
    EXPECT_EQ(driver->watermarks[topic + "-0"], (operators::EventTime{100, 0}));
    EXPECT_EQ(driver->watermarks[topic + "-1"], (operators::EventTime{90, 0}.Previous()));
    snapshot = driver->Snapshot(1);
  }
  EXPECT_EQ(snapshot.splits[0].position, R"({"offset":1,"watermark":"100.0000000000"})");
  auto restored = Started(definition, &snapshot);
  ASSERT_TRUE(restored->Until([&] { return restored->watermarks.size() == 2; })) << restored->error.ToString();
  EXPECT_EQ(restored->watermarks[topic + "-0"], (operators::EventTime{100, 0}));
}

TEST_P(KafkaSourceTest, B49_HeadersAreColumns) {
  const std::string topic = Topic(1);
  const auto producer = std::move(*world_->factory().NewProducer(world_->connection(), world_->context()));
  const std::vector<connectors::KafkaHeader> first = {{"trace", "abc"}, {"other", "x"}};
  const std::vector<connectors::KafkaHeader> second = {{"other", "y"}, {"trace", "def"}};
  const std::vector<connectors::ProduceRow> rows = {{.value = R"({"after":{}})", .partition = 0, .headers = first},
                                                    {.value = R"({"after":{}})", .partition = 0, .headers = second}};
  ASSERT_EQ(producer->Produce(topic, rows), 2U);
  producer->Flush();
  auto driver = Started({{"topics", Text(topic)},
                         {"format", Text("cockroachdb")},
                         {"metadata", Object({{"header:trace", Text("trace")}})}});
  ASSERT_TRUE(driver->Until([&] {
    producer->Progress();
    return driver->rows.size() == 2;
  })) << driver->error.ToString();
  EXPECT_EQ(driver->rows, (std::vector<std::string>{"abc", "def"}));
}

TEST_P(KafkaSourceTest, AMissingTopicIsAnError) {
  auto driver = Started(Raw(world_->NewName("never-made")));
  ExpectError(*driver, StatusCode::kNotFound, {"never-made"});
}

TEST_P(KafkaSourceTest, AnUnreachableClusterIsAnErrorInBoundedTime) {
  const std::string topic = Topic(1);
  world_->SetReachable(false);
  auto driver = Started(Raw(topic, {{"request-timeout", Text("500ms")}}));
  ExpectError(*driver, StatusCode::kUnavailable, {world_->connection().bootstrap_servers});
  world_->SetReachable(true);
}

TEST_P(KafkaSourceTest, ATopicThatWasRemovedFromTheDefinitionIsNotForgottenSilently) {
  const std::string topic = Topic(1);
  SourceSnapshot snapshot{"{\"partitions\":[]}", {{"gone-0", "{\"offset\":3}"}}};
  auto driver = Started(Raw(topic), &snapshot);
  ExpectError(*driver, StatusCode::kFailedPrecondition, {"gone", "3"});
}

TEST_P(KafkaSourceTest, ReadsBigMessages) {
  const std::string topic = Topic(1);
  const std::string big(900'000, 'b');
  world_->AppendValues(topic, 0, {"small", big, big, big, "small"});
  auto driver = Started(Raw(topic));
  ASSERT_TRUE(driver->ReadRows(5)) << driver->error.ToString();
  EXPECT_EQ(driver->rows[2], big);
}

TEST_P(KafkaSourceTest, TellsItsLag) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  auto driver = Started(Raw(topic));
  ASSERT_TRUE(driver->ReadRows(10)) << driver->error.ToString();
  EXPECT_TRUE(driver->Until([&] { return driver->lag() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaSourceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
