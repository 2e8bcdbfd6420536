// A changefeed by hand, for tests of the frontier: rows and resolved times in partitions of a world's topics. A time is
// a small number n, 10 ms each since 1970.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "connectors/format/hlc.h"
#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {

inline std::string FeedTime(int n) {
  constexpr int64_t kNsEach = 10'000'000;
  std::string text;
  connectors::AppendHlc({n * kNsEach, 0}, text);
  return text;
}

// The n whose resolved message gives this watermark.
inline int FeedTimeOf(operators::EventTime watermark) {
  constexpr int64_t kNsEach = 10'000'000;
  const operators::EventTime time =
      watermark.logical == std::numeric_limits<int32_t>::max() ? watermark.Next() : watermark;
  return static_cast<int>(time.wall_ns / kNsEach);
}

inline std::vector<int> FeedTimesOf(const std::vector<operators::EventTime>& watermarks) {
  std::vector<int> times;
  for (const operators::EventTime watermark : watermarks) times.push_back(FeedTimeOf(watermark));
  return times;
}

inline TestRecord FeedRow(int id, int time, size_t padding = 0) {
  return {.key = "[" + std::to_string(id) + "]",
          .value = R"({"after":{"pad":")" + std::string(padding, 'x') + R"(","id":)" + std::to_string(id) +
                   R"(},"updated":")" + FeedTime(time) + "\"}"};
}

inline TestRecord FeedResolved(int time) { return {.value = R"({"resolved":")" + FeedTime(time) + "\"}"}; }

// A source with a frontier; `more` and `frontier` are members of the definition and of the option.
inline Definition FeedSource(const std::vector<std::string>& topics, Definition frontier = {}, Definition more = {}) {
  Definition definition = {
      {"topics", List(topics)}, {"format", Text("cockroachdb")}, {"frontier", Object(std::move(frontier))}};
  for (auto& member : more) definition.push_back(std::move(member));
  return definition;
}

}  // namespace weir::kafka_test
