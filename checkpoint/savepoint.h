// A savepoint: the state of one checkpoint in a folder of the user's. It is complete, shares no file with the job's
// storage, may be moved, and is never changed or deleted by Weir, unless a start claims it (claim.h).
//
//   <folder>/_metadata     as a checkpoint's (checkpoint_metadata.h), with `savepoint` set: paths start at <folder>
//            state/<n>     the state files, n from 0
//
// `_metadata` comes last: a folder without it is no savepoint.
#pragma once

#include <functional>
#include <string>

#include "base/file_system.h"
#include "base/ids.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"

namespace weir::checkpoint {

// In it, beside `_metadata`.
inline constexpr const char* kSavepointStateFolder = "state";

struct SavepointRequest {
  std::string folder;  // absolute; may be there if it is empty
  // Called once, on the control thread or where the job is destroyed: the checkpoint that was exported, or why none.
  std::move_only_function<void(Result<CheckpointId>)> done;
};

// Makes the folder. AlreadyExists if there is something in it; FailedPrecondition if it is part of `root`, the job's
// folder of the storage or a savepoint, or of any other such folder: Weir deletes or reads what it finds there. What
// would fail for its sake should do so before a job is asked to stop.
Status PrepareSavepointFolder(FileSystem& fs, const std::string& root, const std::string& folder);

// Copies the checkpoint in `checkpoint`, a chk-<N>, which every system has and which must stay there meanwhile. Durable
// when it returns ok; on an error nothing is left but an empty folder, as far as that can still be brought about. A
// checkpoint's file that is damaged is kCorruption.
Status ExportSavepoint(FileSystem& fs, const std::string& checkpoint, const std::string& folder);

// Writes what `metadata` says as a savepoint, as ExportSavepoint does: state files whose path is not absolute lie under
// `root`, which `folder` is no part of.
Status WriteSavepoint(FileSystem& fs, CheckpointMetadata metadata, const std::string& root, const std::string& folder);

}  // namespace weir::checkpoint
