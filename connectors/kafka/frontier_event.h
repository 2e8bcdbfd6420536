// What a Kafka source's enumerator and readers tell each other about the frontier, as JSON, and what the enumerator
// keeps of it. Times are changefeed timestamps ("1700000000123456789.0000000002"). Pure; any thread.
//
//   reader -> enumerator
//   {"epoch":3,"watermarks":{"orders-0":"<time>"},"rows":[["<time>",120,48000]],"emitted":"<time>"} enumerator ->
//   reader   {"epoch":3,"announce":"<time>","paused":["orders-1"]} state
//   {"epoch":3,"announced":"<time>","rows":[["<time>",120,48000]]}
//
// Only "epoch" is always there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/frontier.h"
#include "operators/event_time.h"

namespace weir::connectors {

// Numbers the starts of a source. What was said in an earlier one and comes again after a restore is known by it.
using FrontierEpoch = uint64_t;

struct FrontierReport {
  FrontierEpoch epoch = 0;
  std::map<TopicPartition, operators::EventTime> watermarks = {};  // those that rose; Max: read to its end
  std::vector<RowsUpTo> rows = {};                                 // since the report before
  std::optional<operators::EventTime> emitted = {};                // the announcement that was passed on
  bool empty() const { return watermarks.empty() && rows.empty() && !emitted.has_value(); }
};

struct FrontierCommand {
  FrontierEpoch epoch = 0;
  std::optional<operators::EventTime> announce = {};
  std::optional<std::set<TopicPartition>> paused = {};  // all that are; nothing: as before
};

struct FrontierState {
  FrontierEpoch epoch = 0;
  operators::EventTime announced;
  std::vector<RowsUpTo> rows = {};
};

std::string WriteFrontierReport(const FrontierReport& report);
Result<FrontierReport> ParseFrontierReport(const std::string& text);
std::string WriteFrontierCommand(const FrontierCommand& command);
Result<FrontierCommand> ParseFrontierCommand(const std::string& text);
std::string WriteFrontierState(const FrontierState& state);
Result<FrontierState> ParseFrontierState(const std::string& text);

}  // namespace weir::connectors
