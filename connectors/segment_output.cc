#include "connectors/segment_output.h"

#include <memory>
#include <utility>

#include "base/check.h"

namespace weir::connectors {
namespace {

constexpr size_t kSegmentAppendBytes = 256 * 1024;
constexpr uint64_t kSegmentWaitingBytesMax = uint64_t{8} << 20;  // text that waits for the Worker
constexpr size_t kSegmentPieceBytes = 1U << 20U;                 // of one read

}  // namespace

SegmentOutput::SegmentOutput(std::string system, const operators::WriterContext& context)
    : system_(std::move(system)),
      uid_(context.uid),
      stem_(context.segment_stem),
      files_(std::make_unique<checkpoint::FolderSealer>(*context.file_system, context.output_folder), context,
             "segment-" + std::to_string(context.subtask)) {
  if (context.metrics != nullptr) files_.CountUnsealed(context.metrics->unsealed_bytes);
}

void SegmentOutput::Added(uint64_t rows) {
  if (name_.empty()) name_ = stem_ + std::to_string(sequence_++);
  rows_ += rows;
  if (text().size() >= kSegmentAppendBytes) files_.Submit(name_);
}

void SegmentOutput::Seal() {
  WEIR_CHECK(begun());
  files_.SubmitSeal(name_, std::exchange(rows_, 0));
  name_.clear();
}

void SegmentOutput::Flush() {
  if (files_.waiting_bytes() == 0) files_.Submit(name_);
}

Status SegmentOutput::TakeResults() {
  files_.TakeResults();
  return files_.failure();
}

bool SegmentOutput::HasRoom() const { return files_.waiting_bytes() < kSegmentWaitingBytesMax; }

std::vector<checkpoint::Committable> SegmentOutput::TakeCommittables() {
  WEIR_CHECK(!begun() && !sealing());
  std::vector<checkpoint::Committable> committables;
  for (const checkpoint::SealedFile& file : files_.TakeSealed()) {
    committables.push_back({.system = system_,
                            .uid = uid_,
                            .payload = {},
                            .size_bytes = file.size_bytes,
                            .rows = file.rows,
                            .segment = file.name,
                            .checksum = file.checksum});
  }
  return committables;
}

Status ReadSegmentFile(FileSystem& fs, const std::string& path, SegmentFrames& frames) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, fs.OpenForRead(path));
  std::string buffer;  // read and not taken
  for (uint64_t offset = 0;;) {
    WEIR_ASSIGN_OR_RETURN(const std::string piece, file->Read(offset, kSegmentPieceBytes));
    offset += piece.size();
    buffer += piece;
    std::string_view rest = buffer;
    const Status status = frames.TakeFrom(rest);
    const uint64_t taken = offset - rest.size();
    if (status.code() == StatusCode::kCorruption) {
      return status.WithContext("segment " + path + ", byte " + std::to_string(taken));
    }
    WEIR_RETURN_IF_ERROR(status);
    if (piece.size() < kSegmentPieceBytes) {
      if (frames.ended() && rest.empty()) return {};
      return Status::Corruption("segment " + path + " is cut off or damaged at byte " + std::to_string(taken));
    }
    buffer.erase(0, buffer.size() - rest.size());
  }
}

}  // namespace weir::connectors
