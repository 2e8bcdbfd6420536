#include "connectors/file/reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "connectors/file/enumerator.h"
#include "connectors/file/find_file.h"
#include "connectors/format/watermark_tap.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::EventTime;
using operators::PollStatus;
using operators::SourceSplit;

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kLongLineKeptBytes = 64 * 1024;  // for the dead letter

}  // namespace

FileReader::FileReader(FileSystem& fs, FileSourceOptions options, std::unique_ptr<Deserializer> deserializer)
    : fs_(fs), options_(std::move(options)), deserializer_(std::move(deserializer)) {}
FileReader::~FileReader() = default;

Status FileReader::Open(operators::ReaderContext& context) {
  uid_ = context.uid;
  metrics_ = context.metrics;
  send_event_ = context.send_event;
  results_ = std::make_unique<Mailbox<ReadResult>>(*context.wakeup);
  worker_ = context.workers->NewWorker("file-read-" + std::to_string(context.subtask));
  return Status::Ok();
}

Status FileReader::AddSplits(std::vector<SourceSplit> splits) {
  for (SourceSplit& split : splits) {
    File file;
    WEIR_ASSIGN_OR_RETURN(file.position, FilePosition::FromSplit(split));
    file.id = std::move(split.id);
    // The bytes that are done are read again: later reads are compared with them.
    file.read_offset = file.position.offset - std::min(file.position.offset, kFingerprintBytes);
    file.watermark_due = file.position.watermark != EventTime::Min();
    watermarks_due_ = watermarks_due_ || file.watermark_due;
    files_.push_back(std::move(file));
  }
  return Status::Ok();
}

void FileReader::EmitDueWatermarks(operators::SourceOutput& output) {
  if (!std::exchange(watermarks_due_, false)) return;
  for (File& file : files_) {
    if (std::exchange(file.watermark_due, false)) output.EmitWatermark(file.id, {file.position.watermark});
  }
}

Result<PollStatus> FileReader::PollNext(operators::SourceOutput& output) {
  EmitDueWatermarks(output);
  WEIR_RETURN_IF_ERROR(TakeResults());
  for (size_t tried = 0; tried < files_.size(); ++tried) {
    File& file = files_[turn_ % files_.size()];
    if (!file.position.finished) {
      WEIR_ASSIGN_OR_RETURN(const size_t lines, ReadLines(file, output));
      const bool half_a_line = lines == 0;  // however much is held, it takes more to end it
      if (!file.at_end && (half_a_line || file.bytes.size() - file.begin < kReadBytes)) RequestRead(file);
      if (lines > 0) return PollStatus::kMore;
      if (!file.at_end) return PollStatus::kIdle;
      if (!options_.follow || file.gone) Finish(file);
    }
    if (file.position.finished && !std::exchange(file.end_told, true)) {
      output.EmitWatermark(file.id, operators::Watermark{EventTime::Max()});
    }
    turn_ = (turn_ + 1) % files_.size();
  }
  return Finished() ? PollStatus::kFinished : PollStatus::kIdle;
}

std::vector<SourceSplit> FileReader::SnapshotState(CheckpointId) {
  std::erase_if(files_, [](const File& file) { return file.reported; });
  std::vector<SourceSplit> splits;
  for (File& file : files_) {
    const uint64_t done = std::min(file.position.offset, kFingerprintBytes);
    if (file.long_bytes == 0 && done > 0 && done <= file.begin) {
      file.position.fingerprint_at = file.position.offset;
      file.position.fingerprint = Hash64(std::string_view(file.bytes).substr(file.begin - done, done));
    }
    splits.push_back(file.position.ToSplit(file.id));
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
    WEIR_ASSIGN_OR_RETURN(ReadBytes read, std::move(result->read));
    const auto file =
        std::find_if(files_.begin(), files_.end(), [&](const File& each) { return each.id == result->id; });
    if (file != files_.end()) WEIR_RETURN_IF_ERROR(TakeRead(*file, std::move(read)));
  }
  return Status::Ok();
}

Status FileReader::TakeRead(File& file, ReadBytes read) {
  if (read.file == nullptr) {
    WEIR_RETURN_IF_ERROR(GiveUp(file.position));
    Finish(file);
    return Status::Ok();
  }
  if (file.open == nullptr) ++open_files_;
  file.open = std::move(read.file);
  file.position.identity = IdentityOf(read.info);
  file.position.size_bytes = std::max(file.position.size_bytes, read.info.size_bytes);
  file.at_end = read.at_end;
  file.gone = read.info.links == 0 && read.bytes.empty();
  if (options_.follow && file.at_end && open_files_ > kOpenFilesMax) Close(file);
  const size_t dropped = file.begin - std::min<size_t>(file.begin, kFingerprintBytes);
  file.bytes.erase(0, dropped);
  file.begin -= dropped;
  file.searched -= dropped;
  file.bytes += read.bytes;
  // The first read of a restored position begins before it.
  const uint64_t done = file.position.offset - std::min(file.read_offset, file.position.offset);
  file.begin += done;
  file.searched += done;
  file.read_offset += read.bytes.size();
  metrics_->bytes_in.fetch_add(read.bytes.size() - done, std::memory_order_relaxed);
  return Status::Ok();
}

void FileReader::RequestRead(const File& file) {
  if (std::exchange(reading_, true)) return;
  std::string before = file.bytes.substr(file.bytes.size() - std::min<size_t>(file.bytes.size(), kFingerprintBytes));
  worker_->Submit([this, id = file.id, open = file.open, position = file.position, offset = file.read_offset,
                   before = std::move(before)] { results_->Post({id, Read(fs_, open, position, offset, before)}); });
}

Result<FileReader::ReadBytes> FileReader::Read(FileSystem& fs, std::shared_ptr<ReadableFile> file,
                                               const FilePosition& position, uint64_t offset,
                                               const std::string& before) {
  ReadBytes read;
  if (file == nullptr) {
    Result<FoundFile> found = FindFile(fs, position);
    if (!found.has_value() && found.error().code() == StatusCode::kNotFound) return read;
    if (!found.has_value()) return Error(found.error());
    file = std::move(found->file);
  }
  WEIR_ASSIGN_OR_RETURN(read.info, file->Stat());
  const uint64_t read_before = std::max(offset, position.offset);
  if (read.info.size_bytes < read_before) return Error(CutOff(position, read.info, read_before));
  if (read.info.size_bytes > offset) {
    WEIR_ASSIGN_OR_RETURN(read.bytes, file->Read(offset - before.size(), before.size() + kReadBytes));
    const bool whole = offset - before.size() + read.bytes.size() >= read_before;
    if (!whole || !read.bytes.starts_with(before)) return Error(CutOff(position, read.info, read_before));
    read.bytes.erase(0, before.size());
  }
  read.at_end = read.bytes.size() < kReadBytes;
  read.file = std::move(file);
  return read;
}

void FileReader::Close(File& file) {
  if (file.open != nullptr) --open_files_;
  file.open.reset();
}

// Tells the enumerator before the file is closed: afterwards its identity may be another file's.
void FileReader::Finish(File& file) {
  file.position.finished = true;
  if (file.gone) {
    LogInfo("file " + file.position.path + " was removed and has been read to its end, byte " +
            std::to_string(file.position.offset));
  }
  if (options_.follow) send_event_(std::string(kFileGoneEvent) + file.id);
  Close(file);
}

Result<size_t> FileReader::ReadLines(File& file, operators::SourceOutput& output) {
  size_t lines = 0;
  std::string_view line;
  uint64_t line_bytes = 0;
  WatermarkTap tap(output, [&file](const std::string&) { return &file.position.watermark; });
  collector_.Begin(tap, Batch::kDefaultCapacity);
  collector_.BeginSplit(file.id);
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
      file.bytes.erase(0, file.bytes.size() - std::min<size_t>(file.bytes.size(), kFingerprintBytes));
      file.begin = file.bytes.size();
      file.searched = file.bytes.size();
    }
    const bool something = left > 0 || file.long_bytes > 0;
    if (!file.at_end || (options_.follow && !file.gone) || !something) return false;
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
  const RawRecord record{
      .topic = file.position.path, .offset = static_cast<int64_t>(file.position.line), .value = line};
  const Status status = deserializer_->Deserialize(record, collector_);
  if (status.ok() || status.code() != StatusCode::kInvalidArgument) return status;
  return BadLine(file, line, status, output);
}

Status FileReader::BadLine(const File& file, std::string_view line, const Status& problem,
                           operators::SourceOutput& output) {
  if (options_.bad_records == BadRecordPolicy::kFail) {
    return problem.WithContext(file.position.path + ":" + std::to_string(file.position.line));
  }
  const RawRecord record{
      .topic = file.position.path, .offset = static_cast<int64_t>(file.position.line), .value = line};
  return HandleBadRecord(options_.bad_records, record, problem, uid_, output, *metrics_);
}

bool FileReader::Finished() const {
  if (!complete_ || options_.follow) return false;
  return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.position.finished; });
}

}  // namespace weir::connectors
