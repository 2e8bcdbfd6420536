#include "connectors/format/cockroachdb.h"

#include <cstdint>
#include <utility>

#include "connectors/format/hlc.h"

namespace weir::connectors {
namespace {

using operators::EventTime;
using operators::RowKind;
using operators::Value;
using operators::ValueType;

// Far behind any member of an object: a look-up that predicts nothing.
constexpr size_t kNoPosition = SIZE_MAX;

std::optional<EventTime> HlcOf(const Value& value) {
  return value.type() == ValueType::kString ? ParseHlc(value.text()) : std::nullopt;
}

Status BadTime(std::string_view member, const Value& value) {
  std::string message = "member ";
  message += member;
  message += " is not a timestamp such as \"1700000000123456789.0000000002\"";
  if (value.has_text()) {
    message += ": ";
    message += value.text().substr(0, 60);
  }
  return Status::InvalidArgument(std::move(message));
}

}  // namespace

CockroachdbDeserializer::CockroachdbDeserializer(const operators::Options& options)
    : key_columns_(options.Strings("key-columns")),
      metadata_(options),
      shape_(metadata_.columns(), options.Strings("columns")),
      members_{JsonMember{.name = "after", .shape = &shape_}, JsonMember{.name = "before", .shape = &shape_},
               JsonMember{.name = "updated"}, JsonMember{.name = "mvcc_timestamp"}, JsonMember{.name = "resolved"}} {}

Status CockroachdbDeserializer::Deserialize(const RawRecord& record, RowCollector& collector) {
  if (!record.value.has_value()) return Status::Ok();
  if (record.value->empty()) return Status::InvalidArgument("the value is empty: neither a message nor a tombstone");
  const std::string_view text = collector.CopyPadded(*record.value);
  WEIR_RETURN_IF_ERROR(reader_.ReadMembers(text, collector.arena(), members_));
  JsonMember& after = members_[kAfter];
  JsonMember& before = members_[kBefore];
  if (after.value.absent() && !members_[kResolved].value.absent()) return PutResolved(collector);
  WEIR_ASSIGN_OR_RETURN(const RowTime time, TimeOf(record));
  if (before.value.has_text() && !before.is_row)
    return Status::InvalidArgument("member before is neither an object nor null");
  if (after.is_row) {
    if (before.is_row) {
      JsonMember* const rows[] = {&before, &after};
      constexpr RowKind kKinds[] = {RowKind::kUpdateBefore, RowKind::kUpdateAfter};
      Put(rows, kKinds, record, time, collector);
      return Status::Ok();
    }
    JsonMember* const rows[] = {&after};
    const RowKind kinds[] = {before.value.absent() ? RowKind::kUpdateAfter : RowKind::kInsert};
    Put(rows, kinds, record, time, collector);
    return Status::Ok();
  }
  if (after.value.null()) return PutDeletion(record, time, collector);
  return Status::InvalidArgument(
      after.value.absent() ? "not a changefeed message of the wrapped envelope: neither after nor resolved is there"
                           : "member after is neither an object nor null");
}

Status CockroachdbDeserializer::PutResolved(RowCollector& collector) {
  const std::optional<EventTime> time = HlcOf(members_[kResolved].value);
  if (!time.has_value()) return BadTime("resolved", members_[kResolved].value);
  // What is resolved is all below it. Zero says nothing, and has no time before it that could be written down.
  if (*time != EventTime{0, 0}) collector.PutWatermark(time->Previous());
  return Status::Ok();
}

Result<CockroachdbDeserializer::RowTime> CockroachdbDeserializer::TimeOf(const RawRecord& record) const {
  constexpr int64_t kNsPerMs = 1'000'000;
  for (const size_t clock : {kUpdated, kMvccTimestamp}) {
    const JsonMember& member = members_[clock];
    if (member.value.missing()) continue;
    const std::optional<EventTime> time = HlcOf(member.value);
    if (!time.has_value()) return Error(BadTime(member.name, member.value));
    return RowTime{*time, RowClock::kChangefeed};
  }
  if (record.timestamp_ms < 0) return RowTime{};
  return RowTime{{.wall_ns = record.timestamp_ms * kNsPerMs, .logical = 0}, RowClock::kRecord};
}

Status CockroachdbDeserializer::PutDeletion(const RawRecord& record, RowTime time, RowCollector& collector) {
  if (!members_[kBefore].is_row) WEIR_RETURN_IF_ERROR(ReadKey(record, collector));
  JsonMember* const rows[] = {&members_[kBefore]};
  constexpr RowKind kKinds[] = {RowKind::kDelete};
  Put(rows, kKinds, record, time, collector);
  return Status::Ok();
}

Status CockroachdbDeserializer::ReadKey(const RawRecord& record, RowCollector& collector) {
  if (key_columns_.empty()) {
    return Status::InvalidArgument(
        "a deletion without the row before it: name the primary key's columns in key-columns, or create the changefeed "
        "WITH diff");
  }
  if (!record.key.has_value() || record.key->empty()) return Status::InvalidArgument("a deletion without a record key");
  operators::Arena& arena = collector.arena();
  char* copy = arena.Allocate(record.key->size() + RowCollector::kPaddingBytes);
  record.key->copy(copy, record.key->size());
  const Status read = reader_.ReadArray({copy, record.key->size()}, arena, key_);
  if (!read.ok()) return read.WithContext("record key");
  if (key_.size() != key_columns_.size()) {
    return Status::InvalidArgument("the record key has " + std::to_string(key_.size()) + " values, key-columns has " +
                                   std::to_string(key_columns_.size()) + " names");
  }
  std::vector<Value>& row = members_[kBefore].row;
  if (shape_.size() + key_.size() > RowShape::kColumnsMax) shape_.Reset();
  row.assign(shape_.size() + key_.size(), Value());
  for (size_t i = 0; i < key_.size(); ++i) {
    const int32_t column = shape_.ColumnOf(kNoPosition, key_columns_[i]);
    if (column >= 0) row[static_cast<size_t>(column)] = key_[i];
  }
  row.resize(shape_.size());
  return Status::Ok();
}

void CockroachdbDeserializer::Put(std::span<JsonMember* const> rows, std::span<const RowKind> kinds,
                                  const RawRecord& record, RowTime time, RowCollector& collector) {
  std::array<CollectedRow, RowCollector::kRowsOfRecordMax> collected;
  for (size_t i = 0; i < rows.size(); ++i) {
    metadata_.Fill(record, members_[kUpdated].value, ValueType::kJson, collector.arena(), rows[i]->row);
    collected[i] = {kinds[i], rows[i]->row};
  }
  collector.PutRows(shape_.schema(), time.time, {collected.data(), rows.size()}, time.clock);
}

}  // namespace weir::connectors
