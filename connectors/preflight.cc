#include "connectors/preflight.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/discovery.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/topic_check.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/target_check.h"

namespace weir::connectors {
namespace {

using operators::Options;

PreflightFinding Good(std::string text) { return {.ok = true, .text = std::move(text)}; }
PreflightFinding Bad(const Status& status) { return {.ok = false, .text = status.message()}; }

// What is known of each topic; false: one could not be described.
bool DescribeTopics(const std::vector<std::string>& topics, KafkaAdmin& admin, PreflightFindings& findings) {
  bool all = true;
  for (const std::string& topic : topics) {
    const Result<TopicMetadata> found = admin.DescribeTopic(topic);
    all = all && found.has_value();
    findings.push_back(found.has_value() ? Good("topic " + topic + " has " + std::to_string(found->partitions) +
                                                (found->partitions == 1 ? " partition" : " partitions"))
                                         : Bad(found.error()));
    // The other topics would wait as long.
    if (!found.has_value() && found.error().code() == StatusCode::kUnavailable) break;
  }
  return all;
}

void CheckKafkaSource(const KafkaSourceOptions& options, KafkaClientFactory& factory, PreflightFindings& findings) {
  const auto admin = factory.NewAdmin(options.connection, options.request_timeout);
  if (!admin.has_value()) return findings.push_back(Bad(admin.error()));
  if (!DescribeTopics(options.topics, **admin, findings)) return;
  const Result<std::vector<KafkaSplit>> splits = KafkaDiscovery(options, **admin).FirstStart();
  if (!splits.has_value()) return findings.push_back(Bad(splits.error()));
  std::set<std::string> topics;
  for (const KafkaSplit& split : *splits) topics.insert(split.partition.topic);
  if (topics.empty()) return findings.push_back({.ok = false, .text = "there is no topic to read"});
  findings.push_back(Good("a first start would read " + std::to_string(splits->size()) + " partitions of " +
                          std::to_string(topics.size()) + (topics.size() == 1 ? " topic" : " topics")));
}

// Where the markers stand: made at the first start, unless somebody made it otherwise.
void CheckMarkerTopic(const KafkaSinkOptions& options, KafkaClientFactory& factory, PreflightFindings& findings) {
  const SystemClock clock;
  const auto reader =
      factory.NewMarkerReader(AdminConnection(options.connection, factory), options.request_timeout, clock);
  if (!reader.has_value()) return findings.push_back(Bad(reader.error()));
  const std::string topic = kKafkaMarkerTopic;
  const Result<std::optional<std::string>> policy = (*reader)->TopicConfig(topic, "cleanup.policy");
  if (!policy.has_value() && policy.error().code() == StatusCode::kNotFound) {
    return findings.push_back(Good("topic " + topic + " does not exist: the first start makes it"));
  }
  if (!policy.has_value()) return findings.push_back(Bad(policy.error()));
  if (policy->value_or("") == "compact") return findings.push_back(Good("topic " + topic + " is compacted"));
  findings.push_back({.ok = false,
                      .text = "topic " + topic + " has cleanup.policy=" + policy->value_or("") +
                              ", and the markers in it need compact"});
}

void CheckKafkaSink(const KafkaSinkOptions& options, KafkaClientFactory& factory, PreflightFindings& findings) {
  const auto admin = factory.NewAdmin(AdminConnection(options.connection, factory), options.request_timeout);
  if (!admin.has_value()) return findings.push_back(Bad(admin.error()));
  std::vector<std::string> topics;
  for (const std::string& topic : {options.topic, options.dead_letter_topic}) {
    if (!topic.empty()) topics.push_back(topic);
  }
  if (!DescribeTopics(topics, **admin, findings)) return;
  if (topics.empty()) {
    const auto all = (*admin)->ListTopics();
    findings.push_back(all.has_value() ? Good("the cluster answers; rows name their topics") : Bad(all.error()));
    if (!all.has_value()) return;
  }
  if (options.exactly_once) CheckMarkerTopic(options, factory, findings);
}

void CheckPostgresSink(const PostgresSinkOptions& options, PostgresClientFactory& factory,
                       PreflightFindings& findings) {
  const Result<TargetTable> table = FindTarget(options, factory);
  if (!table.has_value()) return findings.push_back(Bad(table.error()));
  const auto address = factory.AddressOf(options.connection.conninfo);
  const std::string database = address.has_value() ? address->ToString() : "the database";
  findings.push_back(table->columns.empty()
                         ? Good(database + " answers; rows name their tables")
                         : Good(database + " has table " + table->name.ToString() + ": " + table->ColumnList()));
}

}  // namespace

PreflightFindings PreflightSource(const std::string& type, const Options& options, const ConnectorPorts& ports) {
  PreflightFindings findings;
  if (type == "kafka") CheckKafkaSource(ParseKafkaSourceOptions(options), *ports.kafka, findings);
  return findings;
}

PreflightFindings PreflightSink(const std::string& type, const Options& options, const ConnectorPorts& ports) {
  PreflightFindings findings;
  if (type == "kafka") CheckKafkaSink(ParseKafkaSinkOptions(options), *ports.kafka, findings);
  if (type == "postgres") CheckPostgresSink(ParsePostgresSinkOptions(options), *ports.postgres, findings);
  return findings;
}

}  // namespace weir::connectors
