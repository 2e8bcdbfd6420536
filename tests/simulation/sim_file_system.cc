// Paths and errors follow POSIX as base/posix_file_system.cc shows it: tests/base/file_system_conformance_test.cc runs
// the same cases against both. Relative and absolute paths start at the same root.
#include "tests/simulation/sim_file_system.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace weir::simulation {
namespace {

constexpr std::string_view kCrashMessage = "simulated crash";

Status CrashStatus() { return Status::Internal(std::string(kCrashMessage)); }

Status Failure(StatusCode code, std::string_view action, const std::string& path, std::string_view reason) {
  std::string message(action);
  message += ' ';
  message += path;
  message += ": ";
  message += reason;
  return {code, std::move(message)};
}

std::vector<std::string> Split(const std::string& path) {
  std::vector<std::string> names;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    std::string name = path.substr(at, slash - at);
    at = slash + 1;
    if (name.empty() || name == ".") continue;
    WEIR_CHECK(name != "..");
    names.push_back(std::move(name));
  }
  return names;
}

bool Holds(const SimNodePtr& folder, const SimNode& node) {
  if (folder.get() == &node) return true;
  return std::any_of(folder->entries.begin(), folder->entries.end(),
                     [&](const auto& entry) { return entry.second->directory && Holds(entry.second, node); });
}

FileInfo InfoOf(const SimNode& node) {
  const uint64_t size = node.content.size();
  return {.directory = node.directory, .size_bytes = size, .device = 1, .inode = node.id, .links = node.links};
}

// The removal of everything below `place`, innermost first, each entry on its own.
void ListRemovals(const SimNodePtr& folder, const std::string& name, const SimNodePtr& node,
                  std::vector<NameChange>& removals) {
  for (const auto& [below, entry] : node->entries) ListRemovals(node, below, entry, removals);
  removals.push_back({folder, name, nullptr});
}

}  // namespace

bool IsSimulatedCrash(const Status& status) {
  return status.code() == StatusCode::kInternal && status.message().ends_with(kCrashMessage);
}

class SimWritableFile final : public WritableFile {
 public:
  SimWritableFile(SimFileSystem& fs, std::string path, SimNodePtr node, bool append)
      : fs_(fs), path_(std::move(path)), node_(std::move(node)), life_(fs.life_), append_(append) {}

  Status Append(std::string_view data) override {
    WEIR_CHECK(!closed_);
    return fs_.Operate(OperationKind::kAppend, path_, {},
                       {.whole = [&] { return Write(data); },
                        .torn = [&] { std::ignore = Write(data.substr(0, fs_.random_.Below(data.size() + 1))); }});
  }

  Status Sync() override {
    WEIR_CHECK(!closed_);
    const Status status = fs_.Operate(OperationKind::kSync, path_, {},
                                      {.whole =
                                           [&] {
                                             if (life_ != fs_.life_) return CrashStatus();
                                             if (sync_failure_.ok()) fs_.disk_.SyncFile(*node_);
                                             return sync_failure_;
                                           },
                                       .failed = [&] { fs_.disk_.FailSyncFile(*node_); }});
    if (!status.ok()) sync_failure_ = status;
    return status;
  }

  Status Close() override {
    WEIR_CHECK(!closed_);
    closed_ = true;
    return fs_.Operate(OperationKind::kClose, path_, {},
                       {.whole = [&] { return life_ == fs_.life_ ? Status::Ok() : CrashStatus(); }});
  }

 private:
  Status Write(std::string_view data) {
    if (life_ != fs_.life_) return CrashStatus();
    const uint64_t at = append_ ? node_->content.size() : offset_;
    const Status status = fs_.AppendTo(*node_, path_, at, data);
    offset_ = at + data.size();
    return status;
  }

  SimFileSystem& fs_;
  const std::string path_;
  const SimNodePtr node_;
  const uint64_t life_;
  const bool append_;
  uint64_t offset_ = 0;
  Status sync_failure_;
  bool closed_ = false;
};

class SimReadableFile final : public ReadableFile {
 public:
  SimReadableFile(SimFileSystem& fs, std::string path, SimNodePtr node)
      : fs_(fs), path_(std::move(path)), node_(std::move(node)), life_(fs.life_) {}

  Result<std::string> Read(uint64_t offset, size_t length) override {
    std::string data;
    WEIR_RETURN_IF_ERROR(fs_.Operate(OperationKind::kRead, path_, {}, {.whole = [&] {
                                       if (life_ != fs_.life_) return CrashStatus();
                                       if (offset < node_->content.size()) data = node_->content.substr(offset, length);
                                       return Status::Ok();
                                     }}));
    return data;
  }

  Result<FileInfo> Stat() override {
    FileInfo info;
    WEIR_RETURN_IF_ERROR(fs_.Operate(OperationKind::kStatOpen, path_, {}, {.whole = [&] {
                                       if (life_ != fs_.life_) return CrashStatus();
                                       info = InfoOf(*node_);
                                       return Status::Ok();
                                     }}));
    return info;
  }

 private:
  SimFileSystem& fs_;
  const std::string path_;
  const SimNodePtr node_;
  const uint64_t life_;
};

class SimFileLock final : public FileLock {
 public:
  SimFileLock(SimFileSystem& fs, uint64_t node_id, uint64_t life) : fs_(fs), node_id_(node_id), life_(life) {}
  ~SimFileLock() override {
    std::lock_guard lock(fs_.mutex_);
    if (life_ == fs_.life_) fs_.locked_.erase(node_id_);
  }

 private:
  SimFileSystem& fs_;
  const uint64_t node_id_;
  const uint64_t life_;
};

SimFileSystem::~SimFileSystem() = default;

Status SimFileSystem::Operate(OperationKind kind, const std::string& path, const std::string& other_path,
                              const Steps& steps) {
  std::lock_guard lock(mutex_);
  if (crashed_) return CrashStatus();
  if (ChangesDisk(kind)) ++operations_;
  if (observer_) observer_(kind, path);
  const std::optional<FaultAction> action = faults_.Strike(kind, path, other_path);
  if (!action.has_value()) return steps.whole();
  std::string what = "can't ";
  what += OperationKindName(kind);
  const bool full = *action == FaultAction::kNoSpace;
  Status error = Failure(StatusCode::kIoError, what, path, full ? "No space left on device" : "Input/output error");
  switch (*action) {
    case FaultAction::kError:
    case FaultAction::kNoSpace:
      if (steps.failed) steps.failed();
      return error;
    case FaultAction::kErrorAfter: {
      const Status done = steps.whole();
      return done.ok() ? error : done;
    }
    case FaultAction::kCrashBefore: break;
    case FaultAction::kCrashAfter: std::ignore = steps.whole(); break;
    case FaultAction::kCrashTorn:
      if (steps.torn) steps.torn();
      break;
  }
  crashed_ = true;
  return CrashStatus();
}

Result<SimFileSystem::Place> SimFileSystem::Find(std::string_view action, const std::string& path) const {
  const std::vector<std::string> names = Split(path);
  if (names.empty()) return Place{nullptr, "/", disk_.root()};
  Place place{disk_.root(), names.back(), nullptr};
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const auto found = place.folder->entries.find(names[i]);
    if (found == place.folder->entries.end() || !found->second->directory) {
      return Error(Failure(StatusCode::kNotFound, action, path, "No such file or directory"));
    }
    place.folder = found->second;
  }
  const auto found = place.folder->entries.find(place.name);
  if (found != place.folder->entries.end()) place.node = found->second;
  return place;
}

Result<SimFileSystem::Place> SimFileSystem::FindExisting(std::string_view action, const std::string& path) const {
  WEIR_ASSIGN_OR_RETURN(Place place, Find(action, path));
  if (place.node == nullptr) return Error(Failure(StatusCode::kNotFound, action, path, "No such file or directory"));
  return place;
}

Status SimFileSystem::AppendTo(SimNode& node, const std::string& path, uint64_t offset, std::string_view data) {
  const uint64_t end = offset + data.size();
  const uint64_t growth = end > node.content.size() ? end - node.content.size() : 0;
  const uint64_t room = capacity_bytes_ > disk_.used_bytes() ? capacity_bytes_ - disk_.used_bytes() : 0;
  if (growth <= room) {
    disk_.Write(node, offset, data);
    return Status::Ok();
  }
  const uint64_t missing = growth - room;
  if (data.size() > missing) disk_.Write(node, offset, data.substr(0, data.size() - missing));
  return Failure(StatusCode::kIoError, "can't write to", path, "No space left on device");
}

Result<SimNodePtr> SimFileSystem::DoOpenForWrite(const std::string& path, WriteMode mode) {
  constexpr std::string_view kAction = "can't open for writing";
  WEIR_ASSIGN_OR_RETURN(const Place place, Find(kAction, path));
  if (place.node == nullptr) {
    SimNodePtr made = disk_.NewNode(false);
    disk_.ChangeNames({{place.folder, place.name, made}});
    return made;
  }
  if (mode == WriteMode::kCreateNew) return Error(Failure(StatusCode::kAlreadyExists, kAction, path, "File exists"));
  if (place.node->directory) {
    return Error(Failure(StatusCode::kFailedPrecondition, kAction, path, "Is a directory"));
  }
  if (mode == WriteMode::kTruncate) disk_.Truncate(*place.node, 0);
  return place.node;
}

Result<std::unique_ptr<WritableFile>> SimFileSystem::OpenForWrite(const std::string& path, WriteMode mode) {
  std::unique_ptr<WritableFile> file;
  WEIR_RETURN_IF_ERROR(Operate(OperationKind::kOpenForWrite, path, {}, {.whole = [&]() -> Status {
                                 WEIR_ASSIGN_OR_RETURN(SimNodePtr node, DoOpenForWrite(path, mode));
                                 file = std::make_unique<SimWritableFile>(*this, path, std::move(node),
                                                                          mode == WriteMode::kAppend);
                                 return Status::Ok();
                               }}));
  return file;
}

Result<std::unique_ptr<ReadableFile>> SimFileSystem::OpenForRead(const std::string& path) {
  std::unique_ptr<ReadableFile> file;
  WEIR_RETURN_IF_ERROR(Operate(OperationKind::kOpenForRead, path, {}, {.whole = [&]() -> Status {
                                 WEIR_ASSIGN_OR_RETURN(Place place, FindExisting("can't open", path));
                                 if (place.node->directory) {
                                   return Failure(StatusCode::kFailedPrecondition, "can't open", path,
                                                  "Is a directory");
                                 }
                                 file = std::make_unique<SimReadableFile>(*this, path, std::move(place.node));
                                 return Status::Ok();
                               }}));
  return file;
}

Status SimFileSystem::DoRename(const std::string& from, const std::string& to) {
  constexpr std::string_view kAction = "can't rename";
  WEIR_ASSIGN_OR_RETURN(const Place source, FindExisting(kAction, from));
  WEIR_ASSIGN_OR_RETURN(const Place target, Find(kAction, to));
  if (source.node == target.node) return Status::Ok();
  if (source.node->directory && Holds(source.node, *target.folder)) {
    return Failure(StatusCode::kInvalidArgument, kAction, from, "a folder can't move into itself");
  }
  if (target.node != nullptr) {
    if (source.node->directory != target.node->directory) {
      return Failure(StatusCode::kFailedPrecondition, kAction, to, "Is a directory, or is none");
    }
    if (!target.node->entries.empty()) {
      return Failure(StatusCode::kFailedPrecondition, kAction, to, "Directory not empty");
    }
  }
  disk_.ChangeNames({{target.folder, target.name, source.node}, {source.folder, source.name, nullptr}});
  return Status::Ok();
}

Status SimFileSystem::Rename(const std::string& from, const std::string& to) {
  return Operate(OperationKind::kRename, from, to, {.whole = [&] { return DoRename(from, to); }});
}

Status SimFileSystem::DoLink(const std::string& from, const std::string& to) {
  constexpr std::string_view kAction = "can't link";
  WEIR_ASSIGN_OR_RETURN(const Place source, FindExisting(kAction, from));
  WEIR_ASSIGN_OR_RETURN(const Place target, Find(kAction, to));
  if (target.node != nullptr) return Failure(StatusCode::kAlreadyExists, kAction, to, "File exists");
  if (source.node->directory) return Failure(StatusCode::kFailedPrecondition, kAction, from, "Is a directory");
  if (!other_device_.empty() && from.starts_with(other_device_) != to.starts_with(other_device_)) {
    return Failure(StatusCode::kFailedPrecondition, kAction, to, "Invalid cross-device link");
  }
  disk_.ChangeNames({{target.folder, target.name, source.node}});
  return Status::Ok();
}

Status SimFileSystem::Link(const std::string& from, const std::string& to) {
  return Operate(OperationKind::kLink, from, to, {.whole = [&] { return DoLink(from, to); }});
}

Status SimFileSystem::DoRemove(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const Place place, FindExisting("can't remove", path));
  if (place.node->directory) {
    return Failure(StatusCode::kFailedPrecondition, "can't remove", path, "Is a directory");
  }
  disk_.ChangeNames({{place.folder, place.name, nullptr}});
  return Status::Ok();
}

Status SimFileSystem::Remove(const std::string& path) {
  return Operate(OperationKind::kRemove, path, {}, {.whole = [&] { return DoRemove(path); }});
}

void SimFileSystem::DoRemoveTree(const std::string& path, bool torn) {
  const Result<Place> place = Find("can't remove", path);
  if (!place.has_value() || place->node == nullptr) return;
  WEIR_CHECK(place->folder != nullptr);  // nobody removes the root
  std::vector<NameChange> removals;
  ListRemovals(place->folder, place->name, place->node, removals);
  if (torn) removals.resize(random_.Below(removals.size() + 1));
  for (NameChange& removal : removals) disk_.ChangeNames({std::move(removal)});
}

Status SimFileSystem::RemoveTree(const std::string& path) {
  return Operate(OperationKind::kRemoveTree, path, {},
                 {.whole =
                      [&] {
                        DoRemoveTree(path, false);
                        return Status::Ok();
                      },
                  .torn = [&] { DoRemoveTree(path, true); }});
}

Status SimFileSystem::DoCreateDirectories(const std::string& path) {
  SimNodePtr folder = disk_.root();
  for (const std::string& name : Split(path)) {
    const auto found = folder->entries.find(name);
    if (found == folder->entries.end()) {
      const SimNodePtr made = disk_.NewNode(true);
      disk_.ChangeNames({{folder, name, made}});
      folder = made;
    } else if (found->second->directory) {
      folder = found->second;
    } else {
      return Failure(StatusCode::kFailedPrecondition, "can't create folder", path, "a file is in the way");
    }
  }
  return Status::Ok();
}

Status SimFileSystem::CreateDirectories(const std::string& path) {
  return Operate(OperationKind::kCreateDirectories, path, {}, {.whole = [&] { return DoCreateDirectories(path); }});
}

Result<std::vector<std::string>> SimFileSystem::List(const std::string& path) {
  std::vector<std::string> names;
  WEIR_RETURN_IF_ERROR(Operate(OperationKind::kList, path, {}, {.whole = [&]() -> Status {
                                 WEIR_ASSIGN_OR_RETURN(const Place place, FindExisting("can't list", path));
                                 if (!place.node->directory) {
                                   return Failure(StatusCode::kNotFound, "can't list", path, "Not a directory");
                                 }
                                 for (const auto& [name, node] : place.node->entries) names.push_back(name);
                                 return Status::Ok();
                               }}));
  return names;
}

Status SimFileSystem::SyncDirectory(const std::string& path) {
  const auto find = [&]() -> Result<SimNodePtr> {
    WEIR_ASSIGN_OR_RETURN(const Place place, FindExisting("can't open folder", path));
    if (place.node->directory) return place.node;
    return Error(Failure(StatusCode::kNotFound, "can't open folder", path, "Not a directory"));
  };
  return Operate(OperationKind::kSyncDirectory, path, {},
                 {.whole = [&]() -> Status {
                    WEIR_ASSIGN_OR_RETURN(const SimNodePtr folder, find());
                    disk_.SyncFolder(*folder);
                    return Status::Ok();
                  },
                  .failed =
                      [&] {
                        if (const Result<SimNodePtr> folder = find(); folder.has_value()) {
                          disk_.FailSyncFolder(**folder);
                        }
                      }});
}

Result<FileSystem::Info> SimFileSystem::Stat(const std::string& path) {
  Info info;
  WEIR_RETURN_IF_ERROR(Operate(OperationKind::kStat, path, {}, {.whole = [&]() -> Status {
                                 WEIR_ASSIGN_OR_RETURN(const Place place, FindExisting("can't stat", path));
                                 info = InfoOf(*place.node);
                                 return Status::Ok();
                               }}));
  return info;
}

Result<std::unique_ptr<FileLock>> SimFileSystem::Lock(const std::string& path) {
  std::unique_ptr<FileLock> held;
  WEIR_RETURN_IF_ERROR(Operate(OperationKind::kLock, path, {}, {.whole = [&]() -> Status {
                                 WEIR_ASSIGN_OR_RETURN(const SimNodePtr node, DoOpenForWrite(path, WriteMode::kAppend));
                                 if (!locked_.insert(node->id).second) {
                                   return Status::FailedPrecondition("lock " + path +
                                                                     " is held by another process or holder");
                                 }
                                 held = std::make_unique<SimFileLock>(*this, node->id, life_);
                                 return Status::Ok();
                               }}));
  return held;
}

Result<uint64_t> SimFileSystem::FreeBytes(const std::string& path) {
  uint64_t bytes = 0;
  WEIR_RETURN_IF_ERROR(Operate(OperationKind::kFreeBytes, path, {}, {.whole = [&]() -> Status {
                                 WEIR_ASSIGN_OR_RETURN(const Place place,
                                                       FindExisting("can't ask for free space at", path));
                                 WEIR_CHECK(place.node != nullptr);
                                 bytes = capacity_bytes_ - std::min(capacity_bytes_, disk_.used_bytes());
                                 return Status::Ok();
                               }}));
  return bytes;
}

void SimFileSystem::Arm(Fault fault) {
  std::lock_guard lock(mutex_);
  faults_.Arm(std::move(fault));
}

void SimFileSystem::Disarm() {
  std::lock_guard lock(mutex_);
  faults_.Disarm();
}

void SimFileSystem::SetCapacity(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  capacity_bytes_ = bytes;
}

void SimFileSystem::SetOtherDevice(const std::string& path) {
  std::lock_guard lock(mutex_);
  other_device_ = path + "/";
}

bool SimFileSystem::crashed() const {
  std::lock_guard lock(mutex_);
  return crashed_;
}

void SimFileSystem::Restart() {
  crashed_ = false;
  ++life_;
  locked_.clear();
}

void SimFileSystem::PowerLoss(std::optional<UnsyncedData> data, std::optional<UnsyncedNames> names) {
  std::lock_guard lock(mutex_);
  disk_.PowerLoss(random_, data, names);
  Restart();
}

void SimFileSystem::KillProcess() {
  std::lock_guard lock(mutex_);
  Restart();
}

uint64_t SimFileSystem::operations() const {
  std::lock_guard lock(mutex_);
  return operations_;
}

void SimFileSystem::SetObserver(Observer observer) {
  std::lock_guard lock(mutex_);
  observer_ = std::move(observer);
}

Status SimFileSystem::Damage(const std::string& path, const std::function<void(std::string& content)>& edit) {
  std::lock_guard lock(mutex_);
  WEIR_ASSIGN_OR_RETURN(const Place place, FindExisting("can't damage", path));
  if (place.node->directory) return Failure(StatusCode::kFailedPrecondition, "can't damage", path, "Is a directory");
  std::string content = place.node->content;
  edit(content);
  disk_.Overwrite(*place.node, std::move(content));
  return Status::Ok();
}

}  // namespace weir::simulation
