// A job that copies numbers from one topic to another, exactly once, on a real broker; what comes out against what went
// in. One thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/job_copy.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {

class KafkaCopyTest : public CopyTest {
 protected:
  KafkaCopyTest() : job_(world_->NewName("job")), in_(world_->NewName("in")), out_(world_->NewName("out")) {
    EXPECT_EQ(world_->CreateTopic(in_, 1).ToString(), "ok");
    EXPECT_EQ(world_->CreateTopic(out_, 1).ToString(), "ok");
    definition_ = WriteJob(folder_, CopyJob());
  }

  // Source "numbers", sink "copy".
  Json CopyJob() {
    Json job = EmptyJob(folder_, job_);
    job["sources"].push_back(KafkaSource(*world_, "numbers", in_, "json"));
    job["sinks"].push_back(ExactSink("copy", "numbers", out_));
    return job;
  }
  Json ExactSink(const std::string& id, const std::string& input, const std::string& topic) {
    Json sink = KafkaSink(*world_, id, input, topic, Json::array({"k"}));
    sink["delivery"] = "exactly-once";
    sink["request-timeout"] = "3s";
    return sink;
  }
  // All under one key.
  void Feed(int count) override {
    std::vector<kafka_test::TestRecord> records;
    for (int i = 0; i < count; ++i, ++fed_) records.push_back({.value = Row(fed_)});
    world_->Append(in_, 0, records);
  }
  static std::string Row(int number) { return R"({"k":1,"n":)" + std::to_string(number) + "}"; }
  std::vector<std::string> Out(const std::string& topic) {
    std::vector<std::string> values;
    for (const TopicRecord& record : ReadTopic(*world_, topic, 1)) values.push_back(record.value.value_or("null"));
    return values;
  }
  std::vector<std::string> Out() { return Out(out_); }
  std::vector<std::string> Fed(int from = 0) const {
    std::vector<std::string> rows;
    for (int i = from; i < fed_; ++i) rows.push_back(Row(i));
    return rows;
  }
  bool ComesOut(size_t rows, Duration limit = std::chrono::seconds(30)) {
    return Eventually(limit, [&] { return Out().size() >= rows; });
  }
  bool AllOut() override { return ComesOut(static_cast<size_t>(fed_)); }
  void ExpectExact() override { EXPECT_EQ(Out(), Fed()); }

  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  const std::string job_;
  const std::string in_;
  const std::string out_;
  int fed_ = 0;
};

}  // namespace weir::job_test
