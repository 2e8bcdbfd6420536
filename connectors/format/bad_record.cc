#include "connectors/format/bad_record.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::Value;
using operators::ValueType;

Batch DeadLetter(const RawRecord& record, const Status& problem, const std::string& uid) {
  const auto schema = std::make_shared<const operators::Schema>(
      std::vector<std::string>{"topic", "partition", "offset", "key", "value", "error", "uid"});
  Batch batch(schema, 1);
  operators::EventTime time = operators::EventTime::Min();
  if (record.timestamp_ms >= 0) time = {.wall_ns = record.timestamp_ms * 1'000'000, .logical = 0};
  Value* row = batch.AddRow(operators::RowKind::kInsert, time);
  const auto text = [&](ValueType type, std::string_view bytes) {
    return Value::Text(type, batch.arena().Copy(bytes));
  };
  const auto bytes = [&](const std::optional<std::string_view>& original) {
    return original.has_value() ? text(ValueType::kBytes, *original) : Value::Null();
  };
  row[0] = text(ValueType::kString, record.topic);
  row[1] = Value::Int64(record.partition);
  row[2] = Value::Int64(record.offset);
  row[3] = bytes(record.key);
  row[4] = bytes(record.value);
  row[5] = text(ValueType::kString, problem.message());
  row[6] = text(ValueType::kString, uid);
  return batch;
}

}  // namespace

operators::OptionSpec BadRecordOption() {
  return {
      .name = "bad-records",
      .type = operators::OptionType::kEnum,
      .default_text = "fail",
      .doc =
          "What happens to a record that can't be read: the job fails, it is skipped and counted, or it goes to the "
          "output <id>.dead-letter with its bytes and the error.",
      .choices = {"fail", "skip", "dead-letter"}};
}

BadRecordPolicy BadRecordPolicyOf(const operators::Options& options) {
  const std::string& policy = options.String("bad-records");
  if (policy == "skip") return BadRecordPolicy::kSkip;
  if (policy == "dead-letter") return BadRecordPolicy::kDeadLetter;
  return BadRecordPolicy::kFail;
}

Status HandleBadRecord(BadRecordPolicy policy, const RawRecord& record, const Status& problem, const std::string& uid,
                       operators::SourceOutput& output, operators::SubtaskMetrics& metrics) {
  if (policy == BadRecordPolicy::kFail) {
    std::string where = "bad record in ";
    where += record.topic;
    where += ", partition " + std::to_string(record.partition);
    where += ", offset " + std::to_string(record.offset);
    return problem.WithContext(where);
  }
  metrics.bad_records.fetch_add(1, std::memory_order_relaxed);
  if (policy == BadRecordPolicy::kSkip) return Status::Ok();
  return output.EmitSide(operators::kDeadLetterTag, DeadLetter(record, problem, uid));
}

}  // namespace weir::connectors
