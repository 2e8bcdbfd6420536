#include "connectors/kafka/options.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "connectors/format/bad_record.h"
#include "connectors/format/format.h"
#include "connectors/kafka/group_options.h"
#include "connectors/kafka/properties.h"
#include "connectors/kafka/security.h"
#include "connectors/kafka/topic_pattern.h"
#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;
using operators::Problem;
using operators::Problems;

template <class T>
std::optional<T> ParseInteger(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::vector<OptionSpec> ConnectionOptionSpecs() {
  std::vector<OptionSpec> specs = {
      {.name = "bootstrap-servers",
       .type = OptionType::kString,
       .required = true,
       .doc = "The cluster's addresses, host:port, separated by commas."},
      {.name = "properties",
       .type = OptionType::kStringMap,
       .doc =
           "Any property of librdkafka, over Weir's own choice; those on which the job's guarantees stand are refused.",
       .secret = true},
      {.name = "request-timeout",
       .type = OptionType::kDuration,
       .default_text = "10s",
       .doc = "How long a request for metadata or offsets may take before the start fails.",
       .min = 100,
       .max = 600'000},
  };
  std::ranges::move(SecurityOptionSpecs(), std::back_inserter(specs));
  return specs;
}

// Offsets by partition under the option `name`: {"orders-0": 42}.
std::map<TopicPartition, int64_t> OffsetsOf(const Options& options, std::string_view name, Problems* problems) {
  std::map<TopicPartition, int64_t> offsets;
  if (!options.Has(name)) return offsets;
  for (const auto& [key, text] : options.StringMap(name)) {
    const std::optional<TopicPartition> partition = ParseTopicPartition(key);
    const std::optional<int64_t> offset = ParseInteger<int64_t>(text);
    const std::string path = options.PathOf(name) + "/" + key;
    if (problems != nullptr && !partition) {
      problems->push_back(
          {path, key, "<topic>-<partition>", "\"" + key + "\" is not a topic and partition like orders-0"});
    }
    if (problems != nullptr && (!offset || *offset < 0)) {
      problems->push_back({path, text, "an offset, 0 or greater", "offset of " + key + " is \"" + text + "\""});
    }
    if (partition && offset) offsets[*partition] = *offset;
  }
  return offsets;
}

// `name` is given exactly if `wanted`.
void CheckGiven(const Options& options, std::string_view name, bool wanted, const std::string& condition,
                Problems& problems) {
  if (options.Has(name) == wanted) return;
  const std::string text(name);
  problems.push_back({options.PathOf(name), "", wanted ? "a value" : "no such member",
                      wanted ? text + " is needed with " + condition : text + " has a meaning only with " + condition});
}

KafkaStart StartOf(const Options& options) {
  const std::string& text = options.String("start");
  if (text == "latest") return KafkaStart::kLatest;
  if (text == "group-offsets") return KafkaStart::kGroupOffsets;
  if (text == "timestamp") return KafkaStart::kTimestamp;
  if (text == "offsets") return KafkaStart::kOffsets;
  return KafkaStart::kEarliest;
}

KafkaEnd EndOf(const Options& options) {
  const std::string& text = options.String("end");
  if (text == "latest") return KafkaEnd::kLatest;
  return text == "offsets" ? KafkaEnd::kOffsets : KafkaEnd::kNone;
}

// The client's limit holds for a record with its overhead; a row above it could never be written.
uint64_t RowBytesMax(const KafkaConnection& connection) {
  constexpr uint64_t kClientDefault = 1'000'000;
  for (const auto& [name, value] : connection.properties) {
    if (name == "message.max.bytes") return ParseInteger<uint64_t>(value).value_or(kClientDefault);
  }
  return kClientDefault;
}

void Append(std::vector<OptionSpec>& specs, std::vector<OptionSpec> more) {
  std::ranges::move(more, std::back_inserter(specs));
}

std::vector<OptionSpec> StartAndEndOptionSpecs() {
  return {
      {.name = "start",
       .type = OptionType::kEnum,
       .default_text = "earliest",
       .doc =
           "Where a first start begins: earliest, latest, the offsets committed by group (partitions without one: "
           "earliest), the first record of a timestamp or later, or given offsets. Afterwards the checkpoint decides.",
       .choices = {"earliest", "latest", "group-offsets", "timestamp", "offsets"}},
      {.name = "start-timestamp",
       .type = OptionType::kInteger,
       .doc = "With start timestamp: milliseconds since 1970-01-01T00:00:00Z.",
       .min = 0},
      {.name = "start-offsets",
       .type = OptionType::kStringMap,
       .doc =
           "With start offsets: {\"<topic>-<partition>\": offset}; partitions that are not named begin at earliest."},
      {.name = "end",
       .type = OptionType::kEnum,
       .default_text = "none",
       .doc = "Where reading ends, which makes the job bounded: none, the end of each partition at the first start "
              "(latest), or given offsets (the first not to be read).",
       .choices = {"none", "latest", "offsets"}},
      {.name = "end-offsets",
       .type = OptionType::kStringMap,
       .doc =
           "With end offsets: {\"<topic>-<partition>\": offset}; partitions that are not named end where they begin."},
  };
}

// Of an option that may be absent.
void CheckTopicName(const Options& options, const std::string& option, Problems& problems) {
  if (!options.Has(option)) return;
  const std::string& topic = options.String(option);
  if (!IsTopicName(topic)) {
    problems.push_back(
        {options.PathOf(option), topic, std::string(kTopicNameRule),
         option + " is " + operators::QuotedExcerpt(topic) + ", which is not " + std::string(kTopicNameRule)});
  }
  if (topic == kKafkaMarkerTopic) {
    problems.push_back({options.PathOf(option), kKafkaMarkerTopic, "another topic",
                        std::string(kKafkaMarkerTopic) + " holds the markers of exactly-once sinks and nothing else"});
  }
}

void CheckDeadLetterTopic(const Options& options, Problems& problems) {
  const bool wanted = options.String("on-too-large") == "dead-letter";
  if (wanted != options.Has("dead-letter-topic")) {
    problems.push_back({options.PathOf("dead-letter-topic"), "", "a topic with on-too-large dead-letter, else none",
                        wanted ? "on-too-large is dead-letter, and dead-letter-topic is missing"
                               : "dead-letter-topic is given, and on-too-large is not dead-letter"});
  }
  CheckTopicName(options, "dead-letter-topic", problems);
}

OptionSpec FrontierOptionSpec() {
  return {
      .name = "frontier",
      .type = OptionType::kObject,
      .doc =
          "With a format that brings watermarks: all readers give the same one, the minimum over all partitions that "
          "are known, read or not yet; without it, each partition has its own.",
      .members =
          {
              {.name = "release-rows-max",
               .type = OptionType::kInteger,
               .default_text = "100000",
               .doc = "Rows that one step of the frontier frees, about: one that was held back goes on in steps of "
                      "source time. Rows of one timestamp always stay together.",
               .min = 1},
              {.name = "waiting-bytes-max",
               .type = OptionType::kBytes,
               .default_text = "8GiB",
               .doc = "With more bytes of records read above the frontier, partitions ahead of it are paused until it "
                      "is a quarter less; those that hold it back are read on.",
               .min = 1},
              {.name = "waiting-bytes-limit",
               .type = OptionType::kBytes,
               .doc = "With more bytes than that above the frontier the job fails, naming the partition that holds it "
                      "back. Default: twice waiting-bytes-max.",
               .min = 1},
              {.name = "retire",
               .type = OptionType::kStringList,
               .doc =
                   "Topics, or partitions (<topic>-<partition>), that are gone for good: neither read nor waited for, "
                   "and what a checkpoint holds of them is dropped."},
          },
  };
}

void CheckFrontier(const Options& options, Problems& problems) {
  if (!options.Has("frontier")) return;
  const Options frontier = options.Object("frontier");
  if (options.String("format") != "cockroachdb") {
    problems.push_back({options.PathOf("frontier"), "", "format cockroachdb",
                        "frontier needs a format that brings watermarks, and format is " + options.String("format")});
  }
  if (frontier.Has("waiting-bytes-limit") &&
      frontier.Integer("waiting-bytes-limit") < frontier.Integer("waiting-bytes-max")) {
    problems.push_back({frontier.PathOf("waiting-bytes-limit"), std::to_string(frontier.Integer("waiting-bytes-limit")),
                        "at least waiting-bytes-max",
                        "waiting-bytes-limit is below waiting-bytes-max (" +
                            std::to_string(frontier.Integer("waiting-bytes-max")) + " bytes)"});
  }
  const std::vector<std::string> retired = frontier.Strings("retire");
  for (size_t i = 0; i < retired.size(); ++i) {
    if (IsTopicName(retired[i])) continue;
    problems.push_back({frontier.PathOf("retire") + "/" + std::to_string(i), retired[i],
                        "<topic> or <topic>-<partition>",
                        operators::QuotedExcerpt(retired[i]) + " names neither a topic nor a partition"});
  }
}

std::optional<KafkaFrontierOptions> FrontierOf(const Options& options) {
  if (!options.Has("frontier")) return std::nullopt;
  const Options frontier = options.Object("frontier");
  KafkaFrontierOptions result;
  result.release_rows_max = static_cast<uint64_t>(frontier.Integer("release-rows-max"));
  result.waiting_bytes_max = static_cast<uint64_t>(frontier.Integer("waiting-bytes-max"));
  result.waiting_bytes_limit = frontier.Has("waiting-bytes-limit")
                                   ? static_cast<uint64_t>(frontier.Integer("waiting-bytes-limit"))
                                   : 2 * result.waiting_bytes_max;
  result.retire = frontier.Strings("retire");
  return result;
}

}  // namespace

bool KafkaSourceOptions::Retired(const TopicPartition& partition) const {
  if (!frontier) return false;
  return std::ranges::any_of(frontier->retire, [&](const std::string& name) {
    return name == partition.topic || name == partition.ToString();
  });
}

std::optional<TopicPartition> ParseTopicPartition(std::string_view text) {
  const size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::optional<int32_t> partition = ParseInteger<int32_t>(text.substr(dash + 1));
  if (!partition || *partition < 0) return std::nullopt;
  return TopicPartition{std::string(text.substr(0, dash)), *partition};
}

bool IsTopicName(std::string_view name) {
  constexpr size_t kBytesMax = 249;
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kBytesMax && name != "." && name != ".." && std::ranges::all_of(name, legal);
}

std::vector<OptionSpec> KafkaSourceOptionSpecs() {
  std::vector<OptionSpec> specs = ConnectionOptionSpecs();
  Append(specs,
         {
             {.name = "topics", .type = OptionType::kStringList, .doc = "The topics to read, or one topic."},
             {.name = "topic-pattern",
              .type = OptionType::kString,
              .doc = "Instead of topics: a POSIX extended regular expression that a topic's whole name matches."},
         });
  Append(specs, StartAndEndOptionSpecs());
  Append(specs, ChangefeedOptionSpecs());
  Append(
      specs,
      {
          {.name = "group",
           .type = OptionType::kString,
           .doc =
               "Consumer group to which the offsets of applied checkpoints are committed: for others to see, or, with "
               "assignment group, to go on from."},
          {.name = "isolation",
           .type = OptionType::kEnum,
           .default_text = "read-committed",
           .doc = "read-uncommitted also gives records of open and aborted transactions.",
           .choices = {"read-committed", "read-uncommitted"}},
          {.name = "discovery-interval",
           .type = OptionType::kDuration,
           .default_text = "30s",
           .doc = "How often to look for new partitions and topics, which are read from their earliest record; 0 is "
                  "never. A bounded source does not look.",
           .min = 0},
      });
  specs.push_back(FrontierOptionSpec());
  Append(specs, KafkaGroupOptionSpecs());
  specs.push_back(operators::OnErrorSpec());
  Append(specs, DeserializerOptions());
  return specs;
}

void CheckKafkaSourceOptions(const Options& options, Problems& problems) {
  CheckDeserializerOptions(options, problems);
  if (options.Has("topics") == options.Has("topic-pattern")) {
    problems.push_back(
        {options.PathOf("topics"), "", "topics or topic-pattern", "give either topics or topic-pattern"});
  }
  if (options.Has("topics") && options.Strings("topics").empty()) {
    problems.push_back({options.PathOf("topics"), "[]", "at least one topic", "topics is empty"});
  }
  if (options.Has("topic-pattern")) {
    const std::string& pattern = options.String("topic-pattern");
    if (const Result<TopicPattern> compiled = TopicPattern::Compile(pattern); !compiled.has_value()) {
      problems.push_back({options.PathOf("topic-pattern"), pattern, "a POSIX extended regular expression",
                          compiled.error().message()});
    }
  }
  CheckGiven(options, "start-timestamp", StartOf(options) == KafkaStart::kTimestamp, "start timestamp", problems);
  CheckGiven(options, "start-offsets", StartOf(options) == KafkaStart::kOffsets, "start offsets", problems);
  CheckGiven(options, "end-offsets", EndOf(options) == KafkaEnd::kOffsets, "end offsets", problems);
  CheckFrontier(options, problems);
  if (StartOf(options) == KafkaStart::kGroupOffsets && !options.Has("group")) {
    CheckGiven(options, "group", true, "start group-offsets", problems);
  }
  OffsetsOf(options, "start-offsets", &problems);
  OffsetsOf(options, "end-offsets", &problems);
  CheckChangefeedOptions(options, problems);
  CheckKafkaGroupOptions(options, problems);
}

KafkaSourceOptions ParseKafkaSourceOptions(const Options& options) {
  KafkaSourceOptions result;
  result.connection = ConnectionFrom(options);
  const bool uncommitted = options.String("isolation") == "read-uncommitted";
  result.connection.properties.emplace_back("isolation.level", uncommitted ? "read_uncommitted" : "read_committed");
  if (options.Has("topics")) result.topics = options.Strings("topics");
  std::ranges::sort(result.topics);
  result.topics.erase(std::ranges::unique(result.topics).begin(), result.topics.end());
  if (options.Has("topic-pattern")) result.topic_pattern = options.String("topic-pattern");
  result.start = StartOf(options);
  if (options.Has("start-timestamp")) result.start_timestamp_ms = options.Integer("start-timestamp");
  result.start_offsets = OffsetsOf(options, "start-offsets", nullptr);
  result.end = EndOf(options);
  result.end_offsets = OffsetsOf(options, "end-offsets", nullptr);
  result.changefeed = ParseChangefeedOptions(options);
  if (options.Has("group")) result.group = options.String("group");
  result.discovery_interval = result.bounded() ? Duration::zero() : options.Time("discovery-interval");
  result.request_timeout = options.Time("request-timeout");
  result.frontier = FrontierOf(options);
  if (result.frontier && result.changefeed.max_timestamp) {
    result.frontier->last = result.changefeed.max_timestamp->Previous();
  }
  std::erase_if(result.topics, [&](const std::string& topic) {
    return result.frontier && std::ranges::find(result.frontier->retire, topic) != result.frontier->retire.end();
  });
  ParseKafkaGroupOptions(options, result);
  return result;
}

std::vector<OptionSpec> KafkaSinkOptionSpecs() {
  std::vector<OptionSpec> specs = ConnectionOptionSpecs();
  Append(
      specs,
      {
          {.name = "topic", .type = OptionType::kString, .doc = "The topic to write; it must exist."},
          {.name = "topic-column",
           .type = OptionType::kString,
           .doc = "Instead of topic: the column that holds the name of each row's topic, which must exist."},
          {.name = "headers",
           .type = OptionType::kStringMap,
           .doc = "The record's headers: {\"<name>\": \"<column>\"}. A header is the column's text; of a null column "
                  "there is none."},
          {.name = "key",
           .type = OptionType::kStringList,
           .doc = "Columns that make the record's key. With a key and without row-kind-column or format debezium-json "
                  "the topic is a table: +I and +U are records, -D a tombstone, -U nothing."},
          {.name = "key-format",
           .type = OptionType::kEnum,
           .default_text = "array",
           .doc = "The key's bytes: a JSON array as in changefeeds, a JSON object, or the text of one column.",
           .choices = {"array", "object", "raw"}},
          {.name = "partitioner",
           .type = OptionType::kEnum,
           .default_text = "murmur2",
           .doc = "How the key chooses the partition: murmur2 as Kafka's Java client, consistent (CRC32) as "
                  "librdkafka's. Without a key: any.",
           .choices = {"murmur2", "consistent"}},
          {.name = "delivery",
           .type = OptionType::kEnum,
           .default_text = "at-least-once",
           .doc = "exactly-once: the rows of a checkpoint become visible to read_committed consumers in one "
                  "transaction when it is durable. at-least-once: rows go out at once; a restart may write some again.",
           .choices = {"exactly-once", "at-least-once"}},
          {.name = "transaction-timeout",
           .type = OptionType::kDuration,
           .default_text = "10m",
           .doc = "With delivery exactly-once: how long the rows of one checkpoint may take to write before the broker "
                  "gives the transaction up. At most the broker's transaction.max.timeout.ms.",
           .min = 1'000,
           .max = 86'400'000},
          {.name = "timestamp",
           .type = OptionType::kEnum,
           .default_text = "write-time",
           .doc = "The record's timestamp: when it is written, or the row's event time.",
           .choices = {"write-time", "event-time"}},
          {.name = "on-too-large",
           .type = OptionType::kEnum,
           .default_text = "fail",
           .doc = "A row whose record is above message.max.bytes fails the job, or is counted as a bad record and "
                  "skipped or sent to dead-letter-topic.",
           .choices = {"fail", "skip", "dead-letter"}},
          {.name = "dead-letter-topic",
           .type = OptionType::kString,
           .doc =
               "With on-too-large dead-letter: where such rows go, with their key, the beginning of their value, and "
               "the headers weir-topic and weir-error."},
      });
  Append(specs, SerializerOptions());
  return specs;
}

void CheckKafkaSinkOptions(const Options& options, Problems& problems) {
  CheckSerializerOptions(options, problems);
  if (options.Has("topic") == options.Has("topic-column")) {
    problems.push_back({options.PathOf("topic"), "", "topic or topic-column", "give either topic or topic-column"});
  }
  CheckTopicName(options, "topic", problems);
  if (options.Has("topic-column") && options.String("topic-column").empty()) {
    problems.push_back({options.PathOf("topic-column"), "", "a column", "topic-column is empty"});
  }
  for (const auto& [header, column] : options.StringMap("headers")) {
    if (!header.empty() && !column.empty()) continue;
    problems.push_back({options.PathOf("headers") + "/" + header, column, "a header's name and its column",
                        "header \"" + header + "\" is of column \"" + column + "\": neither may be empty"});
  }
  CheckDeadLetterTopic(options, problems);
  const size_t columns = options.Has("key") ? options.Strings("key").size() : 0;
  if (options.Has("key") && columns == 0) {
    problems.push_back({options.PathOf("key"), "[]", "at least one column", "key is empty"});
  }
  if (options.String("key-format") == "raw" && columns > 1) {
    problems.push_back(
        {options.PathOf("key"), "", "one column", "key-format raw takes one column, not " + std::to_string(columns)});
  }
}

KafkaSinkOptions ParseKafkaSinkOptions(const Options& options) {
  KafkaSinkOptions result;
  result.connection = ConnectionFrom(options);
  result.connection.properties.emplace_back(
      "partitioner", options.String("partitioner") == "consistent" ? "consistent_random" : "murmur2_random");
  if (options.Has("topic")) result.topic = options.String("topic");
  if (options.Has("topic-column")) result.topic_column = options.String("topic-column");
  result.headers = options.StringMap("headers");
  if (options.Has("key")) result.key = options.Strings("key");
  const std::string& key_format = options.String("key-format");
  result.key_format = key_format == "raw"      ? KafkaKeyFormat::kRaw
                      : key_format == "object" ? KafkaKeyFormat::kObject
                                               : KafkaKeyFormat::kArray;
  result.event_time = options.String("timestamp") == "event-time";
  result.row_kinds = WritesRowKinds(options);
  result.upsert = !result.key.empty() && !result.row_kinds;
  result.exactly_once = options.String("delivery") == "exactly-once";
  result.row_bytes_max = RowBytesMax(result.connection);
  result.fail_too_large = options.String("on-too-large") == "fail";
  if (options.Has("dead-letter-topic")) result.dead_letter_topic = options.String("dead-letter-topic");
  result.transaction_timeout = options.Time("transaction-timeout");
  result.request_timeout = options.Time("request-timeout");
  return result;
}

}  // namespace weir::connectors
