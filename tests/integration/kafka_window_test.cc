// Which rows of a changefeed a kafka source passes on, and when it ends: min-timestamp, max-timestamp and stale rows.
// Behaviours Bnn and weaknesses are those of reference/replicator-kafka.md.
#include "tests/integration/changefeed_source.h"

namespace weir::kafka_test {
namespace {

using operators::EventTime;

class KafkaWindowTest : public ChangefeedSourceTest {
 protected:
  Definition Until(double max, Definition more = {}) const {
    more.emplace_back("max-timestamp", Text(Hlc(max)));
    return more;
  }
};

TEST_P(KafkaWindowTest, B14_MinIsKeptAndMaxIsDropped) {
  const std::string topic = Topic(1);
  Put(topic, 0, "m9.999 m10 m11 m12.999 m13 m14 r15");
  auto driver = Started(Source({topic}, Until(13, {{"min-timestamp", Text(Hlc(10))}})));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m10 m11 m12.999"));
  EXPECT_EQ(driver->MetricSum("rows_outside"), 3);
}

// The model's test: eleven messages, of which three are rows in the range.
TEST_P(KafkaWindowTest, TestAccumulate) {
  const std::string topic = Topic(3);
  const auto row = [&](const std::string& after, const std::string& updated, const std::string& more = {}) {
    return TestRecord{.key = "[1]", .value = R"({"after":)" + after + R"(,"updated":")" + updated + "\"" + more + "}"};
  };
  const TestRecord resolved{.value = R"({"resolved":")" + Hlc(11) + "\"}"};
  world_->Append(topic, 0,
                 {row(R"({"k":1,"v":"a"})", Hlc(1)), row(R"({"k":1,"v":"b"})", Hlc(10)),
                  row(R"({"k":1,"v":"c"})", Hlc(11), R"(,"before":{"k":1,"v":"b"})"), resolved,
                  row("null", Hlc(13), R"(,"before":{"k":1,"v":"c"})"), row(R"({"k":1,"v":"d"})", Hlc(20)),
                  row(R"({"k":1,"v":"e"})", Hlc(20), R"(,"extra":"x")"), row(R"({"k":1,"v":"f"})", "test.0")});
  for (int32_t p = 1; p < 3; ++p) world_->Append(topic, p, {resolved});
  for (int32_t p = 0; p < 3; ++p) Put(topic, p, "r20");
  auto driver = Started(Source({topic}, {{"min-timestamp", Text(Hlc(10))},
                                         {"max-timestamp", Text(Hlc(13).substr(0, Hlc(13).size() - 1) + "1")},
                                         {"on-error", Text("dead-letter")}}));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("b b c c"));  // insert; update with its row before; deletion
  EXPECT_EQ(driver->MetricSum("rows_outside"), 3);
  ASSERT_EQ(driver->dead_letters.size(), 1U);
  EXPECT_NE(driver->dead_letters[0].find("test.0"), std::string::npos);
}

TEST_P(KafkaWindowTest, B27_EveryPartitionEndsAtItsFirstResolvedMessageFromMaxOn) {
  const std::string topic = Topic(2);
  Put(topic, 0, "m1 m9 m11 r10 m12 r13");
  Put(topic, 1, "r5 m6");
  auto driver = Started(Source({topic}, Until(10)), nullptr, 2);
  ASSERT_TRUE(driver->Until([&] { return driver->watermarks[topic + "-0"] == EventTime::Max(); }));
  ASSERT_TRUE(driver->ReadRows(3)) << driver->error.ToString();
  EXPECT_EQ(driver->finished, 1U);
  Put(topic, 1, "m7 r8 r12 m9");
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->sorted_rows(), WordsOf("m1 m6 m7 m9"));
  EXPECT_EQ(driver->watermarks[topic + "-1"], EventTime::Max());
  const SourceSnapshot snapshot = driver->Snapshot(1);
  EXPECT_NE(snapshot.splits[0].position.find(R"("offset":4,"end":4,)"), std::string::npos)
      << snapshot.splits[0].position;
}

TEST_P(KafkaWindowTest, B27_ARangeBehindAFrontierEndsToo) {
  const std::string topic = Topic(3);
  for (int32_t p = 0; p < 3; ++p) Put(topic, p, "r1 m2 r3 m4 m5 r6 m7 m10 r8 m9 r11 m12");
  auto driver =
      Started(Source({topic}, Until(10, {{"min-timestamp", Text(Hlc(5))}, {"frontier", Object({})}})), nullptr, 2);
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->sorted_rows(), WordsOf("m5 m5 m5 m7 m7 m7 m9 m9 m9"));
  EXPECT_EQ(driver->late_rows, 0U);
  EXPECT_EQ(driver->watermarks[topic + "-1"], EventTime::Max());
}

TEST_P(KafkaWindowTest, AnEmptyRangeEndsWithoutRows) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2 r3 m4 m5 r6");
  auto driver = Started(Source({topic}, Until(4, {{"min-timestamp", Text(Hlc(4))}})));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_TRUE(driver->rows.empty());
}

// The model discards the rows that it has not flushed yet when the closing resolved message comes.
TEST_P(KafkaWindowTest, Weakness_c_RowsJustBeforeTheClosingResolvedMessageAreThere) {
  const std::string topic = Topic(1);
  std::string messages, rows;
  for (int i = 0; i < 500; ++i) rows += "m" + std::to_string(1 + i % 9) + " ";
  Put(topic, 0, rows + "r10 r11");
  auto driver = Started(Source({topic}, Until(10)));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows.size(), 500U);
}

// In the model the first partition that is at its end ends the whole session.
TEST_P(KafkaWindowTest, Weakness_d_APartitionThatHasEndedDisturbsNoOther) {
  const std::string topic = Topic(3);
  Put(topic, 0, "r10");
  auto driver = Started(Source({topic}, Until(10)));
  ASSERT_TRUE(driver->Until([&] { return driver->watermarks[topic + "-0"] == EventTime::Max(); }));
  for (int round = 0; round < 5; ++round) {
    for (int32_t p = 1; p < 3; ++p) Put(topic, p, "m" + std::to_string(1 + round));
    ASSERT_TRUE(driver->ReadRows(static_cast<size_t>(2 * (round + 1)))) << driver->error.ToString();
  }
  Put(topic, 1, "r10");
  Put(topic, 2, "m9 r10");
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows.size(), 11U);
}

TEST_P(KafkaWindowTest, AnEndedPartitionStaysEndedAndTheOthersGoOn) {
  const std::string topic = Topic(2);
  Put(topic, 0, "m1 r10 m2");
  Put(topic, 1, "m3 r5");
  SourceSnapshot snapshot;
  {
    auto driver = Started(Source({topic}, Until(10)));
    ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
    ASSERT_TRUE(driver->Until([&] {
      return driver->watermarks[topic + "-0"] == EventTime::Max() && driver->watermarks.contains(topic + "-1");
    }));
    snapshot = driver->Snapshot(1);
  }
  Put(topic, 1, "m9 m11 r12");
  auto restored = Started(Source({topic}, Until(10)), &snapshot);
  ASSERT_TRUE(restored->ReadToEnd()) << restored->error.ToString();
  EXPECT_EQ(restored->rows, WordsOf("m9"));
}

TEST_P(KafkaWindowTest, ALaterMaxGoesOnWhereNothingWasLeftOutAndIsRefusedElsewhere) {
  const std::string topic = Topic(1);
  Put(topic, 0, "m1 r10 m11 r20");
  auto first = Started(Source({topic}, Until(10)));
  ASSERT_TRUE(first->ReadToEnd()) << first->error.ToString();
  SourceSnapshot snapshot = first->Snapshot(1);
  auto longer = Started(Source({topic}, Until(11)), &snapshot);
  ASSERT_TRUE(longer->ReadToEnd()) << longer->error.ToString();
  EXPECT_TRUE(longer->rows.empty());
  snapshot = longer->Snapshot(2);  // m11 was left out
  auto same = Started(Source({topic}, Until(11)), &snapshot);
  ASSERT_TRUE(same->ReadToEnd()) << same->error.ToString();
  auto refused = Started(Source({topic}, Until(30)), &snapshot);
  ExpectError(*refused, StatusCode::kFailedPrecondition, {topic, "partition 0", Hlc(11), Hlc(30), "--restore none"});
  auto endless = Started(Source({topic}), &snapshot);
  ExpectError(*endless, StatusCode::kFailedPrecondition, {topic, Hlc(11), "has none"});
}

TEST_P(KafkaWindowTest, AMaxThatComesWithTheDefinitionEndsWhatIsResolvedAlready) {
  const std::string topic = Topic(1);
  Put(topic, 0, "m1 r10");
  SourceSnapshot snapshot;
  {
    auto driver = Started(Source({topic}));
    ASSERT_TRUE(driver->Until([&] { return !driver->watermarks.empty(); })) << driver->error.ToString();
    snapshot = driver->Snapshot(1);
  }
  auto ending = Started(Source({topic}, Until(10)), &snapshot);
  ASSERT_TRUE(ending->ReadToEnd()) << ending->error.ToString();
  snapshot = ending->Snapshot(2);
  Put(topic, 0, "m11");
  auto endless = Started(Source({topic}), &snapshot);
  ASSERT_TRUE(endless->ReadRows(1)) << endless->error.ToString();
}

TEST_P(KafkaWindowTest, B13_ARowBeforeThePartitionsLastResolvedIsDroppedAndCounted) {
  const std::string topic = Topic(2);
  Put(topic, 0, "m4 r5 m4 m4.999 m5 m6");
  Put(topic, 1, "m4");  // another partition's resolved time says nothing about it
  SourceSnapshot snapshot;
  {
    auto driver = Started(Source({topic}));
    ASSERT_TRUE(driver->ReadRows(4)) << driver->error.ToString();
    driver->Linger(std::chrono::milliseconds(100));
    EXPECT_EQ(driver->sorted_rows(), WordsOf("m4 m4 m5 m6"));
    EXPECT_EQ(driver->MetricSum("rows_stale"), 2);
    snapshot = driver->Snapshot(1);
  }
  Put(topic, 0, "m3 m7");  // the model forgets the resolved time at a restart
  auto restored = Started(Source({topic}), &snapshot);
  ASSERT_TRUE(restored->ReadRows(1)) << restored->error.ToString();
  EXPECT_EQ(restored->rows, WordsOf("m7"));
  EXPECT_EQ(restored->MetricSum("rows_stale"), 1);
}

TEST_P(KafkaWindowTest, StaleRowsAreKeptWhereTheDefinitionSaysSo) {
  const std::string topic = Topic(1);
  Put(topic, 0, "m4 r5 m4 m6");
  auto driver = Started(Source({topic}, {{"stale-rows", Text("keep")}}));
  ASSERT_TRUE(driver->ReadRows(3)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m4 m4 m6"));
  EXPECT_EQ(driver->MetricSum("rows_stale"), 0);
}

TEST_P(KafkaWindowTest, B22_AResolvedTimeThatGoesBackIsCountedAndNotApplied) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r5 r7 r7 r6 m6.5 r6 m8");
  testing::internal::CaptureStderr();
  auto driver = Started(Source({topic}));
  const bool read = driver->ReadRows(1);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(read) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m8"));
  EXPECT_EQ(driver->MetricSum("resolved_backwards"), 2);
  EXPECT_EQ(driver->watermarks[topic + "-0"], TimeOf(7).Previous());
  EXPECT_NE(said.find(topic + " partition 0: a resolved message of " + Hlc(6) + " came after one of " + Hlc(7)),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("a resolved message of"), said.rfind("a resolved message of")) << said;  // once a minute
}

TEST_P(KafkaWindowTest, ARowWithoutATimeOfItsOwnIsNeitherStaleNorOutside) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r5");
  world_->Append(topic, 0, {{.key = "[1]", .value = R"({"after":{"v":"old"}})", .timestamp_ms = MsOf(1)}});
  Put(topic, 0, "r10");
  auto driver = Started(Source({topic}, Until(10, {{"min-timestamp", Text(Hlc(3))}})));
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("old"));
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaWindowTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
