#include "operators/dead_letter.h"

#include <memory>
#include <utility>

#include "operators/key.h"
#include "operators/row_text.h"

namespace weir::operators {
namespace {

constexpr size_t kLettersPerBatch = 128;

enum LetterColumn : size_t {
  kTopic,
  kPartition,
  kOffset,
  kLetterKey,
  kLetterValue,
  kLetterError,
  kUid,
  kLetterColumns
};

Value CopiedTo(Arena& arena, const Value& value) {
  return value.has_text() ? Value::Text(value.type(), arena.Copy(value.text())) : value;
}

Value TextIn(Arena& arena, std::string_view text) { return Value::Text(ValueType::kString, arena.Copy(text)); }

}  // namespace

OptionSpec OnErrorSpec() {
  OptionSpec spec{"on-error", OptionType::kEnum, false, "fail",
                  "What a bad record does: fails the job, is skipped and counted, or goes to <id>.dead-letter."};
  spec.choices = {"fail", "skip", "dead-letter"};
  return spec;
}

BadRecordPolicy OnError(const Options& options) {
  const std::string& name = options.String("on-error");
  if (name == "skip") return BadRecordPolicy::kSkip;
  return name == "dead-letter" ? BadRecordPolicy::kDeadLetter : BadRecordPolicy::kFail;
}

SchemaPtr DeadLetterSchema() {
  return std::make_shared<const Schema>(
      std::vector<std::string>{"topic", "partition", "offset", "key", "value", "error", "uid"});
}

BadRecords::BadRecords(std::string uid, BadRecordPolicy policy, SubtaskMetrics* metrics)
    : uid_(std::move(uid)), policy_(policy), metrics_(metrics), schema_(DeadLetterSchema()) {}

Status BadRecords::Add(const DeadLetter& letter) {
  if (policy_ == BadRecordPolicy::kFail) {
    std::string message(letter.error);
    if (letter.topic.has_value()) {
      message += " (";
      message += *letter.topic;
      if (letter.partition.has_value()) message += ", partition " + std::to_string(*letter.partition);
      if (letter.offset.has_value()) message += ", offset " + std::to_string(*letter.offset);
      message += ")";
    }
    return Status::InvalidArgument(std::move(message));
  }
  if (metrics_ != nullptr) metrics_->bad_records.fetch_add(1, std::memory_order_relaxed);
  if (policy_ == BadRecordPolicy::kSkip) return Status::Ok();
  if (kept_.full()) {
    if (kept_.schema() != nullptr) full_.push_back(std::move(kept_));
    kept_ = Batch(schema_, kLettersPerBatch);
  }
  Value* row = kept_.AddRow(RowKind::kInsert, letter.time);
  Arena& arena = kept_.arena();
  for (size_t c = 0; c < kLetterColumns; ++c) row[c] = Value::Null();
  if (letter.topic.has_value()) row[kTopic] = TextIn(arena, *letter.topic);
  if (letter.partition.has_value()) row[kPartition] = Value::Int64(*letter.partition);
  if (letter.offset.has_value()) row[kOffset] = Value::Int64(*letter.offset);
  row[kLetterKey] = CopiedTo(arena, letter.key);
  row[kLetterValue] = CopiedTo(arena, letter.value);
  row[kLetterError] = TextIn(arena, letter.error);
  row[kUid] = TextIn(arena, uid_);
  return Status::Ok();
}

Status BadRecords::AddRow(const Batch& batch, size_t row, std::string_view error) {
  DeadLetter letter;
  letter.error = error;
  letter.time = batch.time(row);
  if (policy_ == BadRecordPolicy::kSkip) return Add(letter);
  std::string text;
  AppendRowAsJson(text, batch, row);
  if (policy_ == BadRecordPolicy::kFail) {
    constexpr size_t kShownBytesMax = 500;
    return Status::InvalidArgument(std::string(error) + "; the row is " + std::string(RowKindName(batch.kind(row))) +
                                   " " + text.substr(0, kShownBytesMax));
  }
  letter.value = Value::Text(ValueType::kString, text);
  std::string key;
  if (batch.keyed()) {
    key = PrintKey(batch.key(row).bytes);
    letter.key = Value::Text(ValueType::kString, key);
  }
  return Add(letter);
}

Status BadRecords::EmitTo(Output& output) {
  if (kept_.schema() == nullptr) return Status::Ok();
  full_.push_back(std::exchange(kept_, Batch()));
  for (Batch& batch : std::exchange(full_, {})) {
    WEIR_RETURN_IF_ERROR(output.EmitSide(kDeadLetterTag, std::move(batch)));
  }
  return Status::Ok();
}

}  // namespace weir::operators
