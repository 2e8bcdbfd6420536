#include "connectors/format/json_format.h"

#include <memory>
#include <utility>

namespace weir::connectors {
namespace {

using operators::EventTime;
using operators::RowKind;
using operators::Value;
using operators::ValueType;

EventTime TimeOfRecord(const RawRecord& record) {
  constexpr int64_t kNsPerMs = 1'000'000;
  if (record.timestamp_ms < 0) return EventTime::Min();
  return {.wall_ns = record.timestamp_ms * kNsPerMs, .logical = 0};
}

MessageMetadata MetadataOf(const RawRecord& record, const RecordMetadata& metadata, operators::Arena& arena) {
  if (!record.key.has_value() || !metadata.wants(RecordMetadata::Field::kKey)) return {};
  return {.key = Value::Text(TextOrBytes(*record.key), arena.Copy(*record.key)), .updated = {}, .table = {}};
}

operators::SchemaPtr RawSchema(std::vector<std::string> columns) {
  columns.emplace_back("value");
  return std::make_shared<const operators::Schema>(std::move(columns));
}

}  // namespace

JsonDeserializer::JsonDeserializer(const operators::Options& options)
    : metadata_(options), shape_(metadata_.columns(), options.Strings("columns")), row_{.shape = &shape_} {}

Status JsonDeserializer::Deserialize(const RawRecord& record, RowCollector& collector) {
  if (!record.value.has_value()) return Status::Ok();
  if (record.value->empty())
    return Status::InvalidArgument("the value is empty: neither a JSON object nor a tombstone");
  const std::string_view text = collector.CopyPadded(*record.value);
  WEIR_RETURN_IF_ERROR(reader_.ReadRow(text, collector.arena(), row_));
  metadata_.Fill(record, MetadataOf(record, metadata_, collector.arena()), collector.arena(), row_.row);
  const CollectedRow row = {RowKind::kInsert, row_.row};
  collector.PutRows(shape_.schema(), TimeOfRecord(record), {&row, 1});
  return Status::Ok();
}

RawDeserializer::RawDeserializer(const operators::Options& options)
    : metadata_(options), schema_(RawSchema(metadata_.columns())), row_(schema_->size()) {}

Status RawDeserializer::Deserialize(const RawRecord& record, RowCollector& collector) {
  if (!record.value.has_value()) return Status::Ok();
  row_.back() = Value::Text(ValueType::kBytes, collector.CopyPadded(*record.value));
  metadata_.Fill(record, MetadataOf(record, metadata_, collector.arena()), collector.arena(), row_);
  const CollectedRow row = {RowKind::kInsert, row_};
  collector.PutRows(schema_, TimeOfRecord(record), {&row, 1});
  return Status::Ok();
}

}  // namespace weir::connectors
