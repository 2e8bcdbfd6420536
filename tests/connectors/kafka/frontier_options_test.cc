// What a definition may say about the frontier.
#include <gtest/gtest.h>

#include "connectors/kafka/options.h"
#include "tests/connectors/kafka/frontier_feed.h"

namespace weir::kafka_test {
namespace {

using connectors::KafkaSourceOptions;

std::vector<std::string> Problems(Definition definition, operators::Options* options = nullptr) {
  definition.emplace_back("bootstrap-servers", Text("sim:9092"));
  return ProblemsOf(connectors::KafkaSourceOptionSpecs(), connectors::CheckKafkaSourceOptions, definition, options);
}

TEST(FrontierOptionsTest, HaveDefaults) {
  operators::Options options;
  ASSERT_EQ(Problems(FeedSource({"t"}), &options), std::vector<std::string>());
  const KafkaSourceOptions parsed = connectors::ParseKafkaSourceOptions(options);
  ASSERT_TRUE(parsed.frontier.has_value());
  EXPECT_EQ(parsed.frontier->release_rows_max, 100'000U);
  EXPECT_EQ(parsed.frontier->waiting_bytes_max, uint64_t{8} << 30);
  EXPECT_EQ(parsed.frontier->waiting_bytes_limit, uint64_t{16} << 30);
  Definition plain = FeedSource({"t"});
  plain.pop_back();
  ASSERT_EQ(Problems(plain, &options), std::vector<std::string>());
  EXPECT_FALSE(connectors::ParseKafkaSourceOptions(options).frontier.has_value());
}

TEST(FrontierOptionsTest, RetireNamesTopicsAndPartitions) {
  operators::Options options;
  ASSERT_EQ(Problems(FeedSource({"a", "B-1", "c"}, {{"retire", List({"a", "c-2"})}}), &options),
            std::vector<std::string>());
  const KafkaSourceOptions parsed = connectors::ParseKafkaSourceOptions(options);
  EXPECT_EQ(parsed.topics, (std::vector<std::string>{"B-1", "c"}));
  EXPECT_TRUE(parsed.Retired({"a", 7}));
  EXPECT_TRUE(parsed.Retired({"c", 2}));
  EXPECT_FALSE(parsed.Retired({"c", 1}));
  EXPECT_FALSE(parsed.Retired({"A", 7}));
}

TEST(FrontierOptionsTest, EveryBadValueIsAProblem) {
  Definition json = FeedSource({"t"});
  json[1].second = Text("json");
  EXPECT_EQ(Problems(json), std::vector<std::string>{
                                "/frontier: frontier needs a format that brings watermarks, and format is json ()"});
  const std::vector<std::string> problems = Problems(FeedSource(
      {"t"},
      {{"waiting-bytes-max", Text("2kB")}, {"waiting-bytes-limit", Text("1kB")}, {"retire", List({"good", "a/b"})}}));
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_NE(problems[0].find("waiting-bytes-limit is below waiting-bytes-max (2000 bytes) (1000)"), std::string::npos)
      << problems[0];
  EXPECT_NE(problems[1].find("names neither a topic nor a partition (a/b)"), std::string::npos) << problems[1];
  for (Definition bad : {Definition{{"release-rows-max", Number(0)}}, Definition{{"waiting-bytes-max", Text("0")}},
                         Definition{{"waiting-bytes-limit", Text("much")}}, Definition{{"retired", List({"t"})}}}) {
    EXPECT_EQ(Problems(FeedSource({"t"}, std::move(bad))).size(), 1U);
  }
}

}  // namespace
}  // namespace weir::kafka_test
