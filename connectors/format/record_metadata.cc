#include "connectors/format/record_metadata.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "connectors/format/json_text.h"

namespace weir::connectors {
namespace {

using operators::Value;
using operators::ValueType;
using Field = RecordMetadata::Field;

struct FieldName {
  std::string_view name;
  Field field;
  bool changefeed = false;  // no other format has it
};

constexpr std::string_view kOption = "metadata";
constexpr std::string_view kHeaderPrefix = "header:";
constexpr std::array<FieldName, 7> kFields = {{{"topic", Field::kTopic},
                                               {"partition", Field::kPartition},
                                               {"offset", Field::kOffset},
                                               {"timestamp", Field::kTimestamp},
                                               {"key", Field::kKey},
                                               {"updated", Field::kUpdated, true},
                                               {"table", Field::kTable, true}}};

std::optional<FieldName> FieldOf(std::string_view name) {
  if (name.starts_with(kHeaderPrefix) && name.size() > kHeaderPrefix.size()) return FieldName{name, Field::kHeader};
  for (const FieldName& entry : kFields) {
    if (entry.name == name) return entry;
  }
  return std::nullopt;
}

// Of headers of one name the last one holds.
Value HeaderOf(const RawRecord& record, std::string_view name, operators::Arena& arena) {
  for (size_t i = record.headers.size(); i > 0; --i) {
    const RecordHeader& header = record.headers[i - 1];
    if (header.name != name) continue;
    if (!header.value.has_value()) return Value::Null();
    return Value::Text(TextOrBytes(*header.value), arena.Copy(*header.value));
  }
  return Value::Null();
}

}  // namespace

ValueType TextOrBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = Utf8SequenceLength(bytes);
    if (length == 0) return ValueType::kBytes;
    bytes.remove_prefix(length);
  }
  return ValueType::kString;
}

RecordMetadata::RecordMetadata(const operators::Options& options) {
  for (auto& [name, column] : options.StringMap(kOption)) {
    const std::optional<FieldName> field = FieldOf(name);
    WEIR_CHECK(field.has_value());
    Entry& entry = entries_.emplace_back(Entry{.field = field->field, .column = column});
    if (field->field == Field::kHeader) entry.header = name.substr(kHeaderPrefix.size());
    wanted_ |= 1U << static_cast<unsigned>(field->field);
  }
}

std::vector<std::string> RecordMetadata::columns() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.column);
  return names;
}

void RecordMetadata::Fill(const RawRecord& record, const MessageMetadata& message, operators::Arena& arena,
                          std::vector<Value>& row) const {
  constexpr int64_t kMicrosPerMs = 1000;
  const auto null_if_absent = [](const Value& value) { return value.absent() ? Value::Null() : value; };
  for (size_t i = 0; i < entries_.size(); ++i) {
    Value& value = row[i];
    switch (entries_[i].field) {
      case Field::kTopic: value = Value::Text(ValueType::kString, arena.Copy(record.topic)); break;
      case Field::kPartition: value = Value::Int64(record.partition); break;
      case Field::kOffset: value = Value::Int64(record.offset); break;
      case Field::kTimestamp:
        value = record.timestamp_ms < 0 ? Value::Null()
                                        : Value::Temporal(ValueType::kTimestampTz, record.timestamp_ms * kMicrosPerMs);
        break;
      case Field::kKey: value = null_if_absent(message.key); break;
      case Field::kUpdated: value = null_if_absent(message.updated); break;
      case Field::kTable: value = null_if_absent(message.table); break;
      case Field::kHeader: value = HeaderOf(record, entries_[i].header, arena); break;
    }
  }
}

operators::OptionSpec MetadataOption() {
  return {.name = std::string(kOption),
          .type = operators::OptionType::kStringMap,
          .default_text = "{}",
          .doc =
              "What a record carries beside its value, as columns: topic, partition, offset, timestamp, key, "
              "header:<name>, and for cockroachdb updated and table (its name without database and schema), each with "
              "the column's name."};
}

void CheckMetadata(const operators::Options& options, bool changefeed, operators::Problems& problems) {
  std::vector<std::string> columns;
  for (const auto& [name, column] : options.StringMap(kOption)) {
    const std::string path = options.PathOf(kOption) + "/" + name;
    const std::optional<FieldName> field = FieldOf(name);
    if (!field.has_value() || (field->changefeed && !changefeed)) {
      const std::string expected = changefeed
                                       ? "topic, partition, offset, timestamp, key, updated, table or header:<name>"
                                       : "topic, partition, offset, timestamp, key or header:<name>";
      problems.push_back({path, name, expected, "the format has no metadata \"" + name + "\"; expected " + expected});
    }
    if (column.empty() || std::find(columns.begin(), columns.end(), column) != columns.end()) {
      problems.push_back({path, column, "a column name of its own",
                          "metadata " + name + " needs a column name of its own, found \"" + column + "\""});
    }
    columns.push_back(column);
  }
}

}  // namespace weir::connectors
