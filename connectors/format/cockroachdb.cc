#include "connectors/format/cockroachdb.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "connectors/format/hlc.h"
#include "connectors/format/json_text.h"

namespace weir::connectors {
namespace {

using operators::Arena;
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

// CockroachDB's {"__crdb_json_null__": true}, with any white space.
bool IsJsonNullObject(const Value& value) {
  constexpr std::string_view kJsonNull = R"({"__crdb_json_null__":true})";
  if (value.type() != ValueType::kJson) return false;
  size_t matched = 0;
  for (const char c : value.text()) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    if (matched == kJsonNull.size() || c != kJsonNull[matched]) return false;
    ++matched;
  }
  return matched == kJsonNull.size();
}

std::string_view CopyPadded(std::string_view text, Arena& arena) {
  char* const copy = arena.Allocate(text.size() + RowCollector::kPaddingBytes);
  text.copy(copy, text.size());
  arena.Trim(copy, text.size());  // what comes next may lie in the padding, which is read only
  return {copy, text.size()};
}

}  // namespace

CockroachdbDeserializer::CockroachdbDeserializer(const operators::Options& options,
                                                 std::unique_ptr<SchemaSource> schemas)
    : options_(ParseCockroachdbOptions(options)),
      metadata_(options),
      avro_(schemas == nullptr ? nullptr : std::make_unique<AvroReader>(std::move(schemas))),
      reader_(avro_ == nullptr ? static_cast<ObjectReader&>(json_) : *avro_),
      wanted_columns_(options.Strings("columns")),
      topics_(options_.topic_prefix) {
  NameMembers();
}

void CockroachdbDeserializer::NameMembers() {
  constexpr std::array<std::string_view, kMembers> kNames = {
      "payload", "source", "op", "after", "before", "key", "resolved", "updated", "mvcc_timestamp", "topic"};
  for (size_t i = 0; i < kMembers; ++i) members_[i].name = kNames[i];
  if (options_.envelope == Envelope::kWrapped) {
    top_ = Members(kAfter, kTopic);
  } else if (options_.envelope == Envelope::kEnriched) {
    top_ = Members(kHolder, kResolved);
    members_[kHolder].inside = Members(kSource, kResolved);
    members_[kSource].inside = Members(kUpdated, kTopic);
    members_[kUpdated].name = "ts_hlc";
    members_[kTopic].name = "table_name";
  } else if (avro_ != nullptr) {
    top_ = Members(kAfter, kTopic);
    members_[kAfter].name = "record";
  } else {
    members_[kHolder].name = "__crdb__";
    members_[kHolder].inside = Members(kKey, kTopic);
    members_[kAfter].inside = Members(kHolder, kHolder);
  }
}

// Each topic has a shape of its own: its rows carry no columns of other topics' tables.
void CockroachdbDeserializer::UseShapeOf(std::string_view topic) {
  if (shape_ != nullptr && shaped_topic_ == topic) return;
  auto found = shapes_.find(topic);
  if (found == shapes_.end()) {
    found = shapes_.try_emplace(std::string(topic), metadata_.columns(), wanted_columns_).first;
  }
  shaped_topic_ = topic;
  shape_ = &found->second;
  members_[kAfter].shape = shape_;
  members_[kBefore].shape = shape_;
  if (options_.envelope == Envelope::kEnriched) members_[kKey].shape = shape_;
}

Status CockroachdbDeserializer::Deserialize(const RawRecord& record, RowCollector& collector) {
  UseShapeOf(record.topic);
  const bool no_value = !record.value.has_value();
  if (no_value || (record.value->empty() && options_.envelope == Envelope::kKeyOnly)) {
    return PutTombstone(record, collector);
  }
  if (record.value->empty()) return Status::InvalidArgument("the value is empty: neither a message nor a tombstone");
  WEIR_RETURN_IF_ERROR(ReadValue(collector.CopyPadded(*record.value), collector));
  if (!members_[kAfter].value.has_text() && !members_[kResolved].value.missing()) return PutResolved(collector);
  if (options_.envelope == Envelope::kKeyOnly) {
    return Status::InvalidArgument("a message with a value that is not resolved: not of envelope key_only");
  }
  WEIR_ASSIGN_OR_RETURN(const RowTime time, TimeOf(record));
  WEIR_RETURN_IF_ERROR(CheckOp());
  const ObjectMember& after = members_[kAfter];
  const ObjectMember& before = members_[kBefore];
  for (const ObjectMember* const member : {&after, &before}) {
    if (member->is_row || member->value.missing()) continue;
    return Status::InvalidArgument("member " + std::string(member->name) + " is neither an object nor null");
  }
  if (IsDeletion()) return PutKey(RowKind::kDelete, record, time, collector);
  if (after.is_row) return PutUpsert(record, time, collector);
  return Status::InvalidArgument("not a changefeed message of this envelope: neither " + std::string(after.name) +
                                 " nor resolved is there");
}

Status CockroachdbDeserializer::ReadValue(std::string_view text, RowCollector& collector) {
  if (!RowIsTheObject()) return reader_.ReadMembers(text, collector.arena(), top_);
  ResetMembers(Members(kBefore, kBefore));
  WEIR_RETURN_IF_ERROR(reader_.ReadRow(text, collector.arena(), members_[kAfter]));
  const bool metadata_alone = !members_[kHolder].value.absent() && !members_[kAfter].any_column;
  if (metadata_alone) members_[kAfter].is_row = false;
  members_[kAfter].value = metadata_alone ? Value::Null() : Value::Text(ValueType::kJson, text);
  return Status::Ok();
}

// Without diff the operation does not tell an insert from an update; that a row is there or not, it must agree with.
Status CockroachdbDeserializer::CheckOp() const {
  const Value& op = members_[kOp].value;
  if (options_.envelope != Envelope::kEnriched || op.missing()) return Status::Ok();
  const std::string_view text = op.type() == ValueType::kString ? op.text() : std::string_view();
  if (text != "c" && text != "u" && text != "d") return Status::InvalidArgument("member op is none of c, u and d");
  if ((text == "d") != members_[kAfter].is_row) return Status::Ok();
  return Status::InvalidArgument("member op is \"" + std::string(text) + "\", which does not agree with member after");
}

// Where `after` is not there at all, something else must tell that this is a message.
bool CockroachdbDeserializer::IsDeletion() const {
  const Value& after = members_[kAfter].value;
  if (!after.absent()) return after.null();
  return members_[kBefore].is_row || !members_[kUpdated].value.missing() || !members_[kMvccTimestamp].value.missing() ||
         !members_[kOp].value.missing();
}

Status CockroachdbDeserializer::PutResolved(RowCollector& collector) {
  const std::optional<EventTime> time = HlcOf(members_[kResolved].value);
  if (!time.has_value()) return BadTime("resolved", members_[kResolved].value);
  // What is resolved is all below it. Zero says nothing, and has no time before it that could be written down.
  if (*time != EventTime{0, 0}) collector.PutWatermark(time->Previous());
  return Status::Ok();
}

Status CockroachdbDeserializer::PutTombstone(const RawRecord& record, RowCollector& collector) {
  const bool key_only = options_.envelope == Envelope::kKeyOnly;
  if (!key_only && !options_.tombstones_delete) return Status::Ok();
  ResetMembers(members_);
  WEIR_ASSIGN_OR_RETURN(const RowTime time, TimeOf(record));
  return PutKey(key_only ? RowKind::kUpdateAfter : RowKind::kDelete, record, time, collector);
}

Status CockroachdbDeserializer::PutUpsert(const RawRecord& record, RowTime time, RowCollector& collector) {
  ObjectMember& after = members_[kAfter];
  ObjectMember& before = members_[kBefore];
  if (before.is_row) {
    ObjectMember* const rows[] = {&before, &after};
    constexpr RowKind kKinds[] = {RowKind::kUpdateBefore, RowKind::kUpdateAfter};
    return Put(rows, kKinds, record, time, collector);
  }
  ObjectMember* const rows[] = {&after};
  const RowKind kinds[] = {before.value.absent() ? RowKind::kUpdateAfter : RowKind::kInsert};
  return Put(rows, kinds, record, time, collector);
}

Status CockroachdbDeserializer::PutKey(RowKind kind, const RawRecord& record, RowTime time, RowCollector& collector) {
  ObjectMember& before = members_[kBefore];
  if (!before.is_row) WEIR_RETURN_IF_ERROR(ReadKey(record, collector));
  ObjectMember* const rows[] = {&before};
  return Put(rows, {&kind, 1}, record, time, collector);
}

Status CockroachdbDeserializer::Put(std::span<ObjectMember* const> rows, std::span<const RowKind> kinds,
                                    const RawRecord& record, RowTime time, RowCollector& collector) {
  std::array<CollectedRow, RowCollector::kRowsOfRecordMax> collected;
  WEIR_ASSIGN_OR_RETURN(const MessageMetadata metadata, MetadataOf(record, collector.arena()));
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<Value>& row = rows[i]->row;
    if (options_.json_null_object) {
      std::ranges::replace_if(row, IsJsonNullObject, Value::Text(ValueType::kJson, "null"));
    }
    metadata_.Fill(record, metadata, collector.arena(), row);
    collected[i] = {kinds[i], row};
  }
  collector.PutRows(shape_->schema(), time.time, {collected.data(), rows.size()}, time.clock);
  return Status::Ok();
}

Result<CockroachdbDeserializer::RowTime> CockroachdbDeserializer::TimeOf(const RawRecord& record) const {
  constexpr int64_t kNsPerMs = 1'000'000;
  for (const Index clock : {kUpdated, kMvccTimestamp}) {
    const ObjectMember& member = members_[clock];
    if (member.value.missing()) continue;
    const std::optional<EventTime> time = HlcOf(member.value);
    if (!time.has_value()) return Error(BadTime(member.name, member.value));
    return RowTime{*time, RowClock::kChangefeed};
  }
  if (record.timestamp_ms < 0) return RowTime{};
  return RowTime{{.wall_ns = record.timestamp_ms * kNsPerMs, .logical = 0}, RowClock::kRecord};
}

std::string_view CockroachdbDeserializer::TableOf(const RawRecord& record) {
  const Value& topic = members_[kTopic].value;
  if (topic.type() != ValueType::kString) return topics_.TableOf(record.topic);
  // In a message the name has neither prefix nor escapes; source.table_name is the table's alone.
  return options_.envelope == Envelope::kEnriched ? topic.text() : LastPart(topic.text());
}

Result<MessageMetadata> CockroachdbDeserializer::MetadataOf(const RawRecord& record, Arena& arena) {
  MessageMetadata metadata{.key = {}, .updated = members_[kUpdated].value, .table = {}};
  if (metadata_.wants(RecordMetadata::Field::kTable)) {
    const std::string_view table = TableOf(record);
    if (table.empty()) return Error(Status::InvalidArgument("empty table name"));
    metadata.table = Value::Text(ValueType::kString, arena.Copy(table));
  }
  if (metadata_.wants(RecordMetadata::Field::kKey)) {
    const Result<Value> key = KeyText(record, arena);
    if (!key.has_value()) return Error(key.error().WithContext("record key"));
    metadata.key = *key;
  }
  return metadata;
}

// JSON as it stands; of Avro, whose bytes change with the schema's id, what it says as JSON.
Result<Value> CockroachdbDeserializer::KeyText(const RawRecord& record, Arena& arena) {
  if (!record.key.has_value() || record.key->empty()) return members_[kKey].value;
  const std::string_view key = CopyPadded(*record.key, arena);
  if (avro_ != nullptr) {
    scratch_.clear();
    WEIR_RETURN_IF_ERROR(avro_->AppendJson(key, arena, scratch_));
    return Value::Text(ValueType::kJson, arena.Copy(scratch_));
  }
  if (const std::optional<JsonProblem> problem = FindJsonProblem(key); problem.has_value()) {
    return Error(
        Status::InvalidArgument("broken JSON at byte " + std::to_string(problem->offset) + ": " + problem->what));
  }
  WEIR_ASSIGN_OR_RETURN(const std::string_view text, WithoutSchema(key, arena));
  return Value::Text(ValueType::kJson, text);
}

Status CockroachdbDeserializer::ReadKey(const RawRecord& record, RowCollector& collector) {
  ObjectMember& in_value = members_[kKey];
  if (record.key.has_value() && !record.key->empty()) {
    const std::string_view key = CopyPadded(*record.key, collector.arena());
    return ReadRecordKey(key, record, collector.arena()).WithContext("record key");
  }
  if (in_value.is_row) {
    std::swap(members_[kBefore].row, in_value.row);
    return Status::Ok();
  }
  if (in_value.value.has_text()) {
    return ReadKeyArray(in_value.value.text(), record, collector.arena()).WithContext("member key");
  }
  return Status::InvalidArgument("a row of the key alone, and there is none, neither the record's nor in the value");
}

Status CockroachdbDeserializer::ReadRecordKey(std::string_view key, const RawRecord& record, Arena& arena) {
  if (avro_ == nullptr && key.front() != '{') return ReadKeyArray(key, record, arena);
  WEIR_ASSIGN_OR_RETURN(const std::string_view object, WithoutSchema(key, arena));
  return reader_.ReadRow(object, arena, members_[kBefore]);
}

// With enriched_properties=schema the key is {"payload": {"id": 42}, "schema": {...}}: the schema may change, the row's
// identity does not.
Result<std::string_view> CockroachdbDeserializer::WithoutSchema(std::string_view key, Arena& arena) {
  if (avro_ != nullptr || options_.envelope != Envelope::kEnriched || !key.starts_with('{')) return key;
  std::array<ObjectMember, 2> members = {ObjectMember{.name = "payload"}, ObjectMember{.name = "schema"}};
  WEIR_RETURN_IF_ERROR(json_.ReadMembers(key, arena, members));
  const bool both = members[0].value.type() == ValueType::kJson && !members[1].value.absent();
  return both ? members[0].value.text() : key;
}

Status CockroachdbDeserializer::ReadKeyArray(std::string_view key, const RawRecord& record, Arena& arena) {
  const std::string table(TableOf(record));
  const auto of_table = options_.tables.find(table);
  const std::vector<std::string>& names = of_table == options_.tables.end() ? options_.key_columns : of_table->second;
  WEIR_RETURN_IF_ERROR(json_.ReadArray(key, arena, key_));
  if (names.empty() && metadata_.wants(RecordMetadata::Field::kKey)) {
    members_[kBefore].row.assign(shape_->size(), Value());  // the metadata says which row it is
    return Status::Ok();
  }
  if (names.empty()) {
    return Status::InvalidArgument("table " + table +
                                   ": a row of the key alone: name the primary key's columns in key-columns or tables, "
                                   "take the key itself as metadata, or create the changefeed WITH diff");
  }
  if (key_.size() != names.size()) {
    return Status::InvalidArgument(std::to_string(key_.size()) + " values, and table " + table + " has " +
                                   std::to_string(names.size()) + " key columns");
  }
  std::vector<Value>& row = members_[kBefore].row;
  if (shape_->size() + key_.size() > RowShape::kColumnsMax) shape_->Reset();
  row.assign(shape_->size() + key_.size(), Value());
  for (size_t i = 0; i < key_.size(); ++i) {
    const int32_t column = shape_->ColumnOf(kNoPosition, names[i]);
    if (column >= 0) row[static_cast<size_t>(column)] = key_[i];
  }
  row.resize(shape_->size());
  return Status::Ok();
}

}  // namespace weir::connectors
