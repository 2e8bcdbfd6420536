// What a definition may say with `assignment: group`, and which properties a member gets.
#include "connectors/kafka/group_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "connectors/kafka/group_enumerator.h"
#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {
namespace {

using connectors::KafkaSourceOptions;

class KafkaGroupOptionsTest : public testing::Test {
 protected:
  static Definition Group(Definition more = {}) {
    Definition definition = {{"bootstrap-servers", Text("b:9092")},
                             {"topics", Text("orders")},
                             {"format", Text("json")},
                             {"assignment", Text("group")}};
    for (auto& member : more) definition.push_back(std::move(member));
    return definition;
  }
  std::vector<std::string> Problems(const Definition& definition) {
    return ProblemsOf(connectors::KafkaSourceOptionSpecs(), connectors::CheckKafkaSourceOptions, definition, &options_);
  }
  void ExpectProblem(const Definition& definition, const std::vector<std::string>& parts) {
    const std::vector<std::string> problems = Problems(definition);
    ASSERT_EQ(problems.size(), 1U) << testing::PrintToString(problems);
    for (const std::string& part : parts) {
      EXPECT_NE(problems[0].find(part), std::string::npos) << part << " in " << problems[0];
    }
  }
  static std::string Property(const KafkaSourceOptions& options, const std::string& name) {
    std::string found;
    for (const auto& [property, value] : options.connection.properties) {
      if (property == name) found = value;  // the last one counts
    }
    return found;
  }

  operators::Options options_;
};

TEST_F(KafkaGroupOptionsTest, B01_GroupIsNeeded) { ExpectProblem(Group(), {"group is needed"}); }

TEST_F(KafkaGroupOptionsTest, B02_StrategiesByNameAndNoOther) {
  for (const char* strategy : {"range", "roundrobin", "cooperative-sticky"}) {
    ASSERT_EQ(Problems(Group({{"group", Text("g")}, {"group-strategy", Text(strategy)}})), std::vector<std::string>());
    const KafkaSourceOptions parsed = connectors::ParseKafkaSourceOptions(options_);
    EXPECT_EQ(parsed.membership->strategy, strategy);
  }
  ExpectProblem(Group({{"group", Text("g")}, {"group-strategy", Text("sticky")}}), {"group-strategy", "sticky"});
  ASSERT_EQ(Problems(Group({{"group", Text("g")}})), std::vector<std::string>());
  EXPECT_EQ(connectors::ParseKafkaSourceOptions(options_).membership->strategy, "cooperative-sticky");
}

TEST_F(KafkaGroupOptionsTest, WhatNoMemberCanKeepIsRefused) {
  ExpectProblem(Group({{"group", Text("g")}, {"end", Text("latest")}}), {"end", "assignment group"});
  ExpectProblem(Group({{"group", Text("g")}, {"start", Text("group-offsets")}}), {"start", "committed offsets"});
  ExpectProblem(Group({{"group", Text("g")}, {"start", Text("timestamp")}, {"start-timestamp", Number(1)}}),
                {"start", "committed offsets"});
}

TEST_F(KafkaGroupOptionsTest, OptionsOfMembersNeedAssignmentGroup) {
  Definition definition = Group({{"group", Text("g")}, {"group-strategy", Text("range")}});
  definition[3].second = Text("enumerator");
  ExpectProblem(definition, {"group-strategy", "only with assignment group"});
}

TEST_F(KafkaGroupOptionsTest, TimingsAreCheckedAgainstEachOther) {
  const auto with = [](const char* name, const char* value) {
    return Group({{"group", Text("g")}, {"properties", Object({{name, Text(value)}})}});
  };
  ExpectProblem(with("heartbeat.interval.ms", "10000"), {"heartbeat.interval.ms", "10000 ms"});
  ExpectProblem(with("session.timeout.ms", "90000"), {"session.timeout.ms", "90000 ms", "60000"});
  EXPECT_EQ(Problems(with("session.timeout.ms", "6000")), std::vector<std::string>());
}

TEST_F(KafkaGroupOptionsTest, AMemberHasDefaultsThatItsPropertiesChange) {
  ASSERT_EQ(Problems(Group({{"group", Text("g")},
                            {"discovery-interval", Text("5s")},
                            {"properties", Object({{"session.timeout.ms", Text("7000")}})}})),
            std::vector<std::string>());
  const KafkaSourceOptions parsed = connectors::ParseKafkaSourceOptions(options_);
  EXPECT_EQ(Property(parsed, "session.timeout.ms"), "7000");
  EXPECT_EQ(Property(parsed, "heartbeat.interval.ms"), "1000");
  EXPECT_EQ(Property(parsed, "topic.metadata.refresh.interval.ms"), "5000");
  EXPECT_FALSE(parsed.membership->start_latest);
}

TEST_F(KafkaGroupOptionsTest, B50_AStaticMembersIdNamesInstanceAndSubtask) {
  ASSERT_EQ(Problems(Group({{"group", Text("g")}, {"group-instance-id", Text("orders")}})), std::vector<std::string>());
  operators::OptionValue instance;
  instance.text = "left";
  options_.Set("instance", std::move(instance));
  const KafkaSourceOptions parsed = connectors::ParseKafkaSourceOptions(options_);
  EXPECT_EQ(connectors::GroupInstanceIdOf(parsed, 3), "orders-left-3");
  ExpectProblem(Group({{"group", Text("g")}, {"group-instance-id", Text("a b")}}), {"group-instance-id", "a b"});
}

TEST_F(KafkaGroupOptionsTest, ACheckpointOfTheOtherAssignmentIsRefused) {
  connectors::KafkaGroupEnumerator group;
  const std::string state = *group.SnapshotState({1, {}});
  EXPECT_TRUE(connectors::CheckRestoredAssignment(true, state).ok());
  EXPECT_TRUE(connectors::CheckRestoredAssignment(false, "{\"partitions\":[]}").ok());
  EXPECT_EQ(connectors::CheckRestoredAssignment(false, state).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(connectors::CheckRestoredAssignment(true, "{\"partitions\":[]}").code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace weir::kafka_test
