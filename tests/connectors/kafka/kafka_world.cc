#include "tests/connectors/kafka/kafka_world.h"

#include <gtest/gtest.h>

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

void KafkaWorld::AppendValues(const std::string& topic, int32_t partition, const std::vector<std::string>& values) {
  std::vector<TestRecord> records;
  for (const std::string& value : values) records.push_back({.value = value});
  Append(topic, partition, records);
}

}  // namespace weir::kafka_test
