// Parts of a sink folder: written under their hidden name by one writer's Worker, described by the payload of a
// committable. Everything here blocks: worker and committer threads only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/status.h"
#include "connectors/file/folder.h"

namespace weir::connectors {

struct Part {
  std::string name;
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;  // Hash64 of the content
  uint64_t rows = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

// {"checksum":"9f86d081884c7d65","name":"part-out-...","rows":10,"size-bytes":812}
std::string PartToJson(const Part& part);
// Corruption names the payload.
Result<Part> PartFromJson(std::string_view payload);

// Ok: `path` has the length of `part`, and its checksum if `deep`. NotFound; Corruption says what is there instead.
Status VerifyPart(FileSystem& fs, const std::string& path, const Part& part, bool deep);

// Writes parts one after the other.
class PartWriter {
 public:
  // `publish`: a sealed part gets its final name at once (at-least-once delivery).
  PartWriter(FileSystem& fs, SinkFolder folder, bool publish);

  // To the part `name`, which is made if it is not the open one; no part may be open then.
  Status Append(const std::string& name, std::string_view data);
  // Closes the open part: its bytes and its hidden name are on disk. After a failure of Append or Seal the part's
  // content is unknown, and every later call fails in the same way: what fsync has refused is never tried again.
  Result<Part> Seal(uint64_t rows);
  // Hidden parts of another attempt whose names are `name_begin` and attempt, subtask, sequence: left over by a crash.
  // Only where nobody publishes parts later on.
  Status RemoveLeftOver(std::string_view name_begin, const UniqueId& attempt);

 private:
  Status TryAppend(const std::string& name, std::string_view data);
  Result<Part> TrySeal(uint64_t rows);

  FileSystem& fs_;
  const SinkFolder folder_;
  const bool publish_;
  std::unique_ptr<WritableFile> file_;  // null: no part is open
  std::unique_ptr<Hasher> hasher_;
  Part part_;
  bool ensured_ = false;
  Status failure_;
};

}  // namespace weir::connectors
