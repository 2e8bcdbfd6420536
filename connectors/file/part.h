// Parts of a sink folder: written under their hidden name by one writer's Worker, described by the payload of a
// committable. Everything here blocks: worker and committer threads only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/sealed_file.h"
#include "connectors/file/folder.h"

namespace weir::connectors {

using Part = checkpoint::SealedFile;

// {"checksum":"9f86d081884c7d65","name":"part-out-...","rows":10,"size-bytes":812}
std::string PartToJson(const Part& part);
// Corruption names the payload.
Result<Part> PartFromJson(std::string_view payload);

// Writes parts one after the other.
class PartWriter final : public checkpoint::FileSealer {
 public:
  // `publish`: a sealed part gets its final name at once (at-least-once delivery).
  PartWriter(FileSystem& fs, SinkFolder folder, bool publish);

  Status Append(const std::string& name, std::string_view data) override;
  Result<Part> Seal(uint64_t rows) override;
  // Hidden parts of another attempt whose names are `name_begin` and attempt, subtask, sequence: left over by a crash.
  // Only where nobody publishes parts later on.
  Status RemoveLeftOver(std::string_view name_begin, const UniqueId& attempt);

 private:
  FileSystem& fs_;
  const SinkFolder folder_;
  const bool publish_;
  checkpoint::FolderSealer hidden_;
  std::optional<Status> ensured_;  // the folders: a failure stays one
};

}  // namespace weir::connectors
