// The options of a Kafka source whose partitions a consumer group assigns (`assignment: group`), and what else in its
// options can't go with that. Pure; any thread.
#pragma once

#include <vector>

#include "connectors/kafka/options.h"
#include "operators/options.h"

namespace weir::connectors {

// assignment, group-strategy, group-instance-id.
std::vector<operators::OptionSpec> KafkaGroupOptionSpecs();
bool IsGroupAssigned(const operators::Options& options);
void CheckKafkaGroupOptions(const operators::Options& options, operators::Problems& problems);
// Completes `result`, which has the rest of the options: its membership and the connection's defaults for members.
void ParseKafkaGroupOptions(const operators::Options& options, KafkaSourceOptions& result);
// The group instance id of a subtask; empty: a dynamic member.
std::string GroupInstanceIdOf(const KafkaSourceOptions& options, uint32_t subtask);

}  // namespace weir::connectors
