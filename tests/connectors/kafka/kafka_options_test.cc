// What the kafka source and sink accept and refuse in a definition, and the JSON of a split's position. No cluster.
#include <gtest/gtest.h>

#include "connectors/kafka/rdkafka_client.h"
#include "connectors/kafka/register_kafka.h"
#include "connectors/kafka/split.h"
#include "connectors/kafka/topic_pattern.h"
#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {
namespace {

class KafkaOptionsTest : public testing::Test {
 protected:
  KafkaOptionsTest() { connectors::RegisterKafka(registry_, *factory_); }

  std::string Source(Definition definition) {
    definition.emplace_back("bootstrap-servers", Text("h:1"));
    const operators::SourceType* type = registry_.FindSource("kafka");
    return Joined(ProblemsOf(type->options, type->check, definition));
  }
  std::string Sink(Definition definition) {
    definition.emplace_back("bootstrap-servers", Text("h:1"));
    const operators::SinkType* type = registry_.FindSink("kafka");
    return Joined(ProblemsOf(type->options, type->check, definition));
  }
  static std::string Joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  static Definition Properties(const std::string& name, const std::string& value) {
    return {{"topics", Text("t")}, {"topic", Text("t")}, {"properties", Object({{name, Text(value)}})}};
  }
  static Definition Without(Definition definition, const std::string& name) {
    std::erase_if(definition, [&](const auto& member) { return member.first == name; });
    return definition;
  }
  static bool Contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::unique_ptr<connectors::KafkaClientFactory> factory_ = connectors::NewRdKafkaClientFactory();
  operators::Registry registry_;
};

TEST_F(KafkaOptionsTest, TakesThePlainest) {
  EXPECT_EQ(Source({{"topics", Text("orders")}}), "");
  EXPECT_EQ(Sink({{"topic", Text("orders")}}), "");
}

TEST_F(KafkaOptionsTest, WantsTopicsOrAPattern) {
  EXPECT_TRUE(Contains(Source({}), "either topics or topic-pattern"));
  EXPECT_TRUE(
      Contains(Source({{"topics", Text("a")}, {"topic-pattern", Text("b")}}), "either topics or topic-pattern"));
  EXPECT_TRUE(Contains(Source({{"topic-pattern", Text("a(")}}), "topic-pattern \"a(\""));
}

TEST_F(KafkaOptionsTest, WantsWhatAStartNeedsAndNothingElse) {
  const auto with = [](const char* start, Definition more = {}) {
    more.emplace_back("topics", Text("t"));
    more.emplace_back("start", Text(start));
    return more;
  };
  EXPECT_TRUE(Contains(Source(with("timestamp")), "start-timestamp is needed with start timestamp"));
  EXPECT_TRUE(Contains(Source(with("offsets")), "start-offsets is needed with start offsets"));
  EXPECT_TRUE(Contains(Source(with("group-offsets")), "group is needed"));
  EXPECT_TRUE(Contains(Source(with("latest", {{"start-timestamp", Number(1)}})), "only with start timestamp"));
  EXPECT_TRUE(Contains(Source(with("offsets", {{"start-offsets", Object({{"t", Number(1)}})}})),
                       "\"t\" is not a topic and partition"));
  EXPECT_TRUE(
      Contains(Source(with("offsets", {{"start-offsets", Object({{"t-0", Text("x")}})}})), "offset of t-0 is \"x\""));
}

TEST_F(KafkaOptionsTest, B03_TheTimesOfAChangefeedAreCheckedAllAtOnce) {
  const auto with = [&](Definition more, const char* format = "cockroachdb") {
    more.emplace_back("topics", Text("t"));
    more.emplace_back("format", Text(format));
    return Source(std::move(more));
  };
  const std::string one = "1.0000000000", two = "2.0000000000";
  EXPECT_EQ(with({{"min-timestamp", Text(one)}, {"max-timestamp", Text(two)}, {"resolved-interval", Text("1ms")}}), "");
  EXPECT_EQ(with({{"min-timestamp", Text(one)}, {"max-timestamp", Text(one)}}), "");
  EXPECT_TRUE(Contains(with({{"min-timestamp", Text(two)}, {"max-timestamp", Text(one)}}),
                       "/min-timestamp: min-timestamp " + two + " is after max-timestamp " + one));
  for (const char* bad : {"", "1", "1.5", "x.0", "-1.0", "1.0.0", "2024-01-01"}) {
    const std::string problems = with({{"min-timestamp", Text(bad)}, {"max-timestamp", Text(bad)}});
    EXPECT_TRUE(Contains(problems, "/min-timestamp: min-timestamp is \"" + std::string(bad) + "\"")) << problems;
    EXPECT_TRUE(Contains(problems, "/max-timestamp: max-timestamp is \"" + std::string(bad) + "\"")) << problems;
  }
  for (const char* bad : {"0", "0ms", "1ns", "-1s"}) {
    EXPECT_TRUE(Contains(with({{"resolved-interval", Text(bad)}}), "/resolved-interval")) << bad;
  }
  EXPECT_TRUE(Contains(with({{"stale-rows", Text("hide")}}), "/stale-rows"));
  const std::string clash = with(
      {{"min-timestamp", Text(one)}, {"start", Text("latest")}, {"max-timestamp", Text(two)}, {"end", Text("latest")}});
  EXPECT_TRUE(Contains(clash, "min-timestamp and start latest both say where a first start begins")) << clash;
  EXPECT_TRUE(Contains(clash, "max-timestamp and end latest both say where reading ends")) << clash;
  const std::string json = with({{"min-timestamp", Text(one)},
                                 {"max-timestamp", Text(two)},
                                 {"resolved-interval", Text("1s")},
                                 {"stale-rows", Text("keep")}},
                                "json");
  for (const char* name : {"min-timestamp", "max-timestamp", "resolved-interval", "stale-rows"}) {
    EXPECT_TRUE(Contains(json, "/" + std::string(name) + ": " + name + " belongs to changefeeds")) << json;
  }
}

TEST_F(KafkaOptionsTest, RefusesPropertiesThatItsPromisesStandOn) {
  for (const char* name : {"enable.auto.commit", "group.id", "auto.offset.reset", "isolation.level",
                           "enable.partition.eof", "bootstrap.servers", "partition.assignment.strategy"}) {
    const std::string problems = Source(Without(Properties(name, "x"), "topic"));
    EXPECT_TRUE(Contains(problems, std::string("/properties/") + name)) << name << ": " << problems;
    EXPECT_TRUE(Contains(problems, "can't be set")) << problems;
  }
  for (const char* name : {"acks", "enable.idempotence", "transactional.id", "transaction.timeout.ms", "partitioner"}) {
    EXPECT_TRUE(Contains(Sink(Without(Properties(name, "x"), "topics")), "can't be set")) << name;
  }
}

TEST_F(KafkaOptionsTest, PassesOtherPropertiesThroughAndKnowsThem) {
  EXPECT_EQ(Source(Without(Properties("fetch.wait.max.ms", "10"), "topic")), "");
  EXPECT_TRUE(Contains(Source(Without(Properties("fetch.wait.max", "10"), "topic")), "not known to this Kafka client"));
  EXPECT_TRUE(Contains(Source(Without(Properties("fetch.wait.max.ms", "many"), "topic")), "fetch.wait.max.ms"));
  EXPECT_EQ(Sink(Without(Properties("linger.ms", "1"), "topics")), "");
}

TEST_F(KafkaOptionsTest, case_H69_SecretsAreInNoMessage) {
  constexpr const char* kCanary = "canary-7Q!x";
  for (const char* name : {"sasl.password", "ssl.key.password", "sasl.passwort", "ssl.key.pem", "sasl.jaas.config"}) {
    const std::string problems = Source(Without(Properties(name, kCanary), "topic"));
    EXPECT_FALSE(Contains(problems, kCanary)) << problems;
  }
  connectors::KafkaConnection connection{.bootstrap_servers = "127.0.0.1:1",
                                         .properties = {{"sasl.mechanism", "PLAIN"},
                                                        {"security.protocol", "sasl_plaintext"},
                                                        {"sasl.username", "u"},
                                                        {"sasl.password", kCanary}}};
  auto admin = factory_->NewAdmin(connection, std::chrono::milliseconds(300));
  ASSERT_TRUE(admin.has_value()) << admin.error().ToString();
  const auto topics = (*admin)->ListTopics();
  ASSERT_FALSE(topics.has_value());
  EXPECT_FALSE(Contains(topics.error().message(), kCanary));
  EXPECT_TRUE(Contains(topics.error().message(), "127.0.0.1:1")) << topics.error().ToString();
  EXPECT_TRUE(Contains(topics.error().message(), "refused")) << topics.error().ToString();
}

TEST_F(KafkaOptionsTest, ChecksTheSinksKey) {
  EXPECT_TRUE(Contains(Sink({{"topic", Text("t")}, {"key", List({"a", "b"})}, {"key-format", Text("raw")}}),
                       "takes one column"));
  EXPECT_TRUE(Contains(Sink({{"topic", Text("weir-markers")}}), "holds the markers"));
}

TEST_F(KafkaOptionsTest, WantsATopicOrAColumnThatNamesIt) {
  EXPECT_EQ(Sink({{"topic-column", Text("to")}}), "");
  EXPECT_TRUE(Contains(Sink({}), "either topic or topic-column"));
  EXPECT_TRUE(Contains(Sink({{"topic", Text("a")}, {"topic-column", Text("b")}}), "either topic or topic-column"));
  EXPECT_TRUE(Contains(Sink({{"topic-column", Text("")}}), "topic-column is empty"));
  for (const std::string& name : {std::string(), std::string("a b"), std::string(".."), std::string(250, 'a')}) {
    EXPECT_TRUE(Contains(Sink({{"topic", Text(name)}}), "is not a topic's name")) << name;
  }
  EXPECT_EQ(Sink({{"topic", Text(std::string(249, 'a'))}}), "");
}

TEST_F(KafkaOptionsTest, ChecksTheSinksHeadersAndFormat) {
  const auto with = [](Definition more) {
    more.emplace_back("topic", Text("t"));
    return more;
  };
  EXPECT_EQ(Sink(with({{"headers", Object({{"h", Text("c")}})}, {"format", Text("debezium-json")}})), "");
  EXPECT_TRUE(Contains(Sink(with({{"headers", Object({{"h", Text("")}})}})), "header \"h\" is of column \"\""));
  EXPECT_EQ(Sink(with({{"format", Text("raw")}, {"value-column", Text("c")}})), "");
  EXPECT_TRUE(Contains(Sink(with({{"value-column", Text("c")}})), "value-column belongs to format raw"));
  EXPECT_TRUE(Contains(Sink(with({{"format", Text("debezium-json")}, {"row-kind-column", Text("c")}})),
                       "row-kind-column belongs to format json"));
  EXPECT_TRUE(Contains(Sink(with({{"on-too-large", Text("skip-it")}})), "on-too-large"));
}

TEST_F(KafkaOptionsTest, TheDeadLetterTopicGoesWithItsPolicy) {
  const auto sink = [&](Definition more) {
    more.emplace_back("topic", Text("t"));
    return Sink(std::move(more));
  };
  EXPECT_EQ(sink({{"on-too-large", Text("dead-letter")}, {"dead-letter-topic", Text("dead")}}), "");
  EXPECT_TRUE(Contains(sink({{"on-too-large", Text("dead-letter")}}), "dead-letter-topic is missing"));
  EXPECT_TRUE(Contains(sink({{"dead-letter-topic", Text("dead")}}), "on-too-large is not dead-letter"));
  EXPECT_TRUE(Contains(sink({{"on-too-large", Text("dead-letter")}, {"dead-letter-topic", Text("a b")}}),
                       "is not a topic's name"));
  EXPECT_TRUE(Contains(sink({{"on-too-large", Text("dead-letter")}, {"dead-letter-topic", Text("weir-markers")}}),
                       "holds the markers"));
}

TEST(KafkaSplitTest, PositionsSurviveTheirJson) {
  connectors::KafkaSplit split;
  split.partition = {"a-b.c", 12};
  split.offset = 9'007'199'254'740'993;
  split.end = INT64_MAX;
  split.watermark = {1'700'000'000'123'456'789, 2};
  const operators::SourceSplit written = split.ToSourceSplit();
  EXPECT_EQ(written.id, "a-b.c-12");
  EXPECT_EQ(written.position,
            R"({"offset":9007199254740993,"end":9223372036854775807,"watermark":"1700000000123456789.0000000002"})");
  const auto read = connectors::KafkaSplit::Parse(written);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ToSourceSplit(), written);
}

TEST(KafkaSplitTest, BrokenPositionsAreNamed) {
  for (const char* position : {"", "{", "[]", "{}", R"({"offset":-1})", R"({"offset":"1"})", R"({"offset":1.5})",
                               R"({"offset":1,"end":"x"})", R"({"offset":1,"watermark":5})"}) {
    const auto read = connectors::KafkaSplit::Parse({"t-0", position});
    ASSERT_FALSE(read.has_value()) << position;
    EXPECT_EQ(read.error().code(), StatusCode::kCorruption);
    EXPECT_NE(read.error().message().find("t-0"), std::string::npos);
  }
  EXPECT_FALSE(connectors::KafkaSplit::Parse({"t", R"({"offset":1})"}).has_value());
  EXPECT_FALSE(connectors::ParseKnownPartitions("{}").has_value());
}

TEST(KafkaTopicPatternTest, MatchesTheWholeName) {
  const auto pattern = connectors::TopicPattern::Compile("orders|orders-.*");
  ASSERT_TRUE(pattern.has_value());
  EXPECT_TRUE(pattern->Matches("orders"));
  EXPECT_TRUE(pattern->Matches("orders-eu"));
  EXPECT_FALSE(pattern->Matches("my-orders"));
  EXPECT_FALSE(pattern->Matches("ordersx"));
}

}  // namespace
}  // namespace weir::kafka_test
