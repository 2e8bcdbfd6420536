#include "state/restore.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/file_copy.h"
#include "state/entry_key.h"

namespace weir::state {
namespace {

// Entries of other stores are written in runs of about this size.
constexpr size_t kRunBytes = 32u << 20;

std::string Hex(uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

std::optional<HashRange> Intersect(HashRange a, HashRange b) {
  const HashRange both{.first = std::max(a.first, b.first), .last = std::min(a.last, b.last)};
  if (both.first > both.last) return std::nullopt;
  return both;
}

// Above every key of operator state.
std::string BehindOperatorKeys() { return std::string(24, '\xff'); }

uint64_t BytesOf(const SubtaskStateHandle& handle) {
  uint64_t bytes = 0;
  for (const StateFile& file : handle.files) bytes += file.size_bytes;
  return bytes;
}

Status VerifyFile(FileSystem& fs, const std::string& path, const StateFile& file) {
  const Result<FileDigest> digest = DigestFile(fs, path);
  if (!digest.has_value()) {
    if (digest.error().code() != StatusCode::kNotFound) return digest.error();
    return Status::Corruption("state file " + path + " is missing");
  }
  if (digest->size_bytes != file.size_bytes) {
    return Status::Corruption("state file " + path + " has " + std::to_string(digest->size_bytes) +
                              " bytes, its checkpoint says " + std::to_string(file.size_bytes));
  }
  if (digest->checksum != file.checksum) {
    return Status::Corruption("state file " + path + " has checksum " + Hex(digest->checksum) +
                              ", its checkpoint says " + Hex(file.checksum));
  }
  return Status::Ok();
}

// Files in shared/ never change and are linked; the others belong to the store that opens them and are copied.
Status FetchFiles(const RestoreOptions& options, const SubtaskStateHandle& handle, const std::string& folder) {
  FileSystem& fs = *options.fs;
  WEIR_RETURN_IF_ERROR(fs.CreateDirectories(folder));
  for (const StateFile& file : handle.files) {
    if (file.name.empty() || file.name.find('/') != std::string::npos) {
      return Status::Corruption("a state file is called \"" + file.name + "\", which is no name of a file");
    }
    const std::string from = JoinPath(options.source_dir, file.path);
    const std::string to = JoinPath(folder, file.name);
    if (!options.files_verified) WEIR_RETURN_IF_ERROR(VerifyFile(fs, from, file));
    WEIR_RETURN_IF_ERROR(file.path.starts_with("shared/") ? LinkOrCopyFile(fs, from, to) : CopyFile(fs, from, to));
  }
  return Status::Ok();
}

struct OperatorEntries {
  std::vector<HandedOverEntry> entries;  // under the uids that have them now
  bool as_stored = true;                 // no entry has changed its owner or has none
};

Result<OperatorEntries> ReadOperatorEntries(LocalStore& store, const std::optional<StateOwners>& owners) {
  OperatorEntries read;
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StoreCursor> cursor, store.Scan(FirstOperatorKey()));
  for (; cursor->valid(); cursor->Next()) {
    const std::optional<DecodedEntryKey> key = DecodeEntryKey(cursor->key());
    if (!key.has_value())
      return Error(Status::Corruption("an entry of operator state has a key that can't be decoded"));
    const std::string uid(key->key.key);
    std::optional<std::string> owner = OwnerOf(owners, uid);
    if (owner != uid) read.as_stored = false;
    if (!owner.has_value()) continue;
    read.entries.push_back(
        {.uid = std::move(*owner), .name = std::string(key->key.name_space), .value = std::string(cursor->value())});
  }
  WEIR_RETURN_IF_ERROR(cursor->status());
  return read;
}

void HandOver(OperatorEntries from, RestoredStore& to) {
  std::move(from.entries.begin(), from.entries.end(), std::back_inserter(to.handed_over));
}

// Writes the keyed entries of `range` from one store into another that has none of them.
Status CopyRange(LocalStore& from, HashRange range, LocalStore& to) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StoreCursor> cursor, from.Scan(FirstKeyOf(range)));
  const std::string behind = BehindKeysOf(range);
  const auto more = [&] { return cursor->valid() && cursor->key() < behind; };
  std::string key;
  std::string value;
  while (more()) {
    size_t bytes = 0;
    WEIR_RETURN_IF_ERROR(to.WriteRun([&](RunEntry& entry) {
      if (bytes > kRunBytes || !more()) return false;
      key.assign(cursor->key());
      value.assign(cursor->value());
      bytes += key.size() + value.size();
      entry = {.key = key, .value = value};
      cursor->Next();
      return true;
    }));
  }
  return cursor->status();
}

// Where nothing lies the store stays as it is: a removal is written too, in a file of its own.
Status DropIfAny(LocalStore& store, const std::string& first, const std::string& behind) {
  {
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StoreCursor> cursor, store.Scan(first));
    if (!cursor->valid() || cursor->key() >= behind) return cursor->status();
  }
  return store.DropRange(first, behind);
}

// What lies outside of the part that is wanted goes, whether the handle was meant to have it or not.
Status KeepOnly(LocalStore& store, HashRange part) {
  if (part.first != 0) WEIR_RETURN_IF_ERROR(DropIfAny(store, {}, FirstKeyOf(part)));
  if (part.last != UINT32_MAX) WEIR_RETURN_IF_ERROR(DropIfAny(store, BehindKeysOf(part), FirstOperatorKey()));
  return DropIfAny(store, FirstOperatorKey(), BehindOperatorKeys());
}

Status AddFrom(const RestoreOptions& options, const SubtaskStateHandle& handle, const std::string& folder,
               RestoredStore& restored) {
  WEIR_RETURN_IF_ERROR(FetchFiles(options, handle, folder));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<LocalStore> other,
                        options.stores->Open(folder, LocalStoreFactory::Mode::kReadOnly));
  WEIR_ASSIGN_OR_RETURN(OperatorEntries entries, ReadOperatorEntries(*other, options.owners));
  HandOver(std::move(entries), restored);
  if (const std::optional<HashRange> part = Intersect(handle.range, options.range)) {
    WEIR_RETURN_IF_ERROR(CopyRange(*other, *part, *restored.store));
  }
  return Status::Ok();
}

// Ids of states that have no owner any more.
std::set<uint32_t> LeftBehind(const std::optional<StateOwners>& owners, std::span<const SubtaskStateHandle> handles) {
  std::set<uint32_t> ids;
  for (const SubtaskStateHandle& handle : handles) {
    for (const StateDescription& state : handle.states) {
      if (!OwnerOf(owners, state.uid).has_value()) ids.insert(state.id);
    }
  }
  return ids;
}

// Removes the keyed entries of these states.
Status RemoveStates(LocalStore& store, const std::set<uint32_t>& ids) {
  if (ids.empty()) return Status::Ok();
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StoreCursor> cursor, store.Scan({}));
  const std::string behind = FirstOperatorKey();
  const auto more = [&] {
    while (cursor->valid() && cursor->key() < behind && !ids.contains(StateIdOf(cursor->key()))) cursor->Next();
    return cursor->valid() && cursor->key() < behind;
  };
  std::string key;
  while (more()) {
    size_t bytes = 0;
    WEIR_RETURN_IF_ERROR(store.WriteRun([&](RunEntry& entry) {
      if (bytes > kRunBytes || !more()) return false;
      key.assign(cursor->key());
      bytes += key.size();
      entry = {.key = key, .value = std::nullopt};
      cursor->Next();
      return true;
    }));
  }
  return cursor->status();
}

}  // namespace

std::optional<std::string> OwnerOf(const std::optional<StateOwners>& owners, const std::string& uid) {
  if (!owners.has_value()) return uid;
  const auto found = owners->find(uid);
  return found == owners->end() ? std::nullopt : std::optional<std::string>(found->second);
}

Result<RestoredStore> RestoreStore(const RestoreOptions& options, std::span<const SubtaskStateHandle> handles) {
  FileSystem& fs = *options.fs;
  WEIR_RETURN_IF_ERROR(fs.RemoveTree(options.local_dir));
  const std::string folder = JoinPath(options.local_dir, "store");
  WEIR_RETURN_IF_ERROR(fs.CreateDirectories(folder));
  const SubtaskStateHandle* base = nullptr;
  for (const SubtaskStateHandle& handle : handles) {
    if (handle.files.empty() || !Intersect(handle.range, options.range).has_value()) continue;
    if (base == nullptr || BytesOf(handle) > BytesOf(*base)) base = &handle;
  }
  RestoredStore restored;
  if (base == nullptr) {
    WEIR_ASSIGN_OR_RETURN(restored.store, options.stores->Open(folder, LocalStoreFactory::Mode::kCreate));
  } else {
    WEIR_RETURN_IF_ERROR(FetchFiles(options, *base, folder));
    WEIR_ASSIGN_OR_RETURN(restored.store, options.stores->Open(folder, LocalStoreFactory::Mode::kExisting));
    restored.empty = false;
    if (options.share_restored_files) {
      for (const StateFile& file : base->files) {
        if (file.path.starts_with("shared/"))
          restored.shared.emplace(file.name, SharedFile{.file = file, .checkpoint = 0});
      }
    }
    WEIR_ASSIGN_OR_RETURN(OperatorEntries own, ReadOperatorEntries(*restored.store, options.owners));
    // The subtask's own former state stays as it is, its operator entries with it.
    if (handles.size() > 1 || base->range != options.range || !own.as_stored) {
      HandOver(std::move(own), restored);
      WEIR_RETURN_IF_ERROR(KeepOnly(*restored.store, *Intersect(base->range, options.range)));
    }
  }
  for (const SubtaskStateHandle& handle : handles) {
    if (&handle == base || handle.files.empty()) continue;
    const std::string other = JoinPath(options.local_dir, "other");
    WEIR_RETURN_IF_ERROR(AddFrom(options, handle, other, restored));
    WEIR_RETURN_IF_ERROR(fs.RemoveTree(other));
  }
  WEIR_RETURN_IF_ERROR(RemoveStates(*restored.store, LeftBehind(options.owners, handles)));
  return restored;
}

}  // namespace weir::state
