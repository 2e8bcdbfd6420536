// A Kafka split: one partition, where to go on in it and where to end. Its JSON is what checkpoints hold and people
// read:
//
//   id "orders-3", position {"offset":42,"end":100,"watermark":"1700000000123456789.0000000002"}
//
// "end" only in a bounded source, "watermark" only once there is one, "until" (a time like it) only once rows of that
// time or later were left out. The enumerator's state lists every partition that has ever been assigned:
// {"partitions":["orders-0","orders-1"]}, and under "frontier" what frontier_event.h says, where there is a frontier.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/status.h"
#include "connectors/kafka/client.h"
#include "operators/event_time.h"
#include "operators/source.h"

namespace weir::connectors {

struct KafkaSplit {
  TopicPartition partition;
  int64_t offset = 0;  // the next one to read
  std::optional<int64_t> end;
  operators::EventTime watermark;
  std::optional<operators::EventTime> until;

  bool finished() const { return end.has_value() && offset >= *end; }
  operators::SourceSplit ToSourceSplit() const;
  // Corruption, with the text, unless it is what ToSourceSplit makes.
  static Result<KafkaSplit> Parse(const operators::SourceSplit& split);
};

// `frontier`: JSON text, or empty: none.
std::string WriteKnownPartitions(const std::set<TopicPartition>& partitions, const std::string& frontier = {});
Result<std::set<TopicPartition>> ParseKnownPartitions(const std::string& text);
// Of a text that ParseKnownPartitions takes.
std::optional<std::string> FrontierOfKnownPartitions(const std::string& text);

}  // namespace weir::connectors
