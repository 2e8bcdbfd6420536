// The names in a sink folder, and nothing else's business to spell them:
//
//   <folder>/<prefix>-<uid>-<attempt>-<subtask>-<sequence>.jsonl   a part that its checkpoint has published
//   <folder>/.weir-<job>/<the same name>   hidden: being written, or waiting for its checkpoint
//   <folder>/.weir-<job>/marker            what the folder has (marker.h)
//   <folder>/.weir-<job>/lock              the fence: flock, for the life of a committer
//
// <attempt> is a random number of the start that wrote the part, so that no name is ever used twice. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/ids.h"
#include "base/status.h"

namespace weir::connectors {

class SinkFolder {
 public:
  // `path` is absolute.
  SinkFolder(std::string path, std::string_view job);

  const std::string& path() const { return path_; }
  const std::string& hidden_path() const { return hidden_; }
  std::string Part(std::string_view name) const { return JoinPath(path_, name); }
  std::string HiddenPart(std::string_view name) const { return JoinPath(hidden_, name); }
  std::string marker() const { return JoinPath(hidden_, "marker"); }
  std::string lock() const { return JoinPath(hidden_, "lock"); }
  // False for what the committer itself keeps there.
  static bool IsPart(std::string_view hidden_name);

  // Makes both folders, durably. Both may be there.
  Status Ensure(FileSystem& fs) const;

 private:
  std::string path_;
  std::string hidden_;
};

// "<prefix>-<uid>-<attempt>-<subtask>-", to which a sequence number is added. Other characters of a uid than letters,
// digits, '.', '_' and '-' become '~' and two hexadecimal digits.
std::string PartNameStem(std::string_view prefix, std::string_view uid, const UniqueId& attempt, uint32_t subtask);
std::string PartName(const std::string& stem, uint64_t sequence);
bool IsOfAttempt(std::string_view part_name, const UniqueId& attempt);

// Absolute and without "." and ".." and doubled slashes. `working_directory` may be empty: then a relative path is an
// InvalidArgument.
Result<std::string> AbsolutePath(std::string_view path, const std::string& working_directory);

}  // namespace weir::connectors
