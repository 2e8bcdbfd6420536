#include "connectors/format/record_metadata.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace weir::connectors {
namespace {

using operators::Value;
using operators::ValueType;
using Field = RecordMetadata::Field;

struct FieldName {
  std::string_view name;
  Field field;
};

constexpr std::string_view kOption = "metadata";
constexpr std::array<FieldName, 6> kFields = {{{"topic", Field::kTopic},
                                               {"partition", Field::kPartition},
                                               {"offset", Field::kOffset},
                                               {"timestamp", Field::kTimestamp},
                                               {"key", Field::kKey},
                                               {"updated", Field::kUpdated}}};

std::optional<Field> FieldOf(std::string_view name) {
  for (const FieldName& entry : kFields) {
    if (entry.name == name) return entry.field;
  }
  return std::nullopt;
}

}  // namespace

RecordMetadata::RecordMetadata(const operators::Options& options) {
  for (auto& [name, column] : options.StringMap(kOption)) {
    const std::optional<Field> field = FieldOf(name);
    WEIR_CHECK(field.has_value());
    fields_.emplace_back(*field, column);
  }
}

std::vector<std::string> RecordMetadata::columns() const {
  std::vector<std::string> names;
  for (const auto& [field, column] : fields_) names.push_back(column);
  return names;
}

void RecordMetadata::Fill(const RawRecord& record, Value updated, ValueType key_type, operators::Arena& arena,
                          std::vector<Value>& row) const {
  constexpr int64_t kMicrosPerMs = 1000;
  for (size_t i = 0; i < fields_.size(); ++i) {
    Value& value = row[i];
    switch (fields_[i].first) {
      case Field::kTopic: value = Value::Text(ValueType::kString, arena.Copy(record.topic)); break;
      case Field::kPartition: value = Value::Int64(record.partition); break;
      case Field::kOffset: value = Value::Int64(record.offset); break;
      case Field::kTimestamp:
        value = record.timestamp_ms < 0 ? Value::Null()
                                        : Value::Temporal(ValueType::kTimestampTz, record.timestamp_ms * kMicrosPerMs);
        break;
      case Field::kKey:
        value = record.key.has_value() ? Value::Text(key_type, arena.Copy(*record.key)) : Value::Null();
        break;
      case Field::kUpdated: value = updated.absent() ? Value::Null() : updated; break;
    }
  }
}

operators::OptionSpec MetadataOption() {
  return {.name = std::string(kOption),
          .type = operators::OptionType::kStringMap,
          .default_text = "{}",
          .doc =
              "What a record carries beside its value, as columns: topic, partition, offset, timestamp, key, and for "
              "cockroachdb updated, each with the column's name."};
}

void CheckMetadata(const operators::Options& options, bool changefeed, operators::Problems& problems) {
  std::vector<std::string> columns;
  for (const auto& [name, column] : options.StringMap(kOption)) {
    const std::string path = options.PathOf(kOption) + "/" + name;
    const std::optional<Field> field = FieldOf(name);
    if (!field.has_value() || (*field == Field::kUpdated && !changefeed)) {
      std::string expected = "topic, partition, offset, timestamp or key";
      if (changefeed) expected = "topic, partition, offset, timestamp, key or updated";
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
