// Writes rows as JSON objects, one line each: exact digits, members in column order, absent ones left out, SQL NULL as
// null. One writer a sink, on its task's thread.
//
//   int64, decimal   their digits as they are (NaN and infinities in quotes)
//   double           the shortest text that reads back the same
//   string, bytes    escaped, base64; in quotes
//   json             as it is, on one line
//   date, time       "2024-02-29", "13:00:01.250000"
//   timestamp        "2024-02-29T13:00:01", with zone "2024-02-29T13:00:01Z"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/format/format.h"
#include "operators/batch.h"
#include "operators/value.h"

namespace weir::connectors {

// Absent is written as null.
void AppendJsonValue(const operators::Value& value, std::string& out);
// The value's text alone: strings, bytes and json as they are, anything else as JSON has it without quotes.
void AppendPlainValue(const operators::Value& value, std::string& out);

class JsonWriter final : public Serializer {
 public:
  // `row_kind_column`: the member that tells +I, -U, +U, -D. Without one an update's -U is left out, as its +U follows,
  // and a deletion is an error: a plain object can't say it. A row with a column of that name is an error.
  explicit JsonWriter(std::string row_kind_column);

  Status Append(const operators::Batch& batch, size_t row, std::string& out) override;
  // The row as an object, whatever its kind, which is not written.
  void AppendObject(const operators::Batch& batch, size_t row, std::string& out);

 private:
  void UseSchema(const operators::SchemaPtr& schema);
  // `kind`: what the row-kind column says, if there is one.
  void Write(const operators::Value* values, std::string_view kind, std::string& out);

  const std::string row_kind_column_;
  operators::SchemaPtr schema_;     // of the names below
  std::vector<std::string> names_;  // ,"name": for each column
  size_t names_bytes_ = 0;
  std::string row_kind_name_;
  std::optional<size_t> row_kind_clash_;  // the schema's column of that name
};

}  // namespace weir::connectors
