#include "checkpoint/claim.h"

#include <vector>

#include "base/log.h"
#include "checkpoint/checkpoint_storage.h"
#include "checkpoint/savepoint.h"

namespace weir::checkpoint {

Status CheckClaimable(FileSystem& fs, const std::string& folder, const CheckpointMetadata& metadata) {
  if (!metadata.savepoint) {
    return Status::FailedPrecondition("--claim takes a savepoint, and " + folder + " is checkpoint " +
                                      std::to_string(metadata.id.number) + " of job '" + metadata.job +
                                      "', whose storage shares its files and deletes it in time: leave --claim out");
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(folder));
  for (const std::string& name : names) {
    if (name == kMetadataName || name == kSavepointStateFolder) continue;
    return Status::FailedPrecondition(
        "--claim would delete " + JoinPath(folder, name) +
        ", which is no part of the savepoint beside it: move it away, or leave --claim out");
  }
  return Status::Ok();
}

Status DeleteClaimed(FileSystem& fs, const ClaimedSavepoint& claimed) {
  const std::string aside = claimed.folder + ".claimed-" + claimed.id.id.ToString();
  const Result<CheckpointMetadata> found = ReadCheckpointFolder(fs, claimed.folder);
  if (!found.has_value() && found.error().code() != StatusCode::kNotFound) return found.error();
  if (found.has_value() && found->id == claimed.id) {
    WEIR_RETURN_IF_ERROR(CheckClaimable(fs, claimed.folder, *found));
    WEIR_RETURN_IF_ERROR(fs.Rename(claimed.folder, aside));
    WEIR_RETURN_IF_ERROR(fs.SyncDirectory(ParentDirectory(claimed.folder)));
    LogInfo("the claimed savepoint " + claimed.folder + " is deleted: the job has a checkpoint of its own");
  }
  if (!Exists(fs, aside)) return Status::Ok();
  WEIR_RETURN_IF_ERROR(fs.RemoveTree(aside));
  return fs.SyncDirectory(ParentDirectory(aside));
}

}  // namespace weir::checkpoint
