#include "state/snapshot_writer.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/fault_site.h"
#include "base/file_copy.h"

namespace weir::state {
namespace {

constexpr std::string_view kSharedFolder = "shared";
constexpr size_t kEntriesAhead = 16;  // whose memory is asked for before it is needed: entries lie anywhere

Status WriteNewFile(FileSystem& fs, const std::string& path, std::string_view content) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> out, fs.OpenForWrite(path, WriteMode::kCreateNew));
  WEIR_RETURN_IF_ERROR(out->Append(content));
  WEIR_RETURN_IF_ERROR(out->Sync());
  return out->Close();
}

}  // namespace

// What a snapshot has put together so far; becomes the writer's own knowledge only when all of it succeeded.
struct SnapshotWriter::Draft {
  uint64_t checkpoint = 0;
  std::string folder;  // of the checkpoint, relative
  SubtaskStateHandle handle;
  SharedFiles shared;
};

SnapshotWriter::SnapshotWriter(SnapshotTarget target, HashRange range, std::unique_ptr<LocalStore> store,
                               SharedFiles shared)
    : target_(std::move(target)), range_(range), store_(std::move(store)), shared_(std::move(shared)) {
  WEIR_CHECK(target_.fs != nullptr);
}

Result<SubtaskStateHandle> SnapshotWriter::Write(const Request& request) {
  if (!lost_.ok()) return Error(lost_);
  for (const uint64_t aborted : request.aborted) {
    std::erase_if(shared_, [aborted](const auto& known) { return known.second.checkpoint == aborted; });
  }
  WEIR_RETURN_IF_ERROR(WriteChanged(*request.changed));
  FAULT_SITE("state.frozen-written");
  Draft draft;
  draft.handle.range = range_;
  draft.handle.entries_new = request.changed->size();
  draft.handle.states = request.states;
  if (!request.checkpoint.has_value()) return std::move(draft.handle);

  FileSystem& fs = *target_.fs;
  draft.checkpoint = request.checkpoint->number;
  draft.folder = "chk-" + std::to_string(draft.checkpoint);
  const std::string shared_dir = JoinPath(target_.job_dir, kSharedFolder);
  const std::string private_dir = JoinPath(target_.job_dir, draft.folder);
  WEIR_RETURN_IF_ERROR(fs.CreateDirectories(shared_dir));
  WEIR_RETURN_IF_ERROR(fs.CreateDirectories(private_dir));
  WEIR_RETURN_IF_ERROR(store_->VisitFiles([&](const StoreFile& file) { return AddFile(file, draft); }));
  WEIR_RETURN_IF_ERROR(fs.SyncDirectory(shared_dir));
  WEIR_RETURN_IF_ERROR(fs.SyncDirectory(private_dir));
  // What the store no longer has is forgotten: its name never comes back.
  shared_ = std::move(draft.shared);
  return std::move(draft.handle);
}

Status SnapshotWriter::WriteChanged(std::span<Entry* const> changed) {
  if (changed.empty()) return Status::Ok();
  // Hash and state, the first 8 bytes of a key, decide nearly every comparison without a look at the entry.
  struct Place {
    uint64_t head;
    const Entry* entry;
  };
  std::vector<Place> order;
  order.reserve(changed.size());
  for (size_t i = 0; i < changed.size(); ++i) {
    if (i + kEntriesAhead < changed.size()) __builtin_prefetch(changed[i + kEntriesAhead]);
    order.push_back({ReadBigEndian64(changed[i]->key()), changed[i]});
  }
  std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) {
    return a.head != b.head ? a.head < b.head : a.entry->key() < b.entry->key();
  });
  size_t next = 0;
  return store_->WriteRun([&order, &next](RunEntry& entry) {
    if (next == order.size()) return false;
    if (next + kEntriesAhead < order.size()) __builtin_prefetch(order[next + kEntriesAhead].entry);
    const Entry& from = *order[next++].entry;
    entry = {.key = from.key(), .value = from.optional_value()};
    return true;
  });
}

Status SnapshotWriter::AddFile(const StoreFile& file, Draft& draft) {
  if (!file.content.has_value()) return AddShared(file, draft);
  StateFile added{.name = file.name,
                  .path = JoinPath(draft.folder, target_.unique_prefix + file.name),
                  .size_bytes = file.content->size(),
                  .checksum = Hash64(*file.content)};
  WEIR_RETURN_IF_ERROR(WriteNewFile(*target_.fs, JoinPath(target_.job_dir, added.path), *file.content));
  draft.handle.bytes_new += added.size_bytes;
  draft.handle.files.push_back(std::move(added));
  return Status::Ok();
}

Status SnapshotWriter::AddShared(const StoreFile& file, Draft& draft) {
  FileSystem& fs = *target_.fs;
  if (const auto known = shared_.find(file.name); known != shared_.end()) {
    const StateFile& former = known->second.file;
    const Result<FileSystem::Info> info = fs.Stat(JoinPath(target_.job_dir, former.path));
    if (info.has_value() && info->size_bytes == former.size_bytes) {
      draft.handle.files.push_back(former);
      draft.shared.insert(*known);
      return Status::Ok();
    }
  }
  StateFile added{.name = file.name, .path = {}, .size_bytes = 0, .checksum = 0};
  added.path = JoinPath(kSharedFolder, target_.unique_prefix + std::to_string(draft.checkpoint) + "-" + file.name);
  const std::string path = JoinPath(target_.job_dir, added.path);
  WEIR_RETURN_IF_ERROR(LinkOrCopyFile(fs, file.path, path));
  if (const Status synced = SyncFile(fs, path); !synced.ok()) {
    lost_ = synced.WithContext("the local state can't be relied on after a failed sync");
    return lost_;
  }
  WEIR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(fs, path));
  added.size_bytes = digest.size_bytes;
  added.checksum = digest.checksum;
  draft.handle.bytes_new += added.size_bytes;
  draft.shared.emplace(file.name, SharedFile{.file = added, .checkpoint = draft.checkpoint});
  draft.handle.files.push_back(std::move(added));
  return Status::Ok();
}

}  // namespace weir::state
