// The broker fixture itself: what the integration tests rely on.
#include "tests/harness/kafka_broker.h"

#include <gtest/gtest.h>

namespace weir::harness {
namespace {

TEST(KafkaBrokerTest, CreatesAndDeletesTopics) {
  KafkaBroker& kafka = SharedKafkaBroker();
  EXPECT_EQ(kafka.CreateTopic("broker-test-topic", 3, {{"cleanup.policy", "compact"}}).ToString(), "ok");
  EXPECT_EQ(kafka.CreateTopic("broker-test-topic", 3).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(kafka.DeleteTopic("broker-test-topic").ToString(), "ok");
  EXPECT_EQ(kafka.DeleteTopic("broker-test-topic-never-made").code(), StatusCode::kFailedPrecondition);
}

TEST(KafkaBrokerTest, KeepsTopicsOverAKillAndAStop) {
  KafkaBroker& kafka = SharedKafkaBroker();
  ASSERT_EQ(kafka.CreateTopic("kept", 1).ToString(), "ok");
  const std::string bootstrap = kafka.bootstrap();
  kafka.Kill9();
  ASSERT_EQ(kafka.Restart().ToString(), "ok");
  EXPECT_EQ(kafka.bootstrap(), bootstrap);
  EXPECT_EQ(kafka.CreateTopic("kept", 1).code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(kafka.Stop().ToString(), "ok");
  ASSERT_EQ(kafka.Restart().ToString(), "ok");
  EXPECT_EQ(kafka.CreateTopic("kept", 1).code(), StatusCode::kFailedPrecondition);
}

TEST(KafkaBrokerTest, SaysWhatToDoWithoutJars) {
  setenv("WEIR_KAFKA_LIB", "no-such-folder", 1);
  const auto started = KafkaBroker::Start();
  unsetenv("WEIR_KAFKA_LIB");
  ASSERT_FALSE(started.has_value());
  EXPECT_NE(started.error().message().find("make test"), std::string::npos) << started.error().ToString();
}

}  // namespace
}  // namespace weir::harness
