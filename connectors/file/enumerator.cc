#include "connectors/file/enumerator.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "base/bytes.h"
#include "connectors/file/find_file.h"
#include "connectors/format/json_text.h"

namespace weir::connectors {
namespace {

using operators::SourceSplit;

}  // namespace

FileEnumerator::FileEnumerator(FileSystem& fs, FileSourceOptions options) : fs_(fs), options_(std::move(options)) {}
FileEnumerator::~FileEnumerator() = default;

Status FileEnumerator::Start(operators::EnumeratorContext context, std::optional<std::string> restored,
                             std::vector<SourceSplit> splits) {
  context_ = std::move(context);
  answers_ = std::make_unique<Mailbox<Answer>>(*context_.wakeup);
  worker_ = context_.workers->NewWorker("file-list");
  first_start_ = !restored.has_value();
  if (restored.has_value()) {
    WEIR_RETURN_IF_ERROR(ReadState(*restored));
    listed_ = !options_.follow;  // a bounded job reads the files of its first start
  }
  for (const SourceSplit& split : splits) known_.try_emplace(split.id);
  if (splits.empty()) {
    AssignRestored({});
  } else {
    SubmitRestored(std::move(splits));
  }
  if (!listed_) SubmitListing();
  return Status::Ok();
}

Status FileEnumerator::ReadState(const std::string& text) {
  const Status broken = Status::Corruption("state of the file source is no list of files: " + text.substr(0, 300));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_array()) {
    for (const nlohmann::json& path : json) {
      if (!path.is_string()) return broken;
      known_.try_emplace(path.get<std::string>());
    }
    return Status::Ok();
  }
  if (!json.is_object() || !json.contains("files") || !json["files"].is_object() || !json.contains("next") ||
      !json["next"].is_number_unsigned()) {
    return broken;
  }
  next_number_ = json["next"].get<uint64_t>();
  for (const auto& [id, file] : json["files"].items()) {
    known_.try_emplace(id);
    if (file.is_null()) continue;
    if (!file.is_object() || !file.contains("device") || !file["device"].is_number_unsigned() ||
        !file.contains("inode") || !file["inode"].is_number_unsigned()) {
      return broken;
    }
    Know(id, {.device = file["device"].get<uint64_t>(), .inode = file["inode"].get<uint64_t>()});
  }
  return Status::Ok();
}

Result<std::string> FileEnumerator::SnapshotState(CheckpointId) {
  nlohmann::json files = nlohmann::json::object();
  for (const auto& [id, identity] : known_) {
    if (gone_.contains(id)) continue;
    files[id] = nullptr;
    if (identity.has_value()) files[id] = {{"device", identity->device}, {"inode", identity->inode}};
  }
  return nlohmann::json{{"files", std::move(files)}, {"next", next_number_}}.dump();
}

Status FileEnumerator::Step() {
  while (const std::optional<Answer> answer = answers_->Take()) {
    if (!answer->has_value()) return answer->error();
    if (const auto* restored = std::get_if<std::vector<Restored>>(&**answer)) {
      resolving_ = false;
      AssignRestored(*restored);
    } else {
      listing_ = false;
      WEIR_RETURN_IF_ERROR(Assign(std::get<Listing>(**answer)));
    }
  }
  const bool due = options_.follow && ready() && !listing_ && context_.clock->Now() >= next_listing_;
  if (!due) return Status::Ok();
  SubmitListing();
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) {
    context_.send_event(subtask, std::string(kFileGrownEvent));
  }
  return Status::Ok();
}

Status FileEnumerator::HandleEvent(uint32_t, const std::string& event) {
  if (!event.starts_with(kFileGoneEvent)) return Status::Internal("file source: unknown event " + event);
  gone_.insert(event.substr(kFileGoneEvent.size()));
  return Status::Ok();
}

// Positions are assigned, and known to a checkpoint, with the identity of the file that they go on in: what is listed
// afterwards is compared with that.
void FileEnumerator::SubmitRestored(std::vector<SourceSplit> splits) {
  resolving_ = true;
  worker_->Submit([this, splits = std::move(splits)] {
    std::vector<Restored> restored;
    Status status;
    for (const SourceSplit& split : splits) {
      Result<FilePosition> position = FilePosition::FromSplit(split);
      if (position.has_value()) {
        // A file that was at its end before follow was asked for may have grown since.
        if (options_.follow) position->finished = false;
        status = position->finished ? Status::Ok() : Resolve(fs_, *position);
      } else {
        status = position.error();
      }
      if (!status.ok()) break;
      restored.push_back({split.id, std::move(*position)});
    }
    answers_->Post(status.ok() ? Answer(std::move(restored)) : Answer(Error(std::move(status))));
  });
}

void FileEnumerator::AssignRestored(const std::vector<Restored>& splits) {
  std::vector<std::vector<SourceSplit>> of_reader(context_.parallelism);
  for (const auto& [id, position] : splits) {
    if (position.identity.has_value()) Know(id, *position.identity);
    if (position.finished && options_.follow) Forget(id);
    of_reader[ReaderOf(id)].push_back(position.ToSplit(id));
  }
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) {
    // A reader without splits must hear of it: it would hold back nothing.
    context_.assign_splits(subtask, std::move(of_reader[subtask]));
    if (listed_ && !options_.follow) context_.no_more_splits(subtask);
  }
}

void FileEnumerator::SubmitListing() {
  listing_ = true;
  next_listing_ = context_.clock->Now() + options_.discovery_interval;
  worker_->Submit([this, gone = gone_]() mutable {
    Result<std::vector<Listed>> files = ListFiles();
    answers_->Post(files.has_value() ? Answer(Listing{std::move(*files), std::move(gone)})
                                     : Answer(Error(files.error())));
  });
}

Result<std::vector<FileEnumerator::Listed>> FileEnumerator::ListFiles() const {
  const std::string folder = ParentDirectory(options_.path);
  const std::string pattern = options_.path.substr(options_.path.rfind('/') + 1);
  std::vector<Listed> files;
  const auto add = [&](std::string path, bool folders_too) {
    const Result<FileInfo> info = fs_.Stat(path);
    if (!info.has_value() || (info->directory && !folders_too)) return;
    files.push_back({std::move(path), IdentityOf(*info), info->size_bytes});
  };
  if (pattern.find_first_of("*?") == std::string::npos) {
    add(options_.path, true);  // who reads a folder is to hear of it
    return files;
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.List(folder));
  for (const std::string& name : names) {
    // A hidden file is somebody's unfinished one.
    if (!name.starts_with('.') && MatchesPattern(name, pattern)) add(JoinPath(folder, name), false);
  }
  return files;
}

Status FileEnumerator::Assign(const Listing& listing) {
  for (const std::string& id : listing.gone) {
    Forget(id);
    gone_.erase(id);
  }
  if (listing.files.empty() && known_.empty() && !options_.follow) {
    return Status::NotFound("file source: no file is called " + options_.path);
  }
  std::vector<std::vector<SourceSplit>> of_reader(context_.parallelism);
  for (const Listed& file : listing.files) {
    if (!identities_.contains(file.identity)) WEIR_RETURN_IF_ERROR(AddFile(file, of_reader));
  }
  listed_ = true;
  first_start_ = false;
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) {
    if (!of_reader[subtask].empty()) context_.assign_splits(subtask, std::move(of_reader[subtask]));
    if (!options_.follow) context_.no_more_splits(subtask);
  }
  return Status::Ok();
}

Status FileEnumerator::AddFile(const Listed& file, std::vector<std::vector<SourceSplit>>& of_reader) {
  // A device may have another number after a restart of the machine; an older checkpoint has names only.
  const auto known = known_.find(file.path);
  if (known != known_.end() && (!known->second.has_value() || known->second->inode == file.identity.inode)) {
    Know(file.path, file.identity);
    return Status::Ok();
  }
  if (!IsUtf8(file.path)) return Status::InvalidArgument("the name of file " + file.path + " is not UTF-8");
  const std::string id = first_start_ ? file.path : std::to_string(next_number_++) + ":" + file.path;
  Know(id, file.identity);
  const FilePosition begin{.path = file.path, .identity = file.identity, .size_bytes = file.size_bytes};
  of_reader[ReaderOf(id)].push_back(begin.ToSplit(id));
  return Status::Ok();
}

void FileEnumerator::Know(const std::string& id, const FileIdentity& identity) {
  Forget(id);
  known_[id] = identity;
  identities_.insert(identity);
}

void FileEnumerator::Forget(const std::string& id) {
  const auto known = known_.find(id);
  if (known == known_.end()) return;
  if (known->second.has_value()) identities_.erase(*known->second);
  known_.erase(known);
}

uint32_t FileEnumerator::ReaderOf(std::string_view id) const {
  return static_cast<uint32_t>(Hash64(id) % context_.parallelism);
}

}  // namespace weir::connectors
