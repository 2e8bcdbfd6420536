// What a definition may say about where a changefeed begins and ends and about rows that come again: the options
// min-timestamp, max-timestamp, resolved-interval and stale-rows of the kafka source. Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "operators/event_time.h"
#include "operators/options.h"

namespace weir::connectors {

struct ChangefeedOptions {
  bool is_changefeed = false;                         // the format has times of its own; the rest is as below if not
  std::optional<operators::EventTime> min_timestamp;  // the first time that is wanted
  std::optional<operators::EventTime> max_timestamp;  // the first that is not
  Duration resolved_interval = std::chrono::seconds(5);
  bool drop_stale = false;
};

std::vector<operators::OptionSpec> ChangefeedOptionSpecs();
void CheckChangefeedOptions(const operators::Options& options, operators::Problems& problems);
// Of options that passed the check.
ChangefeedOptions ParseChangefeedOptions(const operators::Options& options);

}  // namespace weir::connectors
