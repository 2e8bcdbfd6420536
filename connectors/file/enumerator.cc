#include "connectors/file/enumerator.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "base/bytes.h"
#include "connectors/file/reader.h"

namespace weir::connectors {
namespace {

using operators::SourceSplit;

// Blocks: a worker's.
Result<std::vector<std::string>> ListFiles(FileSystem& fs, const std::string& path) {
  const std::string folder = ParentDirectory(path);
  const std::string pattern = path.substr(path.rfind('/') + 1);
  std::vector<std::string> files;
  if (pattern.find_first_of("*?") == std::string::npos) {
    if (Exists(fs, path)) files.push_back(path);
    return files;
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(folder));
  for (const std::string& name : names) {
    if (name.starts_with('.') || !MatchesPattern(name, pattern))
      continue;  // a hidden file is somebody's unfinished one
    std::string file = JoinPath(folder, name);
    const Result<FileSystem::Info> info = fs.Stat(file);
    if (info.has_value() && !info->directory) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

FileEnumerator::FileEnumerator(FileSystem& fs, FileSourceOptions options) : fs_(fs), options_(std::move(options)) {}
FileEnumerator::~FileEnumerator() = default;

Status FileEnumerator::Start(operators::EnumeratorContext context, std::optional<std::string> restored,
                             std::vector<SourceSplit> splits) {
  context_ = std::move(context);
  listings_ = std::make_unique<Mailbox<Listing>>(*context_.wakeup);
  worker_ = context_.workers->NewWorker("file-list");
  if (restored.has_value()) {
    const nlohmann::json json = nlohmann::json::parse(*restored, nullptr, false);
    if (!json.is_array()) return Status::Corruption("state of the file source is no list of paths: " + *restored);
    for (const nlohmann::json& path : json) {
      if (!path.is_string()) return Status::Corruption("state of the file source holds something else than paths");
      known_.insert(path.get<std::string>());
    }
    listed_ = !options_.follow;  // a bounded job reads the files of its first start
  }
  std::vector<std::vector<SourceSplit>> of_reader(context_.parallelism);
  for (SourceSplit& split : splits) {
    known_.insert(split.id);
    of_reader[ReaderOf(split.id)].push_back(std::move(split));
  }
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) {
    // A reader without splits must hear of it: it would hold back nothing.
    context_.assign_splits(subtask, std::move(of_reader[subtask]));
    if (listed_) context_.no_more_splits(subtask);
  }
  if (!listed_) SubmitListing();
  return Status::Ok();
}

Status FileEnumerator::Step() {
  while (std::optional<Listing> listing = listings_->Take()) {
    listing_ = false;
    if (!listing->has_value()) return listing->error();
    WEIR_RETURN_IF_ERROR(Assign(**listing));
  }
  const bool due = options_.follow && listed_ && !listing_ && context_.clock->Now() >= next_listing_;
  if (!due) return Status::Ok();
  SubmitListing();
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) {
    context_.send_event(subtask, std::string(kFileGrownEvent));
  }
  return Status::Ok();
}

Result<std::string> FileEnumerator::SnapshotState(CheckpointId) { return nlohmann::json(known_).dump(); }

void FileEnumerator::SubmitListing() {
  listing_ = true;
  next_listing_ = context_.clock->Now() + options_.discovery_interval;
  worker_->Submit([this] { listings_->Post(ListFiles(fs_, options_.path)); });
}

Status FileEnumerator::Assign(const std::vector<std::string>& paths) {
  if (paths.empty() && known_.empty() && !options_.follow) {
    return Status::NotFound("file source: no file is called " + options_.path);
  }
  std::vector<std::vector<SourceSplit>> of_reader(context_.parallelism);
  for (const std::string& path : paths) {
    if (!known_.insert(path).second) continue;
    of_reader[ReaderOf(path)].push_back({path, FilePosition().ToJson()});
  }
  listed_ = true;
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) {
    if (!of_reader[subtask].empty()) context_.assign_splits(subtask, std::move(of_reader[subtask]));
    if (!options_.follow) context_.no_more_splits(subtask);
  }
  return Status::Ok();
}

uint32_t FileEnumerator::ReaderOf(std::string_view path) const {
  return static_cast<uint32_t>(Hash64(path) % context_.parallelism);
}

}  // namespace weir::connectors
