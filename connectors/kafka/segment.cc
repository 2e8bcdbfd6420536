#include "connectors/kafka/segment.h"

#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace weir::connectors {
namespace {

constexpr size_t kPieceBytes = 1U << 20U;
constexpr uint64_t kHasKey = 1;
constexpr uint64_t kHasValue = 2;
constexpr uint64_t kHasTimestamp = 4;

// Frames at the front of what has been read so far. A frame is whole or is left for the next piece.
class FrameReader {
 public:
  explicit FrameReader(std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)> take)
      : take_(std::move(take)) {}

  // Takes whole frames from the front of `bytes`; the rest stays.
  Status TakeFrom(std::string_view& bytes) {
    while (!bytes.empty() && !ended_) {
      std::string_view rest = bytes;
      const char kind = rest.front();
      rest.remove_prefix(1);
      if (kind == 'T') {
        const auto topic = ReadLengthPrefixed(rest);
        if (!topic.has_value()) break;
        WEIR_RETURN_IF_ERROR(Flush());
        topic_ = std::string(*topic);
      } else if (kind == 'R') {
        const std::optional<ProduceRow> row = ReadRow(rest);
        if (!row.has_value()) break;
        rows_.push_back(*row);
      } else if (kind == 'S') {
        ended_ = true;
      } else {
        return Status::Corruption("a frame of unknown kind");
      }
      bytes = rest;
    }
    return Flush();
  }
  bool ended() const { return ended_; }

 private:
  static std::optional<ProduceRow> ReadRow(std::string_view& bytes) {
    const std::optional<uint64_t> flags = ReadVarint(bytes);
    if (!flags.has_value()) return std::nullopt;
    ProduceRow row;
    if ((*flags & kHasTimestamp) != 0) {
      const std::optional<uint64_t> time = ReadVarint(bytes);
      if (!time.has_value()) return std::nullopt;
      row.timestamp_ms = static_cast<int64_t>(*time);
    }
    if ((*flags & kHasKey) != 0 && !ReadText(bytes, row.key)) return std::nullopt;
    if ((*flags & kHasValue) != 0 && !ReadText(bytes, row.value)) return std::nullopt;
    return row;
  }
  static bool ReadText(std::string_view& bytes, std::string_view& text) {
    const auto read = ReadLengthPrefixed(bytes);
    if (read.has_value()) text = *read;
    return read.has_value();
  }
  Status Flush() {
    if (rows_.empty()) return {};
    const Status status = take_(topic_, rows_);
    rows_.clear();
    return status;
  }

  const std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)> take_;
  std::string topic_;
  std::vector<ProduceRow> rows_;
  bool ended_ = false;
};

}  // namespace

void AppendSegmentTopic(std::string& out, std::string_view topic) {
  out += 'T';
  AppendLengthPrefixed(out, topic);
}

void AppendSegmentRow(std::string& out, const ProduceRow& row) {
  const bool has_key = row.key.data() != nullptr;
  const bool has_value = row.value.data() != nullptr;
  const bool has_timestamp = row.timestamp_ms > 0;
  out += 'R';
  AppendVarint(out, (has_key ? kHasKey : 0) | (has_value ? kHasValue : 0) | (has_timestamp ? kHasTimestamp : 0));
  if (has_timestamp) AppendVarint(out, static_cast<uint64_t>(row.timestamp_ms));
  if (has_key) AppendLengthPrefixed(out, row.key);
  if (has_value) AppendLengthPrefixed(out, row.value);
}

void AppendSegmentEnd(std::string& out) { out += 'S'; }

Status ReadSegment(FileSystem& fs, const std::string& path,
                   const std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)>& take) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, fs.OpenForRead(path));
  FrameReader frames(take);
  std::string buffer;  // read and not taken
  for (uint64_t offset = 0;;) {
    WEIR_ASSIGN_OR_RETURN(const std::string piece, file->Read(offset, kPieceBytes));
    offset += piece.size();
    buffer += piece;
    std::string_view rest = buffer;
    const Status status = frames.TakeFrom(rest);
    const uint64_t taken = offset - rest.size();
    if (status.code() == StatusCode::kCorruption) {
      return status.WithContext("segment " + path + ", byte " + std::to_string(taken));
    }
    WEIR_RETURN_IF_ERROR(status);
    if (piece.size() < kPieceBytes) {
      if (frames.ended() && rest.empty()) return {};
      return Status::Corruption("segment " + path + " is cut off or damaged at byte " + std::to_string(taken));
    }
    buffer.erase(0, buffer.size() - rest.size());
  }
}

}  // namespace weir::connectors
