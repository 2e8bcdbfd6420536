#include "connectors/format/bad_record.h"

#include <optional>
#include <string_view>

namespace weir::connectors {
namespace {

using operators::Value;

Value BytesOrNull(const std::optional<std::string_view>& bytes) {
  return bytes.has_value() ? Value::Text(operators::ValueType::kBytes, *bytes) : Value::Null();
}

}  // namespace

Status HandleBadRecord(BadRecordPolicy policy, const RawRecord& record, const Status& problem, const std::string& uid,
                       operators::SourceOutput& output, operators::SubtaskMetrics& metrics) {
  if (policy == BadRecordPolicy::kFail) {
    std::string where = "bad record in ";
    where += record.topic;
    where += ", partition " + std::to_string(record.partition);
    where += ", offset " + std::to_string(record.offset);
    return problem.WithContext(where);
  }
  operators::DeadLetter letter;
  letter.topic = record.topic;
  letter.partition = record.partition;
  letter.offset = record.offset;
  letter.key = BytesOrNull(record.key);
  letter.value = BytesOrNull(record.value);
  letter.error = problem.message();
  if (record.timestamp_ms >= 0) letter.time = {.wall_ns = record.timestamp_ms * 1'000'000, .logical = 0};
  operators::BadRecords records(uid, policy, &metrics);
  WEIR_RETURN_IF_ERROR(records.Add(letter));
  return records.EmitTo(output);
}

}  // namespace weir::connectors
