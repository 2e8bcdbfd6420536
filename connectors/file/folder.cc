#include "connectors/file/folder.h"

#include <utility>
#include <vector>

namespace weir::connectors {
namespace {

constexpr size_t kAttemptDigits = 16;  // 64 of the 128 bits

std::string AttemptText(const UniqueId& attempt) { return attempt.ToString().substr(0, kAttemptDigits); }

// For use inside a name.
std::string Escaped(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string escaped;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (plain) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += '~';
    escaped += kHex[byte >> 4];
    escaped += kHex[byte & 15];
  }
  return escaped;
}

}  // namespace

SinkFolder::SinkFolder(std::string path, std::string_view job)
    : path_(std::move(path)), hidden_(JoinPath(path_, ".weir-" + Escaped(job))) {}

bool SinkFolder::IsPart(std::string_view hidden_name) {
  return hidden_name != "lock" && hidden_name != "marker" && hidden_name != "marker.tmp";
}

Status SinkFolder::Ensure(FileSystem& fs) const { return CreateDirectoriesDurably(fs, hidden_); }

std::string PartNameStem(std::string_view prefix, std::string_view uid, const UniqueId& attempt, uint32_t subtask) {
  std::string stem = Escaped(prefix);
  stem += '-';
  stem += Escaped(uid);
  stem += '-';
  stem += AttemptText(attempt);
  stem += '-';
  stem += std::to_string(subtask);
  stem += '-';
  return stem;
}

std::string PartName(const std::string& stem, uint64_t sequence) {
  std::string name = stem;
  name += std::to_string(sequence);
  name += ".jsonl";
  return name;
}

bool IsOfAttempt(std::string_view part_name, const UniqueId& attempt) {
  const std::string text = "-" + AttemptText(attempt) + "-";
  // The attempt stands before the subtask and the sequence: a uid that looks like one must not mislead.
  const size_t sequence = part_name.rfind('-');
  if (sequence == std::string_view::npos || sequence == 0) return false;
  const size_t subtask = part_name.rfind('-', sequence - 1);
  if (subtask == std::string_view::npos || subtask + 1 < text.size()) return false;
  return part_name.substr(subtask + 1 - text.size(), text.size()) == text;
}

Result<std::string> AbsolutePath(std::string_view path, const std::string& working_directory) {
  if (path.empty()) return Error(Status::InvalidArgument("the path is empty"));
  if (!path.starts_with('/') && working_directory.empty()) {
    return Error(Status::InvalidArgument("path " + std::string(path) + " is not absolute"));
  }
  const std::string whole = JoinPath(working_directory, path);
  std::vector<std::string_view> parts;
  for (std::string_view rest = whole; !rest.empty();) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string absolute;
  for (const std::string_view part : parts) {
    absolute += '/';
    absolute += part;
  }
  return absolute.empty() ? std::string("/") : absolute;
}

}  // namespace weir::connectors
