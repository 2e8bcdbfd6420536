// Formats between an outside system's bytes and rows. A Deserializer reads one record into a RowCollector, a Serializer
// writes one row; both are made by name from a source's or sink's options (FormatOptions). One object a reader or
// writer, on its task's thread; they keep nothing that a checkpoint would have to hold.
//
// "json": a record's value is one JSON object, each member a column. "raw": the whole value is one column of bytes.
// "cockroachdb": a changefeed's messages (format/cockroachdb.h), read only. "debezium-json": rows with their kind
// (format/debezium_json.h), written only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/format/row_collector.h"
#include "operators/options.h"

namespace weir::connectors {

// A header of a Kafka record. No value: null.
struct RecordHeader {
  std::string_view name;
  std::optional<std::string_view> value;
};

// A record as the outside system gave it: views that live during the call.
struct RawRecord {
  std::string_view topic;  // a file source: the file's path
  int32_t partition = 0;
  int64_t offset = 0;         // a file source: the line number, from 1
  int64_t timestamp_ms = -1;  // since 1970-01-01T00:00:00Z; -1: none
  std::optional<std::string_view> key = {};
  std::optional<std::string_view> value = {};  // nothing: a tombstone. Not the same as an empty value.
  std::span<const RecordHeader> headers = {};  // only where Deserializer::reads_headers
};

class Deserializer {
 public:
  virtual ~Deserializer() = default;
  // Puts the record's rows or watermark into `collector`, or nothing (a tombstone). InvalidArgument: the record is bad
  // - the message says what and at which byte - and no row of it was put; the source's policy decides. Any other error
  // ends the task.
  virtual Status Deserialize(const RawRecord& record, RowCollector& collector) = 0;
  // Whether it looks at a record's headers, which cost the source something.
  virtual bool reads_headers() const { return false; }
};

class Serializer {
 public:
  virtual ~Serializer() = default;
  // Appends row `row` of `batch`, without a line end. An error (a row kind that the format can't express, a value
  // without a text form) leaves `out` as it was.
  virtual Status Append(const operators::Batch& batch, size_t row, std::string& out) = 0;
};

// The options that a source type adds to its own: format, columns, metadata and those of a changefeed.
std::vector<operators::OptionSpec> DeserializerOptions();
void CheckDeserializerOptions(const operators::Options& options, operators::Problems& problems);
Result<std::unique_ptr<Deserializer>> NewDeserializer(const operators::Options& options);

// The options that a sink type adds to its own: format, row-kind-column, value-column.
std::vector<operators::OptionSpec> SerializerOptions();
void CheckSerializerOptions(const operators::Options& options, operators::Problems& problems);
Result<std::unique_ptr<Serializer>> NewSerializer(const operators::Options& options);
// Whether what is written tells each row's kind, so that no row is to be left out.
bool WritesRowKinds(const operators::Options& options);
// The error for an option that names a column which rows lack: names both, and the columns that there are.
Status NoSuchColumn(std::string_view option, std::string_view column, const operators::Schema& schema);

}  // namespace weir::connectors
