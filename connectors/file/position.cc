#include "connectors/file/position.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "connectors/format/hlc.h"

namespace weir::connectors {
namespace {

// False if the member is there and is no number.
bool ReadOptional(const nlohmann::json& object, const char* name, uint64_t& number) {
  const auto member = object.find(name);
  if (member == object.end()) return true;
  if (!member->is_number_unsigned()) return false;
  number = member->get<uint64_t>();
  return true;
}

bool ReadIdentity(const nlohmann::json& json, FilePosition& position) {
  if (!json.contains("inode")) return true;
  position.identity.emplace();
  return ReadOptional(json, "device", position.identity->device) &&
         ReadOptional(json, "inode", position.identity->inode);
}

bool ReadFingerprint(const nlohmann::json& json, FilePosition& position) {
  const auto fingerprint = json.find("fingerprint");
  if (fingerprint == json.end()) return true;
  return fingerprint->is_object() && ReadOptional(*fingerprint, "at", position.fingerprint_at) &&
         ReadOptional(*fingerprint, "hash", position.fingerprint);
}

bool ReadWatermark(const nlohmann::json& json, FilePosition& position) {
  const auto watermark = json.find("watermark");
  if (watermark == json.end()) return true;
  const auto time = watermark->is_string() ? ParseHlc(watermark->get_ref<const std::string&>())
                                           : std::optional<operators::EventTime>();
  if (time.has_value()) position.watermark = *time;
  return time.has_value();
}

bool Read(const nlohmann::json& json, FilePosition& position) {
  if (!json.is_object() || !json.contains("offset") || !json.contains("line")) return false;
  const auto finished = json.find("finished");
  if (finished == json.end() || !finished->is_boolean()) return false;
  position.finished = finished->get<bool>();
  if (const auto path = json.find("path"); path != json.end()) {
    if (!path->is_string()) return false;
    position.path = path->get<std::string>();
  }
  return ReadOptional(json, "offset", position.offset) && ReadOptional(json, "line", position.line) &&
         ReadOptional(json, "size", position.size_bytes) && ReadIdentity(json, position) &&
         ReadFingerprint(json, position) && ReadWatermark(json, position);
}

}  // namespace

operators::SourceSplit FilePosition::ToSplit(std::string id) const {
  nlohmann::json json = {
      {"path", path}, {"offset", offset}, {"line", line}, {"finished", finished}, {"size", size_bytes}};
  if (identity.has_value()) {
    json["device"] = identity->device;
    json["inode"] = identity->inode;
  }
  if (fingerprint_at > 0) json["fingerprint"] = {{"at", fingerprint_at}, {"hash", fingerprint}};
  if (watermark != operators::EventTime::Min()) {
    std::string text;
    AppendHlc(watermark, text);
    json["watermark"] = text;
  }
  return {std::move(id), json.dump()};
}

Result<FilePosition> FilePosition::FromSplit(const operators::SourceSplit& split) {
  FilePosition position;
  position.path = split.id;
  if (Read(nlohmann::json::parse(split.position, nullptr, false), position)) return position;
  return Error(Status::Corruption(split.id + ": not a position in a file: " + split.position.substr(0, 300)));
}

}  // namespace weir::connectors
