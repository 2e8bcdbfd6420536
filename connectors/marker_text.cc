#include "connectors/marker_text.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "base/bytes.h"

namespace weir::connectors {
namespace {

constexpr int kVersion = 1;

std::string Checksum(const nlohmann::json& json) {
  const UniqueId as_id{.high = Hash64(json.dump()), .low = 0};
  return as_id.ToString().substr(0, 16);
}

bool ReadId(const nlohmann::json& json, const char* name, UniqueId& id) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return false;
  const Result<UniqueId> parsed = UniqueId::Parse(found->get<std::string>());
  if (!parsed.has_value()) return false;
  id = *parsed;
  return true;
}

}  // namespace

std::string MarkerToText(const checkpoint::Marker& marker) {
  nlohmann::json json = {
      {"version", kVersion},
      {"job", marker.job},
      {"storage", marker.storage.ToString()},
      {"attempt", marker.attempt.ToString()},
      {"checkpoint", {{"number", marker.checkpoint.number}, {"id", marker.checkpoint.id.ToString()}}}};
  json["checksum"] = Checksum(json);
  return json.dump() + "\n";
}

Result<checkpoint::Marker> MarkerFromText(std::string_view text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Error(Status::Corruption("not a JSON object: " + std::string(text.substr(0, 100))));
  const nlohmann::json checksum = json.value("checksum", nlohmann::json());
  json.erase("checksum");
  if (!checksum.is_string() || checksum.get<std::string>() != Checksum(json)) {
    return Error(Status::Corruption("its checksum does not fit its content"));
  }
  const nlohmann::json version = json.value("version", nlohmann::json());
  if (version != kVersion) {
    return Error(
        Status::Corruption("it has version " + version.dump() + ", this program knows " + std::to_string(kVersion)));
  }
  checkpoint::Marker marker;
  const auto job = json.find("job");
  const auto checkpoint = json.find("checkpoint");
  if (job == json.end() || !job->is_string() || checkpoint == json.end() || !checkpoint->is_object() ||
      !ReadId(json, "storage", marker.storage) || !ReadId(json, "attempt", marker.attempt) ||
      !ReadId(*checkpoint, "id", marker.checkpoint.id)) {
    return Error(Status::Corruption("a member is missing or of another type"));
  }
  const auto number = checkpoint->find("number");
  if (number == checkpoint->end() || !number->is_number_unsigned()) {
    return Error(Status::Corruption("checkpoint.number is missing or no number"));
  }
  marker.job = job->get<std::string>();
  marker.checkpoint.number = number->get<uint64_t>();
  return marker;
}

}  // namespace weir::connectors
