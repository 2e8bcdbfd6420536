// What a definition may say about a Kafka source and sink. The structs' members are the JSON keys; OptionSpecs carry
// the documentation. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "connectors/kafka/changefeed_options.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/group_consumer.h"
#include "operators/options.h"

namespace weir::connectors {

// Where exactly-once sinks keep their markers; no sink may write rows there.
inline constexpr char kKafkaMarkerTopic[] = "weir-markers";

enum class KafkaStart : uint8_t { kEarliest, kLatest, kGroupOffsets, kTimestamp, kOffsets };
enum class KafkaEnd : uint8_t { kNone, kLatest, kOffsets };

// Watermarks of all partitions are one: their minimum, in steps (frontier.h).
struct KafkaFrontierOptions {
  uint64_t release_rows_max = 0;
  uint64_t waiting_bytes_max = 0;
  uint64_t waiting_bytes_limit = 0;
  operators::EventTime last = operators::EventTime::Max();  // of the rows that are wanted
  std::vector<std::string> retire;                          // topics and partitions
};

struct KafkaSourceOptions {
  KafkaConnection connection;       // with isolation.level
  std::vector<std::string> topics;  // these, or
  std::string topic_pattern;        // all that match
  KafkaStart start = KafkaStart::kEarliest;
  int64_t start_timestamp_ms = 0;
  std::map<TopicPartition, int64_t> start_offsets;
  KafkaEnd end = KafkaEnd::kNone;
  std::map<TopicPartition, int64_t> end_offsets;
  std::string group;              // empty: no offsets are committed
  Duration discovery_interval{};  // zero: off
  Duration request_timeout{};
  std::optional<KafkaFrontierOptions> frontier;  // none: each partition has its own watermark
  ChangefeedOptions changefeed;
  // Partitions are the group's to assign (group_options.h). Without: the enumerator's.
  std::optional<KafkaGroupMembership> membership;
  std::string instance;  // of the process, with membership

  bool bounded() const { return end != KafkaEnd::kNone || changefeed.max_timestamp.has_value(); }
  // Neither read nor waited for: the definition names it as gone.
  bool Retired(const TopicPartition& partition) const;
};

std::vector<operators::OptionSpec> KafkaSourceOptionSpecs();
void CheckKafkaSourceOptions(const operators::Options& options, operators::Problems& problems);
// Of options that passed the check.
KafkaSourceOptions ParseKafkaSourceOptions(const operators::Options& options);

enum class KafkaKeyFormat : uint8_t { kArray, kObject, kRaw };

struct KafkaSinkOptions {
  KafkaConnection connection;                                // with the partitioner
  std::string topic;                                         // this, or
  std::string topic_column;                                  // the column that names each row's
  std::vector<std::pair<std::string, std::string>> headers;  // name, column
  std::vector<std::string> key;                              // columns; empty: records without a key
  KafkaKeyFormat key_format = KafkaKeyFormat::kArray;
  bool event_time = false;  // the record's timestamp is the row's event time
  bool row_kinds = false;   // the value tells each row's kind; otherwise -U is left out
  bool upsert = false;      // with a key and without row kinds: -D is a tombstone
  bool exactly_once = false;
  uint64_t row_bytes_max = 1'000'000;  // of one record, with what the client adds: its message.max.bytes
  bool fail_too_large = true;          // a row above that is an error; otherwise it is left out, or
  std::string dead_letter_topic;       // goes there, if this names a topic
  Duration transaction_timeout{};      // exactly once: the broker ends a transaction that is open for longer
  Duration request_timeout{};
};

std::vector<operators::OptionSpec> KafkaSinkOptionSpecs();
void CheckKafkaSinkOptions(const operators::Options& options, operators::Problems& problems);
KafkaSinkOptions ParseKafkaSinkOptions(const operators::Options& options);

// What Kafka takes as a topic's name.
bool IsTopicName(std::string_view name);
inline constexpr std::string_view kTopicNameRule =
    "a topic's name: 1 to 249 letters, digits, dots, underscores and dashes, not \".\" or \"..\"";

// "orders-3" -> {"orders", 3}; nothing if it is not of that form.
std::optional<TopicPartition> ParseTopicPartition(std::string_view text);

}  // namespace weir::connectors
