#include "checkpoint/savepoint.h"

#include <map>
#include <utility>
#include <vector>

#include "base/fault_site.h"
#include "base/file_copy.h"
#include "checkpoint/checkpoint_storage.h"

namespace weir::checkpoint {
namespace {

// One file, compared with what the checkpoint says of it: a damaged one must not become the user's last resort.
Status CopyStateFile(FileSystem& fs, const std::string& root, const state::StateFile& file, const std::string& to) {
  const std::string from = JoinPath(root, file.path);
  WEIR_RETURN_IF_ERROR(CopyFile(fs, from, to));
  WEIR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(fs, to));
  if (digest.size_bytes != file.size_bytes || digest.checksum != file.checksum) {
    return Status::Corruption("state file " + from + " has other bytes than were written");
  }
  return SyncFile(fs, to);
}

// Copies the state and lets `metadata` say where it is now.
Status CopyState(FileSystem& fs, const std::string& root, const std::string& folder, CheckpointMetadata& metadata) {
  const std::string state = JoinPath(folder, kSavepointStateFolder);
  WEIR_RETURN_IF_ERROR(CreateDirectoriesDurably(fs, state));
  std::map<std::string, std::string> renamed;
  for (const state::StateFile& file : metadata.StateFiles()) {
    std::string path = JoinPath(kSavepointStateFolder, std::to_string(renamed.size()));
    WEIR_RETURN_IF_ERROR(CopyStateFile(fs, root, file, JoinPath(folder, path)));
    renamed[file.path] = std::move(path);
    FAULT_SITE("savepoint.file-copied");
  }
  metadata.MoveStateFiles(renamed);
  WEIR_RETURN_IF_ERROR(fs.SyncDirectory(state));
  return fs.SyncDirectory(folder);
}

// Every system has this checkpoint: nothing waits any more.
void ConfirmOutput(CheckpointMetadata& metadata) {
  for (SystemProgress& system : metadata.systems) {
    system.base = system.Target();
    system.later.clear();
  }
}

Status Write(FileSystem& fs, CheckpointMetadata metadata, const std::string& root, const std::string& folder) {
  WEIR_RETURN_IF_ERROR(CopyState(fs, root, folder, metadata));
  metadata.savepoint = true;
  metadata.claimed.reset();
  FAULT_SITE("savepoint.before-metadata");
  return WriteFileDurably(fs, JoinPath(folder, kMetadataName), EncodeMetadata(metadata));
}

bool IsStorageOrSavepoint(FileSystem& fs, const std::string& folder) {
  return fs.Stat(JoinPath(folder, kStorageIdName)).has_value() || fs.Stat(JoinPath(folder, kMetadataName)).has_value();
}

// The folder that `folder` would be part of: `root`, whatever names lead there, or any other job's or savepoint above
// it. Empty: none.
std::string OwnerAbove(FileSystem& fs, const std::string& root, const std::string& folder) {
  const auto top = fs.Stat(root);
  for (std::string at = folder; at != "/" && at != "."; at = ParentDirectory(at)) {
    const auto info = fs.Stat(at);
    if (!info.has_value()) continue;
    if (top.has_value() && info->device == top->device && info->inode == top->inode) return root;
    if (at != folder && IsStorageOrSavepoint(fs, at)) return at;
  }
  return {};
}

}  // namespace

Status PrepareSavepointFolder(FileSystem& fs, const std::string& root, const std::string& folder) {
  if (const std::string owner = OwnerAbove(fs, root, folder); !owner.empty()) {
    return Status::FailedPrecondition("a savepoint in " + folder + " would be part of " + owner +
                                      ", a job's own folder or another savepoint: choose another place");
  }
  WEIR_RETURN_IF_ERROR(CreateDirectoriesDurably(fs, folder));
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(folder));
  if (names.empty()) return Status::Ok();
  return Status::AlreadyExists("a savepoint needs a folder of its own: there is something in " + folder);
}

Status ExportSavepoint(FileSystem& fs, const std::string& checkpoint, const std::string& folder) {
  Result<CheckpointMetadata> metadata = ReadCheckpointFolder(fs, checkpoint);
  if (!metadata.has_value()) return metadata.error().WithContext("no savepoint in " + folder);
  ConfirmOutput(*metadata);
  return WriteSavepoint(fs, std::move(*metadata), ParentDirectory(checkpoint), folder);
}

Status WriteSavepoint(FileSystem& fs, CheckpointMetadata metadata, const std::string& root, const std::string& folder) {
  WEIR_RETURN_IF_ERROR(PrepareSavepointFolder(fs, root, folder));
  const Status status = Write(fs, std::move(metadata), root, folder);
  if (status.ok()) return status;
  const std::string written = JoinPath(folder, kMetadataName);
  for (const std::string& path : {written, written + ".tmp"}) (void)fs.Remove(path);
  (void)fs.RemoveTree(JoinPath(folder, kSavepointStateFolder));
  return status.WithContext("no savepoint in " + folder);
}

}  // namespace weir::checkpoint
