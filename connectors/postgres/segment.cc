#include "connectors/postgres/segment.h"

#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "connectors/segment_output.h"
#include "operators/decimal.h"
#include "operators/temporal.h"

namespace weir::connectors {
namespace {

using operators::RowKind;
using operators::Value;
using operators::ValueType;

constexpr uint64_t kUpsert = 1;

class PostgresFrameReader final : public SegmentFrames {
 public:
  explicit PostgresFrameReader(const TakeSegmentRow& take) : take_(take) {}

  Status TakeFrom(std::string_view& bytes) override {
    while (!bytes.empty() && !ended_) {
      std::string_view rest = bytes;
      const char frame = rest.front();
      rest.remove_prefix(1);
      bool whole = true;
      if (frame == 'T') {
        whole = ReadTarget(rest);
      } else if (frame == 'C') {
        whole = ReadNames(rest, columns_);
      } else if (frame == 'R') {
        WEIR_ASSIGN_OR_RETURN(whole, ReadRow(rest));
      } else if (frame == 'S') {
        ended_ = true;
      } else {
        return Status::Corruption("a frame of unknown kind");
      }
      if (!whole) break;
      bytes = rest;
    }
    return {};
  }
  bool ended() const override { return ended_; }

 private:
  static bool ReadName(std::string_view& bytes, std::string& name) {
    const auto text = ReadLengthPrefixed(bytes);
    if (text.has_value()) name = *text;
    return text.has_value();
  }
  static bool ReadNames(std::string_view& bytes, std::vector<std::string>& names) {
    const std::optional<uint64_t> count = ReadVarint(bytes);
    if (!count.has_value()) return false;
    std::vector<std::string> read;
    for (uint64_t i = 0; i < *count; ++i) {
      if (!ReadName(bytes, read.emplace_back())) return false;
    }
    names = std::move(read);
    return true;
  }
  bool ReadTarget(std::string_view& bytes) {
    PostgresTarget target;
    if (!ReadName(bytes, target.table.schema) || !ReadName(bytes, target.table.table)) return false;
    const std::optional<uint64_t> flags = ReadVarint(bytes);
    if (!flags.has_value() || !ReadNames(bytes, target.key) || !ReadName(bytes, target.version_column)) return false;
    target.upsert = (*flags & kUpsert) != 0;
    target_ = std::move(target);
    columns_.clear();
    return true;
  }
  // False: cut off.
  Result<bool> ReadRow(std::string_view& bytes) {
    const std::optional<uint64_t> kind = ReadVarint(bytes);
    if (!kind.has_value()) return false;
    if (*kind > static_cast<uint64_t>(RowKind::kDelete)) return Error(Status::Corruption("a row of unknown kind"));
    values_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::optional<uint64_t> size = ReadVarint(bytes);
      if (!size.has_value()) return false;
      SegmentValue& value = values_.emplace_back();
      value.absent = *size == 0;
      if (*size < 2) continue;
      const uint64_t length = (*size - 2) / 2;
      if (bytes.size() < length) return false;
      value.json = *size % 2 != 0;
      value.text = bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
    WEIR_RETURN_IF_ERROR(take_({target_, columns_, static_cast<RowKind>(*kind), values_}));
    return true;
  }

  const TakeSegmentRow& take_;
  PostgresTarget target_;
  std::vector<std::string> columns_;
  std::vector<SegmentValue> values_;
  bool ended_ = false;
};

void AppendByteaText(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\x";
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
}

void AppendNameList(std::string& out, const std::vector<std::string>& names) {
  AppendVarint(out, names.size());
  for (const std::string& name : names) AppendLengthPrefixed(out, name);
}

// The texts of numbers and booleans are JSON's too, but for NaN and infinities.
bool IsJson(const Value& value) {
  switch (value.type()) {
    case ValueType::kBool:
    case ValueType::kInt64:
    case ValueType::kJson: return true;
    case ValueType::kDouble: return std::isfinite(value.double_value());
    case ValueType::kDecimal: return value.text().find_first_of("Ny") == std::string_view::npos;
    default: return false;
  }
}

}  // namespace

void AppendPostgresText(std::string& out, const Value& value) {
  char buffer[operators::kTemporalTextMax];
  switch (value.type()) {
    case ValueType::kAbsent:
    case ValueType::kNull: return;
    case ValueType::kBool: out += value.bool_value() ? "true" : "false"; return;
    case ValueType::kInt64: out += std::to_string(value.int64_value()); return;
    case ValueType::kDouble: out.append(buffer, operators::DoubleToText(value.double_value(), buffer)); return;
    case ValueType::kDecimal:
    case ValueType::kString:
    case ValueType::kJson: out += value.text(); return;
    case ValueType::kBytes: AppendByteaText(out, value.text()); return;
    case ValueType::kDate:
    case ValueType::kTime:
    case ValueType::kTimestamp:
    case ValueType::kTimestampTz:
      out.append(buffer, operators::TemporalToText(value.type(), value.int64_value(), buffer));
      return;
  }
}

void AppendSegmentTarget(std::string& out, const PostgresTarget& target) {
  out += 'T';
  AppendLengthPrefixed(out, target.table.schema);
  AppendLengthPrefixed(out, target.table.table);
  AppendVarint(out, target.upsert ? kUpsert : 0);
  AppendNameList(out, target.key);
  AppendLengthPrefixed(out, target.version_column);
}

void AppendSegmentColumns(std::string& out, const std::vector<std::string>& columns) {
  out += 'C';
  AppendNameList(out, columns);
}

Status AppendSegmentRow(std::string& out, const operators::Batch& batch, size_t row, bool any_text) {
  const size_t before = out.size();
  out += 'R';
  AppendVarint(out, static_cast<uint64_t>(batch.kind(row)));
  std::string text;
  for (size_t c = 0; c < batch.columns(); ++c) {
    const Value& value = batch.at(row, c);
    if (value.missing()) {
      AppendVarint(out, value.absent() ? 0 : 1);
      continue;
    }
    text.clear();
    AppendPostgresText(text, value);
    if (!any_text && text.contains('\0')) {
      out.resize(before);
      return Status::InvalidArgument("column \"" + batch.schema()->columns()[c] +
                                     "\" has a text with a null character, which PostgreSQL can't store");
    }
    AppendVarint(out, 2 * text.size() + (IsJson(value) ? 3 : 2));
    out += text;
  }
  return {};
}

void AppendPostgresSegmentEnd(std::string& out) { out += 'S'; }

Status ReadPostgresRows(std::string_view frames, const TakeSegmentRow& take) {
  PostgresFrameReader reader(take);
  WEIR_RETURN_IF_ERROR(reader.TakeFrom(frames));
  return frames.empty() ? Status::Ok() : Status::Corruption("rows in memory are cut off");
}

Status ReadPostgresSegment(FileSystem& fs, const std::string& path, const TakeSegmentRow& take) {
  PostgresFrameReader frames(take);
  return ReadSegmentFile(fs, path, frames);
}

}  // namespace weir::connectors
