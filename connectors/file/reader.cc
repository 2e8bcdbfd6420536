#include "connectors/file/reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "connectors/file/enumerator.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::EventTime;
using operators::PollStatus;
using operators::SourceSplit;

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kLongLineKeptBytes = 64 * 1024;  // for the dead letter

// Blocks: a worker's.
Result<std::string> ReadFrom(FileSystem& fs, const std::string& path, uint64_t offset) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, fs.OpenForRead(path));
  WEIR_ASSIGN_OR_RETURN(const FileInfo info, file->Stat());
  const uint64_t size = info.size_bytes;
  if (size < offset) {
    return Error(Status::FailedPrecondition("file " + path + " has " + std::to_string(size) +
                                            " bytes, the position in it is " + std::to_string(offset) +
                                            ": it was cut off or replaced"));
  }
  return file->Read(offset, kReadBytes);
}

}  // namespace

std::string FilePosition::ToJson() const {
  return nlohmann::json({{"offset", offset}, {"line", line}, {"finished", finished}}).dump();
}

Result<FilePosition> FilePosition::FromJson(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object()) {
    const auto offset = json.find("offset");
    const auto line = json.find("line");
    const auto finished = json.find("finished");
    if (offset != json.end() && offset->is_number_unsigned() && line != json.end() && line->is_number_unsigned() &&
        finished != json.end() && finished->is_boolean()) {
      return FilePosition{offset->get<uint64_t>(), line->get<uint64_t>(), finished->get<bool>()};
    }
  }
  return Error(Status::Corruption("not a position in a file: " + std::string(text.substr(0, 200))));
}

FileReader::FileReader(FileSystem& fs, FileSourceOptions options, std::unique_ptr<Deserializer> deserializer)
    : fs_(fs), options_(std::move(options)), deserializer_(std::move(deserializer)) {}
FileReader::~FileReader() = default;

Status FileReader::Open(operators::ReaderContext& context) {
  uid_ = context.uid;
  metrics_ = context.metrics;
  results_ = std::make_unique<Mailbox<ReadResult>>(*context.wakeup);
  worker_ = context.workers->NewWorker("file-read-" + std::to_string(context.subtask));
  return Status::Ok();
}

Status FileReader::AddSplits(std::vector<SourceSplit> splits) {
  for (SourceSplit& split : splits) {
    Result<FilePosition> position = FilePosition::FromJson(split.position);
    if (!position.has_value()) return position.error().WithContext(split.id);
    // A file that was at its end before follow was asked for may have grown since.
    if (options_.follow) position->finished = false;
    File file;
    file.path = std::move(split.id);
    file.position = *position;
    file.read_offset = position->offset;
    files_.push_back(std::move(file));
  }
  return Status::Ok();
}

Result<PollStatus> FileReader::PollNext(operators::SourceOutput& output) {
  WEIR_RETURN_IF_ERROR(TakeResults());
  for (size_t tried = 0; tried < files_.size(); ++tried) {
    File& file = files_[turn_ % files_.size()];
    if (!file.position.finished) {
      WEIR_ASSIGN_OR_RETURN(const size_t lines, ReadLines(file, output));
      const bool half_a_line = lines == 0;  // however much is held, it takes more to end it
      if (!file.at_end && (half_a_line || file.bytes.size() - file.begin < kReadBytes)) RequestRead(file);
      if (lines > 0) return PollStatus::kMore;
      if (!file.at_end) return PollStatus::kIdle;
      file.position.finished = !options_.follow;
    }
    if (file.position.finished && !std::exchange(file.end_told, true)) {
      output.EmitWatermark(file.path, operators::Watermark{EventTime::Max()});
    }
    turn_ = (turn_ + 1) % files_.size();
  }
  return Finished() ? PollStatus::kFinished : PollStatus::kIdle;
}

std::vector<SourceSplit> FileReader::SnapshotState(CheckpointId) {
  std::erase_if(files_, [](const File& file) { return file.reported; });
  std::vector<SourceSplit> splits;
  for (File& file : files_) {
    splits.push_back({file.path, file.position.ToJson()});
    file.reported = file.position.finished;
  }
  turn_ = 0;
  return splits;
}

Status FileReader::HandleEvent(const std::string& event) {
  if (event != kFileGrownEvent) return Status::Internal("file source: unknown event " + event);
  for (File& file : files_) file.at_end = false;
  return Status::Ok();
}

Status FileReader::TakeResults() {
  while (std::optional<ReadResult> result = results_->Take()) {
    reading_ = false;
    WEIR_ASSIGN_OR_RETURN(const std::string bytes, std::move(result->bytes));
    const auto file =
        std::find_if(files_.begin(), files_.end(), [&](const File& each) { return each.path == result->path; });
    if (file == files_.end()) continue;
    file->bytes.erase(0, file->begin);
    file->searched -= file->begin;
    file->begin = 0;
    file->bytes += bytes;
    file->read_offset += bytes.size();
    file->at_end = bytes.size() < kReadBytes;
    metrics_->bytes_in.fetch_add(bytes.size(), std::memory_order_relaxed);
  }
  return Status::Ok();
}

void FileReader::RequestRead(const File& file) {
  if (std::exchange(reading_, true)) return;
  worker_->Submit(
      [this, path = file.path, offset = file.read_offset] { results_->Post({path, ReadFrom(fs_, path, offset)}); });
}

Result<size_t> FileReader::ReadLines(File& file, operators::SourceOutput& output) {
  size_t lines = 0;
  std::string_view line;
  uint64_t line_bytes = 0;
  collector_.Begin(output, Batch::kDefaultCapacity);
  collector_.BeginSplit(file.path);
  Status status;
  while (status.ok() && lines < Batch::kDefaultCapacity && NextLine(file, line, line_bytes)) {
    ++lines;
    ++file.position.line;
    if (file.long_bytes > 0) {
      status = BadLine(file, file.long_line,
                       Status::InvalidArgument("the line has " + std::to_string(line_bytes) +
                                               " bytes, max-line-bytes is " + std::to_string(options_.line_bytes_max)),
                       output);
      file.long_bytes = 0;
      file.long_line.clear();
    } else if (!line.empty()) {
      status = Deserialize(file, line, output);
    }
    file.position.offset += line_bytes;
  }
  const Status flushed = collector_.Flush();
  WEIR_RETURN_IF_ERROR(status);
  WEIR_RETURN_IF_ERROR(flushed);
  return lines;
}

bool FileReader::NextLine(File& file, std::string_view& line, uint64_t& line_bytes) {
  const size_t end = file.bytes.find('\n', file.searched);
  const bool last = end == std::string::npos;
  if (last) {
    const size_t left = file.bytes.size() - file.begin;
    file.searched = file.bytes.size();
    if (left + file.long_bytes > options_.line_bytes_max) {
      if (file.long_bytes == 0) file.long_line = file.bytes.substr(file.begin, kLongLineKeptBytes);
      file.long_bytes += left;
      file.bytes.clear();
      file.begin = 0;
      file.searched = 0;
    }
    const bool something = left > 0 || file.long_bytes > 0;
    if (!file.at_end || options_.follow || !something) return false;
  }
  const size_t stop = last ? file.bytes.size() : end;
  line = std::string_view(file.bytes).substr(file.begin, stop - file.begin);
  const size_t taken = line.size() + (last ? 0 : 1);
  if (file.long_bytes == 0 && line.size() > options_.line_bytes_max) {
    file.long_line = line.substr(0, kLongLineKeptBytes);
    line_bytes = taken;
    file.long_bytes = taken;
  } else {
    line_bytes = file.long_bytes + taken;
    file.long_bytes = file.long_bytes == 0 ? 0 : line_bytes;
  }
  file.begin += taken;
  file.searched = file.begin;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

Status FileReader::Deserialize(File& file, std::string_view line, operators::SourceOutput& output) {
  const RawRecord record{.topic = file.path, .offset = static_cast<int64_t>(file.position.line), .value = line};
  const Status status = deserializer_->Deserialize(record, collector_);
  if (status.ok() || status.code() != StatusCode::kInvalidArgument) return status;
  return BadLine(file, line, status, output);
}

Status FileReader::BadLine(const File& file, std::string_view line, const Status& problem,
                           operators::SourceOutput& output) {
  if (options_.bad_records == BadRecordPolicy::kFail) {
    return problem.WithContext(file.path + ":" + std::to_string(file.position.line));
  }
  const RawRecord record{.topic = file.path, .offset = static_cast<int64_t>(file.position.line), .value = line};
  return HandleBadRecord(options_.bad_records, record, problem, uid_, output, *metrics_);
}

bool FileReader::Finished() const {
  if (!complete_ || options_.follow) return false;
  return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.position.finished; });
}

}  // namespace weir::connectors
