#include "jobs/position_edit.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace weir::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOffset = "offset";
constexpr const char* kWatermark = "watermark";
constexpr const char* kFinished = "finished";

bool IsWholeNumber(const Json& json) { return json.is_number_unsigned() && json.get<uint64_t>() <= INT64_MAX; }

Status Unfit(const std::string& change, const Json& position, const std::string& why) {
  return Status::InvalidArgument("offset " + change + " does not fit: " + why + "; the position is " + position.dump());
}

// The member that a plain number means; nothing: others depend on it.
std::optional<std::string> NumberedMember(const Json& position) {
  if (position.size() == 1) return position.begin().key();
  if (!position.contains(kOffset)) return std::nullopt;
  for (const auto& [name, value] : position.items()) {
    if (name != kOffset && name != kWatermark && name != "end" && name != "until") return std::nullopt;
  }
  return kOffset;
}

Status CheckMember(const std::string& change, const Json& position, const std::string& name, const Json& value) {
  if (!position.contains(name)) return Unfit(change, position, "it has no member \"" + name + "\"");
  if (value.is_null()) return Status::Ok();
  const Json& former = position[name];
  if (former.is_number()) {
    if (IsWholeNumber(value)) return Status::Ok();
    return Unfit(change, position, "\"" + name + "\" is a whole number from 0, found " + value.dump());
  }
  if (former.type() == value.type()) return Status::Ok();
  return Unfit(change, position,
               "\"" + name + "\" is a " + std::string(former.type_name()) + ", found " + value.dump());
}

}  // namespace

Result<std::string> ChangePosition(const std::string& position, const std::string& change) {
  Json json = Json::parse(position, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Error(Status::InvalidArgument("the position " + position + " is no JSON object and can't be changed"));
  }
  Json members = Json::parse(change, nullptr, /*allow_exceptions=*/false);
  if (members.is_number()) {
    const std::optional<std::string> name = NumberedMember(json);
    if (!name.has_value())
      return Error(Unfit(change, json, "other members depend on it: give JSON with all that change"));
    members = Json::object({{*name, members}});
  }
  if (!members.is_object() || members.empty()) {
    return Error(Unfit(change, json, "expected a number, or a JSON object of the members that change"));
  }
  for (const auto& [name, value] : members.items()) WEIR_RETURN_IF_ERROR(CheckMember(change, json, name, value));
  json.erase(kWatermark);
  if (json.contains(kFinished)) json[kFinished] = false;
  json.merge_patch(members);
  return json.dump();
}

}  // namespace weir::jobs
