#include "checkpoint/checkpoint_storage.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/fault_site.h"
#include "base/file_copy.h"

namespace weir::checkpoint {
namespace {

constexpr std::string_view kFolderPrefix = "chk-";
constexpr std::string_view kDamagedSuffix = ".damaged";
constexpr std::string_view kFirstPublishedName = "first-published";

// The number in "chk-<number><suffix>"; nothing for any other name.
std::optional<uint64_t> NumberIn(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(kFolderPrefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(kFolderPrefix.size());
  name.remove_suffix(suffix.size());
  constexpr uint64_t kNumberMax = std::numeric_limits<uint64_t>::max() / 2;  // a greater one was not written by us
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0 || number > kNumberMax)
    return std::nullopt;
  return number;
}

std::string WithoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status CheckLength(FileSystem& fs, const std::string& path, uint64_t expected_bytes) {
  const Result<FileSystem::Info> info = fs.Stat(path);
  if (!info.has_value()) {
    if (info.error().code() != StatusCode::kNotFound) return info.error();
    return Status::Corruption("state file " + path + " is missing");
  }
  if (info->directory || info->size_bytes != expected_bytes) {
    return Status::Corruption("state file " + path + " has " + std::to_string(info->size_bytes) + " bytes instead of " +
                              std::to_string(expected_bytes));
  }
  return Status::Ok();
}

Status VerifyStateFiles(FileSystem& fs, const std::string& root, const CheckpointMetadata& metadata,
                        CheckpointStorage::Verify verify) {
  for (const state::StateFile& file : metadata.StateFiles()) {
    const std::string path = JoinPath(root, file.path);
    WEIR_RETURN_IF_ERROR(CheckLength(fs, path, file.size_bytes));
    if (verify == CheckpointStorage::Verify::kLengths) continue;
    WEIR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(fs, path));
    if (digest.checksum != file.checksum) {
      return Status::Corruption("state file " + path + " has a wrong checksum: its bytes have changed");
    }
  }
  return Status::Ok();
}

// (number, name) of every checkpoint folder in a job's folder, rising; damaged ones too.
Result<std::vector<std::pair<uint64_t, std::string>>> ListCheckpointFolders(FileSystem& fs, const std::string& root) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(root));
  std::vector<std::pair<uint64_t, std::string>> folders;
  for (const std::string& name : names) {
    std::optional<uint64_t> number = NumberIn(name, {});
    if (!number.has_value()) number = NumberIn(name, kDamagedSuffix);
    if (number.has_value()) folders.emplace_back(*number, name);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Those with a `_metadata`, falling.
Result<std::vector<uint64_t>> ListDurableNumbers(FileSystem& fs, const std::string& root) {
  WEIR_ASSIGN_OR_RETURN(const auto folders, ListCheckpointFolders(fs, root));
  std::vector<uint64_t> numbers;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    if (folder->second.ends_with(kDamagedSuffix)) continue;
    if (Exists(fs, JoinPath(JoinPath(root, folder->second), kMetadataName))) numbers.push_back(folder->first);
  }
  return numbers;
}

std::string FolderOf(const std::string& root, uint64_t number) {
  return JoinPath(root, std::string(kFolderPrefix) + std::to_string(number));
}

}  // namespace

std::string StateRoot(const std::string& folder, const CheckpointMetadata& metadata) {
  std::string own = WithoutTrailingSlash(folder);
  return metadata.savepoint ? own : ParentDirectory(own);
}

Result<std::string> FindCheckpointFolder(FileSystem& fs, const std::string& path) {
  std::string folder = WithoutTrailingSlash(path);
  if (folder == kMetadataName || folder.ends_with("/" + std::string(kMetadataName))) folder = ParentDirectory(folder);
  if (Exists(fs, JoinPath(folder, kMetadataName))) return folder;
  const Result<FileSystem::Info> info = fs.Stat(folder);
  if (!info.has_value() && info.error().code() != StatusCode::kNotFound) return Error(info.error());
  std::string found = "which does not exist";
  if (info.has_value() && !info->directory) found = "which is a file";
  if (info.has_value() && info->directory) {
    WEIR_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, ListDurableNumbers(fs, folder));
    if (!numbers.empty()) return FolderOf(folder, numbers.front());
    found = "which has neither _metadata nor chk-<number> in it";
  }
  return Error(Status::NotFound("no checkpoint in " + path + ", " + found +
                                ": expected a checkpoint's folder, its _metadata, or a job's folder"));
}

Result<CheckpointMetadata> ReadCheckpointFolder(FileSystem& fs, const std::string& folder) {
  const std::string path = JoinPath(folder, kMetadataName);
  WEIR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(fs, path));
  return DecodeMetadata(bytes, path);
}

Status VerifyCheckpointFolder(FileSystem& fs, const std::string& folder, const CheckpointMetadata& metadata,
                              CheckpointStorage::Verify verify) {
  return VerifyStateFiles(fs, StateRoot(folder, metadata), metadata, verify);
}

CheckpointStorage::CheckpointStorage(FileSystem& fs, std::string root, std::string job)
    : fs_(fs), root_(std::move(root)), job_(std::move(job)) {}

Result<std::unique_ptr<FileLock>> LockJobFolder(FileSystem& fs, const std::string& folder) {
  Result<std::unique_ptr<FileLock>> lock = fs.Lock(JoinPath(folder, "lock"));
  if (lock.has_value() || lock.error().code() != StatusCode::kFailedPrecondition) return lock;
  return Error(Status::FailedPrecondition("job '" + folder.substr(folder.rfind('/') + 1) +
                                          "' is running already: another process holds its checkpoint folder " +
                                          folder));
}

Result<std::unique_ptr<CheckpointStorage>> CheckpointStorage::Open(FileSystem& fs, const std::string& storage_folder,
                                                                   const std::string& job, Random& random) {
  if (job.empty() || job == "." || job == ".." || job.find('/') != std::string::npos) {
    return Error(Status::InvalidArgument("job name '" + job + "' can't be a folder's name"));
  }
  const std::string parent = WithoutTrailingSlash(storage_folder);
  std::unique_ptr<CheckpointStorage> storage(new CheckpointStorage(fs, JoinPath(parent, job), job));
  WEIR_RETURN_IF_ERROR(CreateDirectoriesDurably(fs, storage->root_));
  WEIR_ASSIGN_OR_RETURN(storage->lock_, LockJobFolder(fs, storage->root_));
  WEIR_RETURN_IF_ERROR(storage->MakeFolders());
  WEIR_RETURN_IF_ERROR(storage->LoadOrMakeId(random));
  return storage;
}

std::string CheckpointStorage::SharedFolder() const { return JoinPath(root_, "shared"); }
std::string CheckpointStorage::OutputFolder() const { return JoinPath(root_, "output"); }
std::string CheckpointStorage::CheckpointFolder(uint64_t number) const { return FolderOf(root_, number); }

Status CheckpointStorage::MakeFolders() {
  // Without an identity an earlier start has ended here, maybe because a sync failed. A second sync would say ok and do
  // nothing, and with the power the folders would go, and all that is in them: so their names are made anew.
  const bool anew = !Exists(fs_, JoinPath(root_, kStorageIdName));
  for (const std::string& folder : {SharedFolder(), OutputFolder(), JoinPath(root_, "applied")}) {
    const Result<std::vector<std::string>> content = fs_.List(folder);
    if (anew && content.has_value() && content->empty()) WEIR_RETURN_IF_ERROR(fs_.RemoveTree(folder));
    WEIR_RETURN_IF_ERROR(fs_.CreateDirectories(folder));
  }
  return fs_.SyncDirectory(root_);
}

Status CheckpointStorage::LoadOrMakeId(Random& random) {
  const std::string path = JoinPath(root_, kStorageIdName);
  const Result<std::string> text = ReadFile(fs_, path);
  if (text.has_value()) {
    std::string_view digits = *text;
    if (digits.ends_with('\n')) digits.remove_suffix(1);
    const Result<UniqueId> id = UniqueId::Parse(digits);
    if (!id.has_value()) {
      return Status::Corruption(path + " does not hold 32 hexadecimal digits: the storage's identity is damaged");
    }
    id_ = *id;
    // Its name may never have become durable, and a sync that failed then says ok now: made anew at each start.
    return WriteFileDurably(fs_, path, *text);
  }
  if (text.error().code() != StatusCode::kNotFound) return text.error();
  WEIR_ASSIGN_OR_RETURN(const uint64_t greatest, GreatestNumber());
  if (greatest > 0 || FirstPublished()) {
    return Status::Corruption(path + " is missing though there are checkpoints beside it: the folder is not whole");
  }
  id_ = random.NextId();
  return WriteFileDurably(fs_, path, id_.ToString() + "\n");
}

Result<std::vector<uint64_t>> CheckpointStorage::DurableNumbers() { return ListDurableNumbers(fs_, root_); }

Result<uint64_t> CheckpointStorage::GreatestNumber() {
  WEIR_ASSIGN_OR_RETURN(const auto folders, ListCheckpointFolders(fs_, root_));
  return folders.empty() ? 0 : folders.back().first;
}

bool CheckpointStorage::FirstPublished() { return Exists(fs_, JoinPath(root_, kFirstPublishedName)); }

Result<CheckpointMetadata> CheckpointStorage::LoadMetadata(uint64_t number) {
  const std::string folder = CheckpointFolder(number);
  WEIR_ASSIGN_OR_RETURN(CheckpointMetadata metadata, ReadCheckpointFolder(fs_, folder));
  std::string_view wrong;
  std::string found;
  if (metadata.id.number != number) {
    wrong = "is of checkpoint ";
    found = std::to_string(metadata.id.number);
  } else if (metadata.job != job_) {
    wrong = "is of job ";
    found = metadata.job;
  } else if (metadata.storage != id_) {
    wrong = "was written to the storage with id ";
    found = metadata.storage.ToString();
  }
  if (wrong.empty()) return metadata;
  std::string message = JoinPath(folder, kMetadataName);
  message += ' ';
  message += wrong;
  message += found;
  message += " and does not belong here";
  return Error(Status::Corruption(std::move(message)));
}

Status CheckpointStorage::VerifyFiles(const CheckpointMetadata& metadata, Verify verify) {
  return VerifyStateFiles(fs_, root_, metadata, verify);
}

Status CheckpointStorage::SyncCheckpoint(const CheckpointMetadata& metadata) {
  WEIR_RETURN_IF_ERROR(SyncNewFiles(metadata));
  // The folder's sync may have failed behind the rename, and a second one would say ok without having done anything: so
  // the name is made anew, for the same bytes.
  const std::string path = JoinPath(CheckpointFolder(metadata.id.number), kMetadataName);
  WEIR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(fs_, path));
  WEIR_RETURN_IF_ERROR(WriteFileDurably(fs_, path, bytes));
  WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(root_));
  RememberFiles(metadata);
  if (FirstPublished()) return Status::Ok();
  return WriteFileDurably(fs_, JoinPath(root_, kFirstPublishedName), "");
}

Status CheckpointStorage::Begin(uint64_t number) {
  WEIR_RETURN_IF_ERROR(fs_.CreateDirectories(CheckpointFolder(number)));
  WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(root_));
  begun_.insert(number);
  return Status::Ok();
}

Status CheckpointStorage::SyncNewFiles(const CheckpointMetadata& metadata) {
  std::set<std::string> folders;
  for (const state::StateFile& file : metadata.StateFiles()) {
    const bool known = std::any_of(synced_.begin(), synced_.end(),
                                   [&file](const auto& entry) { return entry.second.files.contains(file.path); });
    if (known) continue;
    const std::string path = JoinPath(root_, file.path);
    WEIR_RETURN_IF_ERROR(SyncFile(fs_, path));
    folders.insert(ParentDirectory(path));
  }
  for (const std::string& folder : folders) WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder));
  return Status::Ok();
}

Status CheckpointStorage::WriteMetadata(const CheckpointMetadata& metadata, uint64_t& bytes) {
  const std::string content = EncodeMetadata(metadata);
  bytes = content.size();
  const std::string path = JoinPath(CheckpointFolder(metadata.id.number), std::string(kMetadataName) + ".tmp");
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs_.OpenForWrite(path, WriteMode::kTruncate));
  WEIR_RETURN_IF_ERROR(file->Append(content));
  WEIR_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

PublishOutcome CheckpointStorage::Publish(const CheckpointMetadata& metadata) {
  WEIR_CHECK(metadata.storage == id_);
  const std::string folder = CheckpointFolder(metadata.id.number);
  const std::string path = JoinPath(folder, kMetadataName);
  PublishOutcome outcome;
  const auto ended = [&outcome](PublishFate fate, Status status) {
    outcome.fate = fate;
    outcome.status = std::move(status);
    return outcome;
  };
  FAULT_SITE("checkpoint.before-metadata-write");
  if (begun_.erase(metadata.id.number) == 0) {
    return ended(PublishFate::kNotPublished, Status::IoError("folder " + folder + " could not be made durable"));
  }
  if (Status status = VerifyFiles(metadata, Verify::kLengths); !status.ok()) {
    return ended(PublishFate::kNotPublished, std::move(status));
  }
  if (Status status = SyncNewFiles(metadata); !status.ok()) return ended(PublishFate::kOpen, std::move(status));
  if (Status status = WriteMetadata(metadata, outcome.metadata_bytes); !status.ok()) {
    return ended(PublishFate::kNotPublished, std::move(status));
  }
  FAULT_SITE("checkpoint.after-metadata-fsync");
  Status status = fs_.Rename(path + ".tmp", path);
  FAULT_SITE("checkpoint.after-metadata-rename");
  if (status.ok()) status = fs_.SyncDirectory(folder);
  FAULT_SITE("checkpoint.after-folder-fsync");
  if (status.ok()) status = fs_.SyncDirectory(root_);
  if (status.ok() && !FirstPublished()) {
    status = WriteFileDurably(fs_, JoinPath(root_, kFirstPublishedName), "");
  }
  if (!status.ok()) return ended(PublishFate::kOpen, std::move(status));
  RememberFiles(metadata);
  return outcome;
}

Result<CheckpointStorage::Garbage> CheckpointStorage::FindGarbage(uint32_t retain, const std::set<uint64_t>& pinned) {
  WEIR_CHECK_GT(retain, 0U);
  Garbage garbage;
  WEIR_ASSIGN_OR_RETURN(const std::vector<uint64_t> durable, DurableNumbers());
  std::set<uint64_t> retained;
  for (size_t i = 0; i < durable.size(); ++i) {
    if (i < retain || pinned.contains(durable[i])) retained.insert(durable[i]);
  }
  WEIR_ASSIGN_OR_RETURN(const auto folders, ListCheckpointFolders(fs_, root_));
  for (const auto& [number, name] : folders) {
    // The greatest stays even if it was aborted: its number must not be used again.
    if (retained.contains(number) || number == folders.back().first || name.ends_with(kDamagedSuffix)) continue;
    garbage.folders.push_back(JoinPath(root_, name));
  }
  std::set<std::string> segments;  // that only checkpoints name which go now
  for (const auto& [number, named] : synced_) {
    if (!retained.contains(number)) segments.insert(named.segments.begin(), named.segments.end());
  }
  std::erase_if(synced_, [&retained](const auto& entry) { return !retained.contains(entry.first); });
  if (!KnowFilesOf(retained)) return garbage;
  for (const auto& [number, named] : synced_) {
    for (const std::string& name : named.segments) segments.erase(name);
  }
  for (const std::string& name : segments) garbage.files.push_back(JoinPath(OutputFolder(), name));
  WEIR_RETURN_IF_ERROR(AddUnnamedFiles(garbage));
  return garbage;
}

Result<CheckpointStorage::Garbage> CheckpointStorage::FindLeftovers(uint32_t retain) {
  WEIR_ASSIGN_OR_RETURN(Garbage garbage, FindGarbage(retain));
  WEIR_ASSIGN_OR_RETURN(const std::vector<uint64_t> durable, DurableNumbers());
  const size_t retained = std::min<size_t>(durable.size(), retain);
  if (!KnowFilesOf({durable.begin(), durable.begin() + static_cast<std::ptrdiff_t>(retained)})) return garbage;
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.List(OutputFolder()));
  for (const std::string& name : names) {
    const bool named =
        std::ranges::any_of(synced_, [&](const auto& one) { return one.second.segments.contains(name); });
    if (!named) garbage.files.push_back(JoinPath(OutputFolder(), name));
  }
  return garbage;
}

void CheckpointStorage::RememberFiles(const CheckpointMetadata& metadata) {
  Named& named = synced_[metadata.id.number];
  for (const state::StateFile& file : metadata.StateFiles()) named.files.insert(file.path);
  named.segments = metadata.Segments();
}

bool CheckpointStorage::KnowFilesOf(const std::set<uint64_t>& retained) {
  for (const uint64_t number : retained) {
    if (synced_.contains(number)) continue;
    const Result<CheckpointMetadata> metadata = LoadMetadata(number);
    if (!metadata.has_value()) return false;
    RememberFiles(*metadata);
  }
  return true;
}

// Below shared/: files, and folders that hold some.
Status CheckpointStorage::AddUnnamedFiles(Garbage& garbage) {
  std::set<std::string> named;
  const std::string prefix = "shared/";
  for (const auto& [number, one] : synced_) {
    for (const std::string& path : one.files) {
      if (path.starts_with(prefix))
        named.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
    }
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> shared, fs_.List(SharedFolder()));
  for (const std::string& name : shared) {
    if (named.contains(name)) continue;
    const std::string path = JoinPath(SharedFolder(), name);
    const Result<FileSystem::Info> info = fs_.Stat(path);
    (info.has_value() && info->directory ? garbage.folders : garbage.files).push_back(path);
  }
  return Status::Ok();
}

Status CheckpointStorage::DeleteGarbage(const Garbage& garbage) {
  Status first;
  // The metadata goes before the files that it names.
  for (const std::string& folder : garbage.folders) {
    Status status = fs_.RemoveTree(folder);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  for (const std::string& file : garbage.files) {
    Status status = fs_.Remove(file);
    if (!status.ok() && status.code() != StatusCode::kNotFound && first.ok()) first = std::move(status);
  }
  return first;
}

Status CheckpointStorage::DeleteAll() {
  const auto delete_what_is_not_retained = [this]() -> Status {
    WEIR_ASSIGN_OR_RETURN(const Garbage garbage, FindLeftovers(1));
    WEIR_RETURN_IF_ERROR(DeleteGarbage(garbage));
    return fs_.SyncDirectory(root_);
  };
  WEIR_RETURN_IF_ERROR(delete_what_is_not_retained());
  WEIR_ASSIGN_OR_RETURN(const std::vector<uint64_t> newest, DurableNumbers());
  for (const uint64_t number : newest) {
    const std::string folder = CheckpointFolder(number);
    WEIR_RETURN_IF_ERROR(fs_.Remove(JoinPath(folder, kMetadataName)));
    WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder));
    WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.List(folder));
    for (const std::string& name : names) WEIR_RETURN_IF_ERROR(fs_.RemoveTree(JoinPath(folder, name)));
  }
  return delete_what_is_not_retained();
}

Status CheckpointStorage::KeepAside(uint64_t number) {
  const std::string folder = CheckpointFolder(number);
  WEIR_RETURN_IF_ERROR(fs_.Rename(folder, folder + std::string(kDamagedSuffix)));
  return fs_.SyncDirectory(root_);
}

Status CheckpointStorage::Import(const std::string& folder, UniqueId attempt, CheckpointMetadata& metadata) {
  const std::string from_root = StateRoot(folder, metadata);
  if (from_root == root_) return Status::Ok();
  std::map<std::string, std::string> renamed;
  for (const state::StateFile& file : metadata.StateFiles()) {
    std::string target = "shared/";
    target += attempt.ToString();
    target += "-import-";
    target += std::to_string(renamed.size());
    const std::string from = JoinPath(from_root, file.path);
    const std::string to = JoinPath(root_, target);
    WEIR_RETURN_IF_ERROR(LinkOrCopyFile(fs_, from, to));
    renamed[file.path] = target;
  }
  metadata.MoveStateFiles(renamed);
  return Status::Ok();
}

}  // namespace weir::checkpoint
