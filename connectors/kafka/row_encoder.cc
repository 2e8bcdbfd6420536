#include "connectors/kafka/row_encoder.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "connectors/format/json_writer.h"
#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

constexpr Duration kWarningInterval = std::chrono::minutes(1);
// What the client adds for a record and for each of its headers before it compares with message.max.bytes: the varints
// of Kafka's record format v2 at their longest (librdkafka 2.0.2, rdkafka_proto.h).
constexpr size_t kRecordOverhead = 36;
constexpr size_t kHeaderOverhead = 10;

}  // namespace

KafkaRowEncoder::KafkaRowEncoder(const KafkaSinkOptions& options, std::unique_ptr<Serializer> serializer)
    : options_(options), serializer_(std::move(serializer)) {}

void KafkaRowEncoder::Open(const operators::WriterContext& context) {
  uid_ = context.uid;
  clock_ = context.clock;
  metrics_ = context.metrics;
}

Result<std::span<const TopicRows>> KafkaRowEncoder::Encode(const operators::Batch& batch) {
  WEIR_RETURN_IF_ERROR(FindColumns(batch));
  text_.clear();
  written_.clear();
  pending_headers_.clear();
  for (size_t i = 0; i < batch.rows(); ++i) {
    if (!options_.row_kinds && batch.kind(i) == operators::RowKind::kUpdateBefore) continue;
    WEIR_RETURN_IF_ERROR(AppendRow(batch, i));
  }
  Collect();
  return std::span<const TopicRows>(by_topic_);
}

Status KafkaRowEncoder::FindColumns(const operators::Batch& batch) {
  if (batch.schema() == schema_) return {};
  schema_ = nullptr;
  key_columns_.clear();
  header_columns_.clear();
  const operators::Schema& schema = *batch.schema();
  for (const std::string& name : options_.key) {
    const std::optional<size_t> column = schema.Find(name);
    if (!column) return NoSuchColumn("key", name, schema);
    key_columns_.push_back(*column);
  }
  for (const auto& [header, name] : options_.headers) {
    const std::optional<size_t> column = schema.Find(name);
    if (!column) return NoSuchColumn("headers: " + header, name, schema);
    header_columns_.push_back(*column);
  }
  if (!options_.topic_column.empty()) {
    const std::optional<size_t> column = schema.Find(options_.topic_column);
    if (!column) return NoSuchColumn("topic-column", options_.topic_column, schema);
    topic_column_ = *column;
  }
  schema_ = batch.schema();
  return {};
}

Status KafkaRowEncoder::AppendRow(const operators::Batch& batch, size_t row) {
  constexpr int64_t kNsPerMs = 1'000'000;
  const size_t text_before = text_.size();
  const operators::Value* values = batch.row(row);
  Pending pending;
  WEIR_ASSIGN_OR_RETURN(pending.topic, TopicOf(values));
  if (!key_columns_.empty()) WEIR_RETURN_IF_ERROR(AppendKey(values, pending.key));
  if (!options_.upsert || batch.kind(row) != operators::RowKind::kDelete) {
    pending.value.begin = text_.size();
    WEIR_RETURN_IF_ERROR(serializer_->Append(batch, row, text_));
    pending.value.end = text_.size();
    pending.value.none = false;
  }
  pending.headers_begin = pending_headers_.size();
  AppendHeaders(values);
  pending.headers_end = pending_headers_.size();
  const int64_t wall_ns = batch.time(row).wall_ns;
  if (options_.event_time && wall_ns > 0) pending.timestamp_ms = wall_ns / kNsPerMs;
  if (Status fits = CheckSize(pending); !fits.ok()) {
    if (options_.fail_too_large) return fits;
    CountTooLarge(fits);
    pending_headers_.resize(pending.headers_begin);
    if (options_.dead_letter_topic.empty()) {
      text_.resize(text_before);
      return {};
    }
    MakeDeadLetter(pending, fits);
  }
  written_.push_back(pending);
  return {};
}

Status KafkaRowEncoder::AppendKey(const operators::Value* row, Extent& extent) {
  extent.begin = text_.size();
  extent.none = false;
  if (options_.key_format == KafkaKeyFormat::kRaw) {
    const operators::Value& value = row[key_columns_.front()];
    if (value.missing()) {
      extent = {};
      if (!options_.upsert) return {};
      return Status::InvalidArgument("the key's column \"" + options_.key.front() + "\" is null");
    }
    AppendPlainValue(value, text_);
  } else {
    const bool object = options_.key_format == KafkaKeyFormat::kObject;
    text_ += object ? '{' : '[';
    for (size_t i = 0; i < key_columns_.size(); ++i) {
      if (i > 0) text_ += ',';
      if (object) {
        AppendJsonValue(operators::Value::Text(operators::ValueType::kString, options_.key[i]), text_);
        text_ += ':';
      }
      AppendJsonValue(row[key_columns_[i]], text_);
    }
    text_ += object ? '}' : ']';
  }
  extent.end = text_.size();
  return {};
}

void KafkaRowEncoder::AppendHeaders(const operators::Value* row) {
  for (size_t i = 0; i < header_columns_.size(); ++i) {
    const operators::Value& value = row[header_columns_[i]];
    if (value.missing()) continue;
    const size_t begin = text_.size();
    AppendPlainValue(value, text_);
    pending_headers_.push_back({options_.headers[i].first, {begin, text_.size(), false}});
  }
}

Result<const std::string*> KafkaRowEncoder::TopicOf(const operators::Value* row) {
  if (options_.topic_column.empty()) return &options_.topic;
  const operators::Value& value = row[topic_column_];
  const bool text = value.type() == operators::ValueType::kString || value.type() == operators::ValueType::kBytes;
  if (text && last_topic_ != nullptr && value.text() == *last_topic_) return last_topic_;
  auto found = text ? topics_.find(value.text()) : topics_.end();
  if (found == topics_.end()) {
    if (!text || !IsTopicName(value.text()) || value.text() == kKafkaMarkerTopic) {
      return Error(Status::InvalidArgument(
          "topic-column: column \"" + options_.topic_column + "\" is " +
          (text ? operators::QuotedExcerpt(value.text()) : std::string(operators::ValueTypeName(value.type()))) +
          ": expected " + std::string(kTopicNameRule) + ", and not " + kKafkaMarkerTopic));
    }
    found = topics_.emplace(value.text()).first;
  }
  return last_topic_ = &*found;
}

size_t KafkaRowEncoder::BytesOf(const Pending& row) const {
  size_t bytes = kRecordOverhead + row.key.size() + row.value.size();
  for (size_t i = row.headers_begin; i < row.headers_end; ++i) {
    bytes += kHeaderOverhead + pending_headers_[i].name.size() + pending_headers_[i].value.size();
  }
  return bytes;
}

Status KafkaRowEncoder::CheckSize(const Pending& row) const {
  const size_t bytes = BytesOf(row);
  if (bytes <= options_.row_bytes_max) return {};
  return Status::InvalidArgument(
      "a row has " + std::to_string(bytes) + " bytes as a record of topic \"" + *row.topic + "\", the limit is " +
      std::to_string(options_.row_bytes_max) +
      " (message.max.bytes); its key: " + (row.key.none ? "none" : operators::QuotedExcerpt(View(row.key))));
}

void KafkaRowEncoder::MakeDeadLetter(Pending& row, const Status& why) {
  const auto add_header = [&](std::string_view name, std::string_view value) {
    const size_t begin = text_.size();
    text_ += value;
    pending_headers_.push_back({name, {begin, text_.size(), false}});
  };
  add_header(kDeadLetterTopicHeader, *row.topic);
  add_header(kDeadLetterErrorHeader, why.message());
  row.headers_end = pending_headers_.size();
  const size_t value_bytes = row.value.size();
  row.value.end = row.value.begin;
  if (BytesOf(row) > options_.row_bytes_max) row.key = {};
  row.value.end += std::min(value_bytes, options_.row_bytes_max - std::min(options_.row_bytes_max, BytesOf(row)));
  row.topic = &options_.dead_letter_topic;
}

void KafkaRowEncoder::CountTooLarge(const Status& why) {
  if (metrics_ != nullptr) metrics_->bad_records.fetch_add(1, std::memory_order_relaxed);
  ++too_large_;
  const MonotonicTime now = clock_->Now();
  if (warned_.has_value() && now - *warned_ < kWarningInterval) return;
  warned_ = now;
  const std::string fate =
      options_.dead_letter_topic.empty() ? "skipped" : "sent to topic \"" + options_.dead_letter_topic + "\"";
  LogWarning(uid_ + ": rows " + fate + " as too large: " + std::to_string(std::exchange(too_large_, 0)) +
             "; the newest: " + why.message());
}

std::string_view KafkaRowEncoder::View(const Extent& extent) const {
  return extent.none ? std::string_view() : std::string_view(text_).substr(extent.begin, extent.size());
}

void KafkaRowEncoder::Collect() {
  const auto name = [](const Pending& row) -> const std::string& { return *row.topic; };
  const auto another = [&](const Pending& row) { return row.topic != written_.front().topic; };
  if (std::ranges::any_of(written_, another)) std::ranges::stable_sort(written_, {}, name);
  headers_.clear();
  for (const PendingHeader& header : pending_headers_) headers_.push_back({header.name, View(header.value)});
  rows_.clear();
  for (const Pending& row : written_) {
    const auto headers = std::span(headers_).subspan(row.headers_begin, row.headers_end - row.headers_begin);
    rows_.push_back({View(row.key), View(row.value), row.timestamp_ms, -1, headers});
  }
  by_topic_.clear();
  for (size_t begin = 0, end = 0; begin < written_.size(); begin = end) {
    while (end < written_.size() && written_[end].topic == written_[begin].topic) ++end;
    by_topic_.push_back({written_[begin].topic, std::span(rows_).subspan(begin, end - begin)});
  }
}

}  // namespace weir::connectors
