#include "connectors/kafka/frontier_event.h"

#include <nlohmann/json.hpp>

#include "connectors/format/hlc.h"
#include "connectors/kafka/options.h"

namespace weir::connectors {
namespace {

using Json = nlohmann::ordered_json;
using operators::EventTime;

std::string TimeText(EventTime time) {
  std::string text;
  AppendHlc(time, text);
  return text;
}

Json RowsJson(const std::vector<RowsUpTo>& rows) {
  Json json = Json::array();
  for (const RowsUpTo& each : rows) json.push_back(Json::array({TimeText(each.last), each.rows, each.bytes}));
  return json;
}

// Reads the members of one object; the first that is not as expected makes it broken.
class Members {
 public:
  explicit Members(const std::string& text) : json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)) {
    broken_ = !json_.is_object();
  }

  // Nothing, too, if the member is not there.
  const Json* Find(const char* name) {
    if (broken_) return nullptr;
    const auto member = json_.find(name);
    return member == json_.end() ? nullptr : &*member;
  }
  std::optional<EventTime> Time(const Json* json) {
    if (json == nullptr) return std::nullopt;
    const std::optional<EventTime> time =
        json->is_string() ? ParseHlc(json->get_ref<const std::string&>()) : std::nullopt;
    if (!time) broken_ = true;
    return time;
  }
  std::optional<TopicPartition> Partition(const std::string& name) {
    std::optional<TopicPartition> partition = ParseTopicPartition(name);
    if (!partition) broken_ = true;
    return partition;
  }
  uint64_t Number(const Json* json) {
    if (json != nullptr && json->is_number_unsigned()) return json->get<uint64_t>();
    broken_ = true;
    return 0;
  }
  std::vector<RowsUpTo> Rows() {
    std::vector<RowsUpTo> rows;
    const Json* const list = Find("rows");
    if (list == nullptr) return rows;
    for (const Json& each : *list) {
      if (!each.is_array() || each.size() != 3) {
        broken_ = true;
        break;
      }
      const std::optional<EventTime> last = Time(&each[0]);
      rows.push_back({last.value_or(EventTime::Min()), Number(&each[1]), Number(&each[2])});
    }
    return rows;
  }
  template <class T>
  Result<T> Give(T read, const std::string& text) const {
    if (broken_) return Error(Status::Corruption("not what is said about a frontier: " + text));
    return read;
  }

 private:
  Json json_;
  bool broken_ = false;
};

}  // namespace

std::string WriteFrontierReport(const FrontierReport& report) {
  Json json{{"epoch", report.epoch}};
  for (const auto& [partition, time] : report.watermarks) json["watermarks"][partition.ToString()] = TimeText(time);
  if (!report.rows.empty()) json["rows"] = RowsJson(report.rows);
  if (report.emitted) json["emitted"] = TimeText(*report.emitted);
  return json.dump();
}

Result<FrontierReport> ParseFrontierReport(const std::string& text) {
  Members members(text);
  FrontierReport report;
  report.epoch = members.Number(members.Find("epoch"));
  if (const Json* const watermarks = members.Find("watermarks")) {
    for (const auto& [name, time] : watermarks->items()) {
      const std::optional<TopicPartition> partition = members.Partition(name);
      const std::optional<EventTime> watermark = members.Time(&time);
      if (partition && watermark) report.watermarks.emplace(*partition, *watermark);
    }
  }
  report.rows = members.Rows();
  report.emitted = members.Time(members.Find("emitted"));
  return members.Give(std::move(report), text);
}

std::string WriteFrontierCommand(const FrontierCommand& command) {
  Json json{{"epoch", command.epoch}};
  if (command.announce) json["announce"] = TimeText(*command.announce);
  if (command.paused) {
    json["paused"] = Json::array();
    for (const TopicPartition& partition : *command.paused) json["paused"].push_back(partition.ToString());
  }
  return json.dump();
}

Result<FrontierCommand> ParseFrontierCommand(const std::string& text) {
  Members members(text);
  FrontierCommand command;
  command.epoch = members.Number(members.Find("epoch"));
  command.announce = members.Time(members.Find("announce"));
  if (const Json* const paused = members.Find("paused")) {
    command.paused.emplace();
    for (const Json& name : *paused) {
      const std::optional<TopicPartition> partition =
          members.Partition(name.is_string() ? name.get_ref<const std::string&>() : std::string());
      if (partition) command.paused->insert(*partition);
    }
  }
  return members.Give(std::move(command), text);
}

std::string WriteFrontierState(const FrontierState& state) {
  Json json{{"epoch", state.epoch}};
  if (state.announced != EventTime::Min()) json["announced"] = TimeText(state.announced);
  if (!state.rows.empty()) json["rows"] = RowsJson(state.rows);
  return json.dump();
}

Result<FrontierState> ParseFrontierState(const std::string& text) {
  Members members(text);
  FrontierState state;
  state.epoch = members.Number(members.Find("epoch"));
  state.announced = members.Time(members.Find("announced")).value_or(EventTime::Min());
  state.rows = members.Rows();
  return members.Give(std::move(state), text);
}

}  // namespace weir::connectors
