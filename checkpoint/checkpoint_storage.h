// The folder of one job's checkpoints:
//
//   <storage>/<job>/lock               held while the object lives: one process a job
//                   storage-id         32 hexadecimal digits; made at first use
//                   first-published    there from the first durable checkpoint on: nothing left is loss, not a first
//                   start chk-<N>/_metadata  checkpoint N is durable (metadata format: checkpoint_metadata.h)
//                   chk-<N>.damaged/   was passed over at a start; kept for people
//                   shared/            immutable state files, named by the metadata of all retained checkpoints
//                   output/            sealed output segments
//                   applied/<system>   a hint: the newest checkpoint that the system has confirmed
//
// Used by one thread at a time: at the start by who starts the job, then by the coordinator's publishing worker alone;
// everything blocks. The hints (applied_hint.h) are apart because each system's worker writes its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"

namespace weir::checkpoint {

// The file that makes a folder a checkpoint.
inline constexpr std::string_view kMetadataName = "_metadata";
inline constexpr std::string_view kStorageIdName = "storage-id";

// How a publication ended.
enum class PublishFate : uint8_t {
  kDurable,
  kNotPublished,  // failed before the rename: this checkpoint alone is lost
  kOpen,          // failed at the rename or behind it, or a state file's fsync failed: the job must restart
};

struct PublishOutcome {
  PublishFate fate = PublishFate::kDurable;
  Status status;
  uint64_t metadata_bytes = 0;
};

// A checkpoint folder that can't be used, and why.
struct DamagedCheckpoint {
  uint64_t number = 0;
  Status cause;
};

class CheckpointStorage {
 public:
  // Makes the folders at first use and takes the lock. FailedPrecondition naming the folder if another process has it.
  static Result<std::unique_ptr<CheckpointStorage>> Open(FileSystem& fs, const std::string& storage_folder,
                                                         const std::string& job, Random& random);

  const std::string& root() const { return root_; }
  const std::string& job() const { return job_; }
  UniqueId id() const { return id_; }
  std::string SharedFolder() const;
  std::string OutputFolder() const;
  std::string CheckpointFolder(uint64_t number) const;
  FileSystem& file_system() { return fs_; }

  // Numbers of folders with a `_metadata`, falling.
  Result<std::vector<uint64_t>> DurableNumbers();
  // The greatest number of any checkpoint folder, aborted and damaged ones too; 0: none.
  Result<uint64_t> GreatestNumber();
  // True if a checkpoint was durable here once.
  bool FirstPublished();

  // Reads `_metadata` of `number`. NotFound, or kCorruption if the file or what it says (number, job, storage) is
  // wrong.
  Result<CheckpointMetadata> LoadMetadata(uint64_t number);
  enum class Verify : uint8_t { kLengths, kChecksums };
  // kCorruption naming the first state file that is missing, has another length or another content.
  Status VerifyFiles(const CheckpointMetadata& metadata, Verify verify);
  // Makes sure that a checkpoint whose rename may not have reached the disk is there for good.
  Status SyncCheckpoint(const CheckpointMetadata& metadata);

  // Makes folder chk-<number>, durably.
  Status Begin(uint64_t number);
  // S5. kNotPublished if Begin of `metadata.id.number` has failed. Files that no durable checkpoint of this object
  // names are fsynced here.
  PublishOutcome Publish(const CheckpointMetadata& metadata);

  // What may go, computed now: checkpoints beyond the newest `retain`, aborted folders below the newest, state files
  // that no retained checkpoint names, segments that only older ones name. `pinned`: numbers that are retained too,
  // whatever their age. To be called while no checkpoint is being taken; DeleteGarbage may run later.
  struct Garbage {
    std::vector<std::string> files;
    std::vector<std::string> folders;
  };
  Result<Garbage> FindGarbage(uint32_t retain, const std::set<uint64_t>& pinned = {});
  // The same at a start, before anything writes: also every segment that no retained checkpoint names.
  Result<Garbage> FindLeftovers(uint32_t retain);
  // As much as can be deleted is; the first failure comes back and is no reason to stop.
  Status DeleteGarbage(const Garbage& garbage);
  // Every checkpoint with its files and its output, once nobody needs them: no later start goes on from here. The
  // newest goes last: a crash leaves it, or none. What tells that there were some, and the greatest number, stays.
  Status DeleteAll();
  // Renames chk-<number> to chk-<number>.damaged.
  Status KeepAside(uint64_t number);

  // Brings the files of a checkpoint that lies elsewhere into shared/ (linked, else copied, fsynced) and changes the
  // paths in `metadata`. `folder` is that checkpoint's own.
  Status Import(const std::string& folder, UniqueId attempt, CheckpointMetadata& metadata);

 private:
  CheckpointStorage(FileSystem& fs, std::string root, std::string job);
  Status MakeFolders();
  Status LoadOrMakeId(Random& random);
  Status SyncNewFiles(const CheckpointMetadata& metadata);
  Status WriteMetadata(const CheckpointMetadata& metadata, uint64_t& bytes);
  void RememberFiles(const CheckpointMetadata& metadata);
  // Reads the metadata of each of `retained` that is not known yet; false: one is unreadable, what it names is unknown.
  bool KnowFilesOf(const std::set<uint64_t>& retained);
  Status AddUnnamedFiles(Garbage& garbage);

  FileSystem& fs_;
  const std::string root_;
  const std::string job_;
  UniqueId id_;
  std::unique_ptr<FileLock> lock_;
  std::set<uint64_t> begun_;  // whose folder is durable
  struct Named {
    std::set<std::string> files;     // paths of state files
    std::set<std::string> segments;  // names in output/
  };
  std::map<uint64_t, Named> synced_;  // what checkpoints known durable name, by number
};

// The lock that a CheckpointStorage holds as long as it lives, alone. `folder`: the job's, which is there.
// FailedPrecondition naming it if another process has it.
Result<std::unique_ptr<FileLock>> LockJobFolder(FileSystem& fs, const std::string& folder);

// The folder of the checkpoint that a person means by `path`: that folder, its `_metadata`, or a job's folder, which
// means the newest durable one in it. NotFound says what is there instead.
Result<std::string> FindCheckpointFolder(FileSystem& fs, const std::string& path);
// Reads a checkpoint or savepoint anywhere: `folder` holds `_metadata`. As LoadMetadata, without the comparison.
Result<CheckpointMetadata> ReadCheckpointFolder(FileSystem& fs, const std::string& folder);
// Where the paths of its state files start: a checkpoint shares files with its neighbours, a savepoint has its own.
std::string StateRoot(const std::string& folder, const CheckpointMetadata& metadata);
// As CheckpointStorage::VerifyFiles for a checkpoint in `folder`.
Status VerifyCheckpointFolder(FileSystem& fs, const std::string& folder, const CheckpointMetadata& metadata,
                              CheckpointStorage::Verify verify);

}  // namespace weir::checkpoint
