#include "connectors/file/part.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

namespace weir::connectors {
namespace {

bool ParseHex(const std::string& text, uint64_t& number) {
  if (text.size() != 16) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string PartToJson(const Part& part) {
  const nlohmann::json json = {{"name", part.name},
                               {"size-bytes", part.size_bytes},
                               {"checksum", checkpoint::ChecksumText(part.checksum)},
                               {"rows", part.rows}};
  return json.dump();
}

Result<Part> PartFromJson(std::string_view payload) {
  const nlohmann::json json = nlohmann::json::parse(payload, nullptr, false);
  const auto bad = [&] {
    std::string message = "not the description of a part: ";
    message += payload.substr(0, 200);
    return Error(Status::Corruption(std::move(message)));
  };
  if (!json.is_object()) return bad();
  const auto name = json.find("name");
  const auto size = json.find("size-bytes");
  const auto checksum = json.find("checksum");
  const auto rows = json.find("rows");
  const auto end = json.end();
  if (name == end || size == end || checksum == end || rows == end || !name->is_string() ||
      !size->is_number_unsigned() || !checksum->is_string() || !rows->is_number_unsigned()) {
    return bad();
  }
  Part part{.name = name->get<std::string>(), .size_bytes = size->get<uint64_t>(), .rows = rows->get<uint64_t>()};
  if (part.name.empty() || part.name.find('/') != std::string::npos) return bad();
  if (!ParseHex(checksum->get<std::string>(), part.checksum)) return bad();
  return part;
}

PartWriter::PartWriter(FileSystem& fs, SinkFolder folder, bool publish)
    : fs_(fs), folder_(std::move(folder)), publish_(publish), hidden_(fs, folder_.hidden_path()) {}

Status PartWriter::Append(const std::string& name, std::string_view data) {
  if (!ensured_.has_value()) ensured_ = folder_.Ensure(fs_);
  WEIR_RETURN_IF_ERROR(*ensured_);
  return hidden_.Append(name, data);
}

Result<Part> PartWriter::Seal(uint64_t rows) {
  if (ensured_.has_value()) WEIR_RETURN_IF_ERROR(*ensured_);
  WEIR_ASSIGN_OR_RETURN(Part part, hidden_.Seal(rows));
  if (publish_) {
    WEIR_RETURN_IF_ERROR(fs_.Rename(folder_.HiddenPart(part.name), folder_.Part(part.name)));
    WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder_.path()));
  }
  return part;
}

Status PartWriter::RemoveLeftOver(std::string_view name_begin, const UniqueId& attempt) {
  const Result<std::vector<std::string>> names = fs_.List(folder_.hidden_path());
  if (!names.has_value()) return names.error().code() == StatusCode::kNotFound ? Status::Ok() : names.error();
  for (const std::string& name : *names) {
    if (!name.starts_with(name_begin) || IsOfAttempt(name, attempt)) continue;
    // <attempt>-<subtask>-<sequence>.jsonl: not of a sink whose uid merely begins in the same way.
    if (std::count(name.begin() + static_cast<std::ptrdiff_t>(name_begin.size()), name.end(), '-') != 2) continue;
    WEIR_RETURN_IF_ERROR(fs_.Remove(folder_.HiddenPart(name)));
  }
  return Status::Ok();
}

}  // namespace weir::connectors
