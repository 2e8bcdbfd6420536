#include "connectors/kafka/segment.h"

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "connectors/segment_output.h"

namespace weir::connectors {
namespace {

constexpr uint64_t kHasKey = 1;
constexpr uint64_t kHasValue = 2;
constexpr uint64_t kHasTimestamp = 4;
constexpr uint64_t kHasHeaders = 8;
constexpr uint64_t kKnownFlags = 15;

class FrameReader final : public SegmentFrames {
 public:
  explicit FrameReader(std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)> take)
      : take_(std::move(take)) {}

  Status TakeFrom(std::string_view& bytes) override {
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
        const size_t headers_before = headers_.size();
        WEIR_ASSIGN_OR_RETURN(const std::optional<ProduceRow> row, ReadRow(rest));
        if (!row.has_value()) {
          headers_.resize(headers_before);
          break;
        }
        rows_.push_back(*row);
        headers_end_.push_back(headers_.size());
      } else if (kind == 'S') {
        ended_ = true;
      } else {
        return Status::Corruption("a frame of unknown kind");
      }
      bytes = rest;
    }
    return Flush();
  }
  bool ended() const override { return ended_; }

 private:
  // Nothing: the row is not whole. Its headers go to headers_.
  Result<std::optional<ProduceRow>> ReadRow(std::string_view& bytes) {
    constexpr std::optional<ProduceRow> kNotWhole;
    const std::optional<uint64_t> flags = ReadVarint(bytes);
    if (!flags.has_value()) return kNotWhole;
    if (*flags > kKnownFlags) return Error(Status::Corruption("a record with unknown flags"));
    ProduceRow row;
    if ((*flags & kHasTimestamp) != 0) {
      const std::optional<uint64_t> time = ReadVarint(bytes);
      if (!time.has_value()) return kNotWhole;
      row.timestamp_ms = static_cast<int64_t>(*time);
    }
    if ((*flags & kHasKey) != 0 && !ReadText(bytes, row.key)) return kNotWhole;
    if ((*flags & kHasValue) != 0 && !ReadText(bytes, row.value)) return kNotWhole;
    if ((*flags & kHasHeaders) != 0 && !ReadHeaders(bytes)) return kNotWhole;
    return std::optional(row);
  }
  bool ReadHeaders(std::string_view& bytes) {
    const std::optional<uint64_t> count = ReadVarint(bytes);
    if (!count.has_value()) return false;
    for (uint64_t i = 0; i < *count; ++i) {
      KafkaHeader header;
      if (!ReadText(bytes, header.name) || !ReadText(bytes, header.value)) return false;
      headers_.push_back(header);
    }
    return true;
  }
  static bool ReadText(std::string_view& bytes, std::string_view& text) {
    const auto read = ReadLengthPrefixed(bytes);
    if (read.has_value()) text = *read;
    return read.has_value();
  }
  Status Flush() {
    if (rows_.empty()) return {};
    for (size_t i = 0, begin = 0; i < rows_.size() && !headers_.empty(); begin = headers_end_[i++]) {
      rows_[i].headers = std::span(headers_).subspan(begin, headers_end_[i] - begin);
    }
    const Status status = take_(topic_, rows_);
    rows_.clear();
    headers_.clear();
    headers_end_.clear();
    return status;
  }

  const std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)> take_;
  std::string topic_;
  std::vector<ProduceRow> rows_;
  std::vector<KafkaHeader> headers_;  // of all rows_
  std::vector<size_t> headers_end_;   // by row: where in headers_ its own end
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
  AppendVarint(out, (has_key ? kHasKey : 0) | (has_value ? kHasValue : 0) | (has_timestamp ? kHasTimestamp : 0) |
                        (row.headers.empty() ? 0 : kHasHeaders));
  if (has_timestamp) AppendVarint(out, static_cast<uint64_t>(row.timestamp_ms));
  if (has_key) AppendLengthPrefixed(out, row.key);
  if (has_value) AppendLengthPrefixed(out, row.value);
  if (row.headers.empty()) return;
  AppendVarint(out, row.headers.size());
  for (const KafkaHeader& header : row.headers) {
    AppendLengthPrefixed(out, header.name);
    AppendLengthPrefixed(out, header.value);
  }
}

void AppendSegmentEnd(std::string& out) { out += 'S'; }

Status ReadSegment(FileSystem& fs, const std::string& path,
                   const std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)>& take) {
  FrameReader frames(take);
  return ReadSegmentFile(fs, path, frames);
}

}  // namespace weir::connectors
