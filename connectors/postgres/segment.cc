#include "connectors/postgres/segment.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "base/bytes.h"
#include "base/json_escape.h"
#include "connectors/segment_output.h"
#include "operators/decimal.h"
#include "operators/temporal.h"

namespace weir::connectors {
namespace {

using operators::EventTime;
using operators::RowKind;
using operators::Value;
using operators::ValueType;

constexpr uint64_t kUpsert = 1;

constexpr uint64_t kNamedByRow = 2;
constexpr uint64_t kHasRules = 4;
constexpr uint64_t kKeepsDeleted = 8;
constexpr uint64_t kHasConflicts = 16;
constexpr uint64_t kSignBit = uint64_t{1} << 63U;

class PostgresFrameReader final : public SegmentFrames {
 public:
  explicit PostgresFrameReader(const TakeSegmentRow& take) : take_(take) {}

  Status TakeFrom(std::string_view& bytes) override {
    while (!bytes.empty() && !ended_) {
      std::string_view rest = bytes;
      const char frame = rest.front();
      rest.remove_prefix(1);
      WEIR_ASSIGN_OR_RETURN(const bool whole, TakeFrame(frame, rest));
      if (!whole) break;
      bytes = rest;
    }
    return {};
  }
  bool ended() const override { return ended_; }
  const std::optional<SegmentFrontier>& frontier() const { return frontier_; }

 private:
  // Target and columns of rows.
  struct Shape {
    PostgresTarget target;
    std::vector<std::string> columns;
  };

  // False: cut off.
  Result<bool> TakeFrame(char frame, std::string_view& bytes) {
    switch (frame) {
      case 'T': return ReadTarget(bytes);
      case 'C': return ReadColumns(bytes);
      case 'U': return ReadShape(bytes);
      case 'E': return ReadTime(bytes, time_);
      case 'O': return ReadName(bytes, origin_);
      case 'R': return ReadRow(bytes);
      case 'W': return ReadFrontier(bytes);
      case 'S': ended_ = true; return true;
      default: return Error(Status::Corruption("a frame of unknown kind"));
    }
  }
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
  static bool ReadTime(std::string_view& bytes, EventTime& time) {
    if (bytes.size() < 8) return false;
    const uint64_t wall = ReadBigEndian64(bytes) ^ kSignBit;
    bytes.remove_prefix(8);
    const std::optional<uint64_t> logical = ReadVarint(bytes);
    if (!logical.has_value()) return false;
    time = {static_cast<int64_t>(wall), static_cast<int32_t>(*logical)};
    return true;
  }
  static bool ReadPairs(std::string_view& bytes, PostgresTableRules::Pairs& pairs) {
    std::vector<std::string> names;
    if (!ReadNames(bytes, names)) return false;
    for (size_t i = 0; i + 1 < names.size(); i += 2) pairs.emplace_back(names[i], names[i + 1]);
    return true;
  }
  static bool ReadRules(std::string_view& bytes, PostgresTableRules& rules) {
    return ReadName(bytes, rules.extras_column) && ReadPairs(bytes, rules.renames) && ReadNames(bytes, rules.ignored) &&
           ReadPairs(bytes, rules.expressions) && ReadNames(bytes, rules.version_columns) &&
           ReadPairs(bytes, rules.deadlines);
  }
  static bool ReadConflicts(std::string_view& bytes, PostgresTableRules& rules) {
    const std::optional<uint64_t> on_conflict = ReadVarint(bytes);
    if (!on_conflict.has_value()) return false;
    const std::optional<uint64_t> unmerged = ReadVarint(bytes);
    if (!unmerged.has_value()) return false;
    if (std::max(*on_conflict, *unmerged) > static_cast<uint64_t>(PostgresOnConflict::kOverwrite)) return false;
    rules.on_conflict = static_cast<PostgresOnConflict>(*on_conflict);
    rules.unmerged = static_cast<PostgresOnConflict>(*unmerged);
    return ReadPairs(bytes, rules.merged);
  }
  bool ReadFrontier(std::string_view& bytes) {
    const std::optional<uint64_t> subtask = ReadVarint(bytes);
    SegmentFrontier frontier{.subtask = subtask.value_or(0)};
    if (!subtask.has_value() || !ReadTime(bytes, frontier.time)) return false;
    frontier_ = frontier;
    return true;
  }
  bool ReadTarget(std::string_view& bytes) {
    PostgresTarget target;
    if (!ReadName(bytes, target.table.schema) || !ReadName(bytes, target.table.table)) return false;
    const std::optional<uint64_t> flags = ReadVarint(bytes);
    if (!flags.has_value() || !ReadNames(bytes, target.key) || !ReadName(bytes, target.version_column)) return false;
    target.upsert = (*flags & kUpsert) != 0;
    target.named_by_row = (*flags & kNamedByRow) != 0;
    if (target.named_by_row && !ReadName(bytes, target.key_column)) return false;
    target.rules.keeps_deleted = (*flags & kKeepsDeleted) != 0;
    if ((*flags & kHasRules) != 0 && !ReadRules(bytes, target.rules)) return false;
    if ((*flags & kHasConflicts) != 0 && !ReadConflicts(bytes, target.rules)) return false;
    target_ = std::move(target);
    other_ = {target_, {}};
    shape_ = &other_;
    return true;
  }
  bool ReadColumns(std::string_view& bytes) {
    std::vector<std::string> columns;
    if (!ReadNames(bytes, columns)) return false;
    if (shapes_.size() < kSegmentShapesMax) {
      shape_ = &shapes_.emplace_back(target_, std::move(columns));
    } else {
      other_ = {target_, std::move(columns)};
      shape_ = &other_;
    }
    return true;
  }
  Result<bool> ReadShape(std::string_view& bytes) {
    const std::optional<uint64_t> n = ReadVarint(bytes);
    if (!n.has_value()) return false;
    if (*n >= shapes_.size()) return Error(Status::Corruption("columns that were not named before"));
    shape_ = &shapes_[*n];
    target_ = shape_->target;
    return true;
  }
  Result<bool> ReadRow(std::string_view& bytes) {
    const std::optional<uint64_t> kind = ReadVarint(bytes);
    if (!kind.has_value()) return false;
    if (*kind > static_cast<uint64_t>(RowKind::kDelete)) return Error(Status::Corruption("a row of unknown kind"));
    values_.clear();
    for (size_t i = 0; i < shape_->columns.size(); ++i) {
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
    const SegmentRow row = {shape_->target, shape_->columns, static_cast<RowKind>(*kind), values_, time_, origin_};
    WEIR_RETURN_IF_ERROR(take_(row));
    origin_.clear();
    return true;
  }

  const TakeSegmentRow& take_;
  PostgresTarget target_;
  std::deque<Shape> shapes_;      // of the first C frames; a shape stays where it is
  Shape other_;                   // of a later one
  const Shape* shape_ = &other_;  // of the next row
  EventTime time_;
  std::string origin_;  // of the next row
  std::optional<SegmentFrontier> frontier_;
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

void AppendTime(std::string& out, EventTime time) {
  AppendBigEndian64(out, static_cast<uint64_t>(time.wall_ns) ^ kSignBit);
  AppendVarint(out, static_cast<uint64_t>(time.logical));
}

void AppendNameList(std::string& out, const std::vector<std::string>& names) {
  AppendVarint(out, names.size());
  for (const std::string& name : names) AppendLengthPrefixed(out, name);
}

void AppendPairs(std::string& out, const PostgresTableRules::Pairs& pairs) {
  AppendVarint(out, 2 * pairs.size());
  for (const auto& [name, value] : pairs) {
    AppendLengthPrefixed(out, name);
    AppendLengthPrefixed(out, value);
  }
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
  const bool conflicts = target.rules.on_conflict != PostgresOnConflict::kDrop;
  AppendVarint(out, (target.upsert ? kUpsert : 0) | (target.named_by_row ? kNamedByRow : 0) |
                        (target.rules.empty() ? 0 : kHasRules) | (target.rules.keeps_deleted ? kKeepsDeleted : 0) |
                        (conflicts ? kHasConflicts : 0));
  AppendNameList(out, target.key);
  AppendLengthPrefixed(out, target.version_column);
  if (target.named_by_row) AppendLengthPrefixed(out, target.key_column);
  if (target.rules.empty()) return;
  AppendLengthPrefixed(out, target.rules.extras_column);
  AppendPairs(out, target.rules.renames);
  AppendNameList(out, target.rules.ignored);
  AppendPairs(out, target.rules.expressions);
  AppendNameList(out, target.rules.version_columns);
  AppendPairs(out, target.rules.deadlines);
  if (!conflicts) return;
  AppendVarint(out, static_cast<uint64_t>(target.rules.on_conflict));
  AppendVarint(out, static_cast<uint64_t>(target.rules.unmerged));
  AppendPairs(out, target.rules.merged);
}

void AppendSegmentColumns(std::string& out, const std::vector<std::string>& columns) {
  out += 'C';
  AppendNameList(out, columns);
}

void AppendSegmentShape(std::string& out, size_t n) {
  out += 'U';
  AppendVarint(out, n);
}

void AppendSegmentTime(std::string& out, EventTime time) {
  out += 'E';
  AppendTime(out, time);
}

void AppendSegmentFrontier(std::string& out, const SegmentFrontier& frontier) {
  out += 'W';
  AppendVarint(out, frontier.subtask);
  AppendTime(out, frontier.time);
}

Status AppendSegmentRow(std::string& out, const operators::Batch& batch, size_t row, std::span<const size_t> columns,
                        bool any_text) {
  const size_t before = out.size();
  out += 'R';
  AppendVarint(out, static_cast<uint64_t>(batch.kind(row)));
  std::string text;
  for (const size_t c : columns) {
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

void AppendSegmentOrigin(std::string& out, std::string_view json) {
  if (json.empty()) return;
  out += 'O';
  AppendLengthPrefixed(out, json);
}

void AppendSegmentOrigin(std::string& out, const operators::Batch& batch, size_t row, std::span<const size_t> columns) {
  std::string json;
  std::string text;
  for (const size_t c : columns) {
    const Value& value = batch.at(row, c);
    if (value.absent()) continue;
    json += json.empty() ? '{' : ',';
    AppendJsonString(json, batch.schema()->columns()[c]);
    json += ':';
    text.clear();
    if (value.missing()) {
      text = "null";
    } else {
      AppendPostgresText(text, value);
    }
    if (value.missing() || IsJson(value)) {
      json += text;
    } else {
      AppendJsonString(json, text);
    }
  }
  if (!json.empty()) AppendSegmentOrigin(out, json + '}');
}

void AppendWholeSegmentRow(std::string& out, const SegmentRow& row) {
  AppendSegmentTarget(out, row.target);
  AppendSegmentColumns(out, row.columns);
  AppendSegmentTime(out, row.time);
  AppendSegmentOrigin(out, row.origin);
  out += 'R';
  AppendVarint(out, static_cast<uint64_t>(row.kind));
  for (const SegmentValue& value : row.values) {
    if (!value.text.has_value()) {
      AppendVarint(out, value.absent ? 0 : 1);
      continue;
    }
    AppendVarint(out, 2 * value.text->size() + (value.json ? 3 : 2));
    out += *value.text;
  }
}

void AppendPostgresSegmentEnd(std::string& out) { out += 'S'; }

Status ReadPostgresRows(std::string_view frames, const TakeSegmentRow& take) {
  PostgresFrameReader reader(take);
  WEIR_RETURN_IF_ERROR(reader.TakeFrom(frames));
  return frames.empty() ? Status::Ok() : Status::Corruption("rows in memory are cut off");
}

Status ReadPostgresSegment(FileSystem& fs, const std::string& path, const TakeSegmentRow& take,
                           std::optional<SegmentFrontier>* frontier) {
  PostgresFrameReader frames(take);
  WEIR_RETURN_IF_ERROR(ReadSegmentFile(fs, path, frames));
  if (frontier != nullptr) *frontier = frames.frontier();
  return {};
}

}  // namespace weir::connectors
