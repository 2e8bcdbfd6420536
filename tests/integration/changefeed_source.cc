#include "tests/integration/changefeed_source.h"

#include <algorithm>
#include <sstream>

#include "connectors/format/hlc.h"

namespace weir::kafka_test {

ChangefeedSourceTest::ChangefeedSourceTest() : world_(GetParam() ? NewRealWorld() : NewSimWorld()) {
  constexpr int64_t kHourMs = 3'600'000;
  const int64_t now_ms = world_->context().clock->WallNs() / 1'000'000;
  base_ms_ = std::max(now_ms - kHourMs, kHourMs) / 1000 * 1000;
}

operators::EventTime ChangefeedSourceTest::TimeOf(double second) const {
  return {.wall_ns = MsOf(second) * 1'000'000, .logical = 0};
}

std::string ChangefeedSourceTest::Hlc(double second) const {
  std::string text;
  connectors::AppendHlc(TimeOf(second), text);
  return text;
}

std::string ChangefeedSourceTest::Topic(int partitions) {
  std::string name = world_->NewName("c" + std::to_string(++topics_));
  EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
  return name;
}

TestRecord ChangefeedSourceTest::MessageOf(const std::string& message) const {
  if (message == "x") return {.value = "not JSON", .timestamp_ms = MsOf(0)};
  const double second = std::stod(message.substr(1));
  const std::string time = "\"" + Hlc(second) + "\"";
  if (message[0] == 'r') return {.value = R"({"resolved":)" + time + "}", .timestamp_ms = MsOf(second)};
  return {.key = "[1]",
          .value = R"({"after":{"id":1,"v":")" + message + R"("},"updated":)" + time + "}",
          .timestamp_ms = MsOf(second)};
}

void ChangefeedSourceTest::Put(const std::string& topic, int32_t partition, const std::string& messages,
                               std::optional<double> written) {
  std::vector<TestRecord> records;
  for (const std::string& message : WordsOf(messages)) {
    records.push_back(MessageOf(message));
    if (written) records.back().timestamp_ms = MsOf(*written);
  }
  world_->Append(topic, partition, records);
}

Definition ChangefeedSourceTest::Source(const std::vector<std::string>& topics, Definition more) {
  Definition definition = {{"topics", List(topics)}, {"format", Text("cockroachdb")}};
  for (auto& member : more) definition.push_back(std::move(member));
  return definition;
}

std::unique_ptr<SourceDriver> ChangefeedSourceTest::Started(Definition definition, const SourceSnapshot* restored,
                                                            uint32_t parallelism) {
  auto driver = std::make_unique<SourceDriver>(*world_, std::move(definition), parallelism);
  EXPECT_EQ(driver->Start(restored).ToString(), "ok");
  return driver;
}

void ChangefeedSourceTest::ExpectError(SourceDriver& driver, StatusCode code, const std::vector<std::string>& parts) {
  EXPECT_FALSE(driver.Until([] { return false; }));
  EXPECT_EQ(driver.error.code(), code) << driver.error.ToString();
  for (const std::string& part : parts) {
    EXPECT_NE(driver.error.message().find(part), std::string::npos) << part << " in " << driver.error.ToString();
  }
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace weir::kafka_test
