// A kafka source that reads changefeeds, on the simulated cluster and on a real broker, and the messages to put there:
// "r4" is a resolved message of second 4, "m2" a row that changed in second 2, "x" no changefeed message at all.
// Seconds count from an hour before the test, so that no retention takes them away. One thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {

class ChangefeedSourceTest : public testing::TestWithParam<bool> {
 protected:
  ChangefeedSourceTest();

  // "1700000004.5" -> its HLC text; second 4 with 0.5 s.
  std::string Hlc(double second) const;
  operators::EventTime TimeOf(double second) const;
  int64_t MsOf(double second) const { return base_ms_ + static_cast<int64_t>(second * 1000); }
  std::string Topic(int partitions);
  // Messages as above, separated by blanks, each written in the second that it names, or in `written` instead. A row's
  // last column is its message: "m2".
  void Put(const std::string& topic, int32_t partition, const std::string& messages,
           std::optional<double> written = std::nullopt);
  TestRecord MessageOf(const std::string& message) const;

  static Definition Source(const std::vector<std::string>& topics, Definition more = {});
  std::unique_ptr<SourceDriver> Started(Definition definition, const SourceSnapshot* restored = nullptr,
                                        uint32_t parallelism = 1);
  void ExpectError(SourceDriver& driver, StatusCode code, const std::vector<std::string>& parts);

  const std::unique_ptr<KafkaWorld> world_;
  int64_t base_ms_ = 0;
  int topics_ = 0;
};

std::vector<std::string> WordsOf(const std::string& text);

}  // namespace weir::kafka_test
