#include "connectors/file/part.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fault_site.h"
#include "base/file_copy.h"

namespace weir::connectors {
namespace {

std::string Hex(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[number >> (4 * i) & 15];
  return text;
}

bool ParseHex(const std::string& text, uint64_t& number) {
  if (text.size() != 16) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string PartToJson(const Part& part) {
  const nlohmann::json json = {
      {"name", part.name}, {"size-bytes", part.size_bytes}, {"checksum", Hex(part.checksum)}, {"rows", part.rows}};
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

Status VerifyPart(FileSystem& fs, const std::string& path, const Part& part, bool deep) {
  WEIR_ASSIGN_OR_RETURN(const FileSystem::Info info, fs.Stat(path));
  if (info.directory || info.size_bytes != part.size_bytes) {
    return Status::Corruption("file " + path + " has " + std::to_string(info.size_bytes) +
                              " bytes, the checkpoint says " + std::to_string(part.size_bytes));
  }
  if (!deep) return Status::Ok();
  WEIR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(fs, path));
  if (digest.checksum == part.checksum) return Status::Ok();
  return Status::Corruption("file " + path + " has checksum " + Hex(digest.checksum) + ", the checkpoint says " +
                            Hex(part.checksum));
}

PartWriter::PartWriter(FileSystem& fs, SinkFolder folder, bool publish)
    : fs_(fs), folder_(std::move(folder)), publish_(publish) {}

Status PartWriter::Append(const std::string& name, std::string_view data) {
  if (failure_.ok()) failure_ = TryAppend(name, data);
  return failure_;
}

Status PartWriter::TryAppend(const std::string& name, std::string_view data) {
  if (file_ == nullptr) {
    if (!ensured_) WEIR_RETURN_IF_ERROR(folder_.Ensure(fs_));
    ensured_ = true;
    WEIR_ASSIGN_OR_RETURN(file_, fs_.OpenForWrite(folder_.HiddenPart(name), WriteMode::kCreateNew));
    hasher_ = std::make_unique<Hasher>();
    part_ = Part{.name = name};
  }
  WEIR_CHECK_EQ(part_.name, name);
  WEIR_RETURN_IF_ERROR(file_->Append(data));
  hasher_->Update(data);
  part_.size_bytes += data.size();
  return Status::Ok();
}

Result<Part> PartWriter::Seal(uint64_t rows) {
  WEIR_RETURN_IF_ERROR(failure_);
  Result<Part> part = TrySeal(rows);
  if (!part.has_value()) failure_ = part.error();
  return part;
}

Result<Part> PartWriter::TrySeal(uint64_t rows) {
  WEIR_CHECK(file_ != nullptr);
  const std::unique_ptr<WritableFile> file = std::exchange(file_, nullptr);
  WEIR_RETURN_IF_ERROR(file->Sync());
  WEIR_RETURN_IF_ERROR(file->Close());
  WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder_.hidden_path()));
  FAULT_SITE("file.part-fsynced");
  part_.checksum = hasher_->Digest();
  part_.rows = rows;
  if (publish_) {
    WEIR_RETURN_IF_ERROR(fs_.Rename(folder_.HiddenPart(part_.name), folder_.Part(part_.name)));
    WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder_.path()));
  }
  return part_;
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
