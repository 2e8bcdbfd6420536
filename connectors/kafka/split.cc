#include "connectors/kafka/split.h"

#include <nlohmann/json.hpp>

#include "connectors/format/hlc.h"
#include "connectors/kafka/options.h"

namespace weir::connectors {
namespace {

// A member that is an integer of 64 bits and not negative.
bool ReadOffset(const nlohmann::json& object, const char* name, int64_t& value) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer()) return false;
  value = member->get<int64_t>();
  return value >= 0;
}

// A member that is a time, or none.
bool ReadTime(const nlohmann::json& object, const char* name, std::optional<operators::EventTime>& time) {
  const auto member = object.find(name);
  if (member == object.end()) return true;
  if (member->is_string()) time = ParseHlc(member->get_ref<const std::string&>());
  return time.has_value();
}

void AppendTime(std::string_view name, operators::EventTime time, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":\"";
  AppendHlc(time, out);
  out += '"';
}

}  // namespace

operators::SourceSplit KafkaSplit::ToSourceSplit() const {
  std::string position = "{\"offset\":" + std::to_string(offset);
  if (end) position += ",\"end\":" + std::to_string(*end);
  if (watermark != operators::EventTime::Min()) AppendTime("watermark", watermark, position);
  if (until) AppendTime("until", *until, position);
  return {partition.ToString(), position + "}"};
}

Result<KafkaSplit> KafkaSplit::Parse(const operators::SourceSplit& split) {
  const Status broken = Status::Corruption("split \"" + split.id + "\" with position " + split.position +
                                           " is not a Kafka partition with an offset");
  const std::optional<TopicPartition> partition = ParseTopicPartition(split.id);
  const nlohmann::json position = nlohmann::json::parse(split.position, nullptr, /*allow_exceptions=*/false);
  if (!partition || !position.is_object()) return Error(broken);
  KafkaSplit result;
  result.partition = *partition;
  if (!ReadOffset(position, "offset", result.offset)) return Error(broken);
  if (position.contains("end")) {
    int64_t end = 0;
    if (!ReadOffset(position, "end", end)) return Error(broken);
    result.end = end;
  }
  std::optional<operators::EventTime> watermark;
  if (!ReadTime(position, "watermark", watermark) || !ReadTime(position, "until", result.until)) return Error(broken);
  result.watermark = watermark.value_or(operators::EventTime::Min());
  return result;
}

std::string WriteKnownPartitions(const std::set<TopicPartition>& partitions, const std::string& frontier) {
  nlohmann::json names = nlohmann::json::array();
  for (const TopicPartition& partition : partitions) names.push_back(partition.ToString());
  nlohmann::ordered_json state{{"partitions", std::move(names)}};
  if (!frontier.empty()) state["frontier"] = nlohmann::ordered_json::parse(frontier);
  return state.dump();
}

Result<std::set<TopicPartition>> ParseKnownPartitions(const std::string& text) {
  const Status broken = Status::Corruption("the state of a Kafka enumerator is not a list of partitions: " + text);
  const nlohmann::json state = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object() || !state.contains("partitions") || !state["partitions"].is_array()) return Error(broken);
  std::set<TopicPartition> partitions;
  for (const nlohmann::json& name : state["partitions"]) {
    const std::optional<TopicPartition> partition =
        name.is_string() ? ParseTopicPartition(name.get_ref<const std::string&>()) : std::nullopt;
    if (!partition) return Error(broken);
    partitions.insert(*partition);
  }
  return partitions;
}

std::optional<std::string> FrontierOfKnownPartitions(const std::string& text) {
  const auto state = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object() || !state.contains("frontier")) return std::nullopt;
  return state["frontier"].dump();
}

}  // namespace weir::connectors
