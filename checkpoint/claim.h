// A savepoint that a restore with --claim gives to the job: its line of checkpoints names it (ClaimedSavepoint), and
// when the job has a durable checkpoint that it took itself, the folder is deleted. Everything of it is in the storage
// by then, linked or copied at the restore. Until then it is as whole as any savepoint.
#pragma once

#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"

namespace weir::checkpoint {

// FailedPrecondition, and why, if `folder` with `metadata` in it can't be given away: a checkpoint, whose files belong
// to its neighbours too, or a folder that holds something else.
Status CheckClaimable(FileSystem& fs, const std::string& folder, const CheckpointMetadata& metadata);

// Deletes the savepoint: first it loses its name, at once, so that what is left by a crash is taken for nothing. The
// same call again goes on with that. A folder that holds another savepoint by now, or something else besides, stays.
// Blocks.
Status DeleteClaimed(FileSystem& fs, const ClaimedSavepoint& claimed);

}  // namespace weir::checkpoint
