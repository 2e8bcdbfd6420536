#include "connectors/format/row_collector.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::EventTime;
using operators::SchemaPtr;
using operators::Value;
using operators::Watermark;

constexpr size_t kBatchRowsMin = 16;

}  // namespace

RowCollector::RowCollector(size_t batch_rows) : batch_rows_(std::max(batch_rows, kBatchRowsMin)) {}

void RowCollector::Begin(operators::SourceOutput& output, size_t expected_rows) {
  WEIR_CHECK(batch_.empty() && watermarks_.empty());
  output_ = &output;
  rows_ = 0;
  status_ = Status::Ok();
  next_capacity_ = std::clamp(expected_rows, kBatchRowsMin, batch_rows_);
}

void RowCollector::BeginSplit(const std::string& split_id) { split_id_ = &split_id; }

std::string_view RowCollector::CopyPadded(std::string_view text) {
  // Room for the record's rows behind its text: they never have to move.
  if (batch_.schema() != nullptr && batch_.capacity() - batch_.rows() < kRowsOfRecordMax) Cut();
  char* copy = arena().Allocate(text.size() + kPaddingBytes);
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  // The padding has to be readable only: what comes next may lie in it.
  arena().Trim(copy, text.size());
  return {copy, text.size()};
}

operators::Arena& RowCollector::arena() {
  if (batch_.schema() == nullptr) {
    static const SchemaPtr kNoColumns = std::make_shared<const operators::Schema>(std::vector<std::string>{});
    StartBatch(schema_ == nullptr ? kNoColumns : schema_);
  }
  return batch_.arena();
}

void RowCollector::PutRows(const SchemaPtr& schema, EventTime time, std::span<const CollectedRow> rows,
                           RowClock clock) {
  WEIR_CHECK_LE(rows.size(), kRowsOfRecordMax);
  if (gate_ != nullptr && !gate_->AdmitRows(time, clock)) return;
  const bool fits = batch_.schema() == schema && batch_.capacity() - batch_.rows() >= rows.size();
  Batch old;  // keeps the text of `rows` until it is copied
  if (!fits) {
    old = std::exchange(batch_, Batch());
    // A schema that keeps changing must not cost a full batch for each few rows.
    if (!old.empty() && !old.full()) next_capacity_ = std::max(kBatchRowsMin, next_capacity_ / 2);
    StartBatch(schema);
  }
  for (const CollectedRow& row : rows) {
    WEIR_CHECK_EQ(row.values.size(), schema->size());
    Value* to = batch_.AddRow(row.kind, time);
    if (fits) {
      std::copy_n(row.values.data(), row.values.size(), to);
      continue;
    }
    for (size_t c = 0; c < row.values.size(); ++c) {
      const Value& value = row.values[c];
      to[c] = !value.has_text() ? value : Value::Text(value.type(), batch_.arena().Copy(value.text()));
    }
  }
  rows_ += rows.size();
  if (!old.empty()) {
    std::swap(old, batch_);
    Cut();
    batch_ = std::move(old);
  }
}

void RowCollector::PutWatermark(EventTime time) {
  WEIR_CHECK(split_id_ != nullptr);
  if (gate_ != nullptr) gate_->SeeWatermark(time);
  for (PendingWatermark& pending : watermarks_) {
    if (*pending.split_id == *split_id_ && pending.time <= time) {
      pending.time = time;
      return;
    }
  }
  watermarks_.push_back({split_id_, time});
}

Status RowCollector::Flush() {
  Cut();
  output_ = nullptr;
  split_id_ = nullptr;
  return std::exchange(status_, Status::Ok());
}

void RowCollector::Cut() {
  WEIR_CHECK(output_ != nullptr);
  Batch batch = std::exchange(batch_, Batch());
  if (!batch.empty()) {
    if (batch.capacity() - batch.rows() < kRowsOfRecordMax)
      next_capacity_ = std::min(batch.capacity() * 2, batch_rows_);
    Status emitted = output_->Emit(std::move(batch));
    if (status_.ok()) status_ = std::move(emitted);
  }
  if (status_.ok()) {
    for (const PendingWatermark& pending : watermarks_) {
      output_->EmitWatermark(*pending.split_id, Watermark{pending.time});
    }
  }
  watermarks_.clear();
}

void RowCollector::StartBatch(const SchemaPtr& schema) {
  schema_ = schema;
  // A batch counts as full when a record's rows might not fit.
  batch_ = Batch(schema, std::max(next_capacity_, kBatchRowsMin) + kRowsOfRecordMax - 1);
}

}  // namespace weir::connectors
