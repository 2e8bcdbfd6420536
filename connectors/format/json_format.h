// Formats "json" - a record's value is one JSON object, each member a column, kind +I - and "raw" - the whole value is
// one column `value` of bytes. A null value gives no row. The event time is the record's timestamp. One object a
// reader, on its task's thread.
#pragma once

#include "connectors/format/format.h"
#include "connectors/format/json_reader.h"
#include "connectors/format/record_metadata.h"
#include "connectors/format/row_shape.h"

namespace weir::connectors {

class JsonDeserializer final : public Deserializer {
 public:
  explicit JsonDeserializer(const operators::Options& options);
  Status Deserialize(const RawRecord& record, RowCollector& collector) override;
  bool reads_headers() const override { return metadata_.wants(RecordMetadata::Field::kHeader); }

 private:
  RecordMetadata metadata_;
  JsonReader reader_;
  RowShape shape_;
  ObjectMember row_;
};

class RawDeserializer final : public Deserializer {
 public:
  explicit RawDeserializer(const operators::Options& options);
  Status Deserialize(const RawRecord& record, RowCollector& collector) override;
  bool reads_headers() const override { return metadata_.wants(RecordMetadata::Field::kHeader); }

 private:
  RecordMetadata metadata_;
  operators::SchemaPtr schema_;
  std::vector<operators::Value> row_;
};

}  // namespace weir::connectors
