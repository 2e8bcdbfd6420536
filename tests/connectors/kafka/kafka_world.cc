#include "tests/connectors/kafka/kafka_world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::kafka_test {

std::string KafkaWorld::NewName(const std::string& stem) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = stem + "." + test->name();
  for (char& c : name) {
    if (c == '/') c = '.';
  }
  return name;
}

bool KafkaWorld::Until(const std::function<bool()>& done) {
  constexpr Duration kPatience = std::chrono::seconds(30);
  const MonotonicTime start = context().clock->Now();
  while (!done()) {
    if (context().clock->Now() - start > kPatience) return false;
    Wait();
  }
  return true;
}

std::unique_ptr<connectors::KafkaAdmin> KafkaWorld::NewAdmin(Duration timeout) {
  auto admin = factory().NewAdmin(connection(), timeout);
  EXPECT_TRUE(admin.has_value()) << admin.error().ToString();
  return admin.has_value() ? std::move(*admin) : nullptr;
}

std::unique_ptr<connectors::KafkaAdmin> KafkaWorld::NewUncommittedAdmin(Duration timeout) {
  connectors::KafkaConnection uncommitted = connection();
  uncommitted.properties.emplace_back("isolation.level", "read_uncommitted");
  auto admin = factory().NewAdmin(uncommitted, timeout);
  EXPECT_TRUE(admin.has_value()) << admin.error().ToString();
  return admin.has_value() ? std::move(*admin) : nullptr;
}

std::vector<int64_t> KafkaWorld::CommittedEnds(std::span<const connectors::TopicPartition> partitions) {
  constexpr Duration kPatience = std::chrono::seconds(5);
  const auto all = NewUncommittedAdmin();
  const auto committed = NewAdmin();
  if (all == nullptr || committed == nullptr) return {};
  const MonotonicTime start = context().clock->Now();
  while (true) {
    const auto ends = committed->QueryWatermarks(partitions);
    const auto last = all->QueryWatermarks(partitions);
    EXPECT_TRUE(ends.has_value() && last.has_value());
    if (!ends.has_value() || !last.has_value()) return {};
    const bool settled =
        std::ranges::equal(*ends, *last, {}, &connectors::Watermarks::high, &connectors::Watermarks::high);
    if (settled || context().clock->Now() - start > kPatience) {
      std::vector<int64_t> result;
      for (const connectors::Watermarks& marks : *ends) result.push_back(marks.high);
      return result;
    }
    Wait();
  }
}

void KafkaWorld::AppendValues(const std::string& topic, int32_t partition, const std::vector<std::string>& values) {
  std::vector<TestRecord> records;
  for (const std::string& value : values) records.push_back({.value = value});
  Append(topic, partition, records);
}

}  // namespace weir::kafka_test
