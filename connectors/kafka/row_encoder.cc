#include "connectors/kafka/row_encoder.h"

#include <utility>

#include "operators/raw_value.h"

namespace weir::connectors {

KafkaRowEncoder::KafkaRowEncoder(const KafkaSinkOptions& options, std::unique_ptr<Serializer> serializer)
    : options_(options), serializer_(std::move(serializer)) {}

Result<std::span<const ProduceRow>> KafkaRowEncoder::Encode(const operators::Batch& batch) {
  WEIR_RETURN_IF_ERROR(FindKeyColumns(batch));
  text_.clear();
  written_.clear();
  for (size_t i = 0; i < batch.rows(); ++i) {
    if (!options_.row_kinds && batch.kind(i) == operators::RowKind::kUpdateBefore) continue;
    WEIR_RETURN_IF_ERROR(AppendRow(batch, i));
  }
  // The text is complete and moves no more.
  rows_.clear();
  const auto view = [this](const Extent& extent) {
    return extent.none ? std::string_view() : std::string_view(text_).substr(extent.begin, extent.end - extent.begin);
  };
  for (const Pending& row : written_) rows_.push_back({view(row.key), view(row.value), row.timestamp_ms, -1});
  return std::span<const ProduceRow>(rows_);
}

Status KafkaRowEncoder::FindKeyColumns(const operators::Batch& batch) {
  if (batch.schema() == schema_) return {};
  schema_ = batch.schema();
  key_columns_.clear();
  for (const std::string& name : options_.key) {
    const std::optional<size_t> column = schema_->Find(name);
    if (!column) {
      std::string columns;
      for (const std::string& one : schema_->columns()) columns += (columns.empty() ? "" : ", ") + one;
      return Status::InvalidArgument("the key's column \"" + name + "\" is not among the row's: " + columns);
    }
    key_columns_.push_back(*column);
  }
  return {};
}

Status KafkaRowEncoder::AppendRow(const operators::Batch& batch, size_t row) {
  constexpr int64_t kNsPerMs = 1'000'000;
  Pending pending;
  if (!key_columns_.empty()) WEIR_RETURN_IF_ERROR(AppendKey(batch.row(row), pending.key));
  if (!options_.upsert || batch.kind(row) != operators::RowKind::kDelete) {
    pending.value.begin = text_.size();
    WEIR_RETURN_IF_ERROR(serializer_->Append(batch, row, text_));
    pending.value.end = text_.size();
    pending.value.none = false;
  }
  const int64_t wall_ns = batch.time(row).wall_ns;
  if (options_.event_time && wall_ns > 0) pending.timestamp_ms = wall_ns / kNsPerMs;
  WEIR_RETURN_IF_ERROR(CheckSize(pending));
  written_.push_back(pending);
  return {};
}

Status KafkaRowEncoder::AppendKey(const operators::Value* row, Extent& extent) {
  extent.begin = text_.size();
  extent.none = false;
  const bool object = options_.key_format == KafkaKeyFormat::kObject;
  if (options_.key_format == KafkaKeyFormat::kRaw) {
    const operators::Value& value = row[key_columns_.front()];
    if (value.missing()) {
      extent.none = true;
      if (!options_.upsert) return {};
      return Status::InvalidArgument("the key's column \"" + options_.key.front() + "\" is null");
    }
    if (value.has_text()) {
      text_ += value.text();
    } else {
      WEIR_RETURN_IF_ERROR(serializer_->AppendValue(value, text_));
    }
  } else {
    text_ += object ? '{' : '[';
    for (size_t i = 0; i < key_columns_.size(); ++i) {
      if (i > 0) text_ += ',';
      if (object) {
        WEIR_RETURN_IF_ERROR(
            serializer_->AppendValue(operators::Value::Text(operators::ValueType::kString, options_.key[i]), text_));
        text_ += ':';
      }
      const operators::Value& value = row[key_columns_[i]];
      WEIR_RETURN_IF_ERROR(serializer_->AppendValue(value.absent() ? operators::Value::Null() : value, text_));
    }
    text_ += object ? '}' : ']';
  }
  extent.end = text_.size();
  return {};
}

Status KafkaRowEncoder::CheckSize(const Pending& row) const {
  const size_t key = row.key.end - row.key.begin;
  const size_t value = row.value.end - row.value.begin;
  if (key + value <= options_.row_bytes_max) return {};
  return Status::InvalidArgument(
      "a row has " + std::to_string(key + value) + " bytes as a record of topic \"" + options_.topic +
      "\", the limit is " + std::to_string(options_.row_bytes_max) + " (message.max.bytes); its key: " +
      (row.key.none ? "none" : operators::QuotedExcerpt(std::string_view(text_).substr(row.key.begin, key))));
}

}  // namespace weir::connectors
