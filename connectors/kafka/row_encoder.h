// Rows of a batch as Kafka's records: topic, key, value or tombstone, headers, timestamp, by the sink's options; both
// deliveries write what this makes. One object a writer, on its task's thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/format/format.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "operators/batch.h"
#include "operators/sink.h"

namespace weir::connectors {

// Records of one topic. `topic` is the same object for the same name as long as the encoder lives.
struct TopicRows {
  const std::string* topic = nullptr;
  std::span<const ProduceRow> rows;
};

// Headers of a dead letter: the topic that the row was for, and why it did not go there.
inline constexpr std::string_view kDeadLetterTopicHeader = "weir-topic";
inline constexpr std::string_view kDeadLetterErrorHeader = "weir-error";

class KafkaRowEncoder {
 public:
  KafkaRowEncoder(const KafkaSinkOptions& options, std::unique_ptr<Serializer> serializer);

  // Before the first Encode; the context's ports outlive this.
  void Open(const operators::WriterContext& context);
  // The records by topic, those of a topic in the batch's order; they point into the encoder and are valid until the
  // next call. An error names the column and what is wrong with its value, and for a row above the options'
  // row_bytes_max its key, size and the limit, unless such rows are to be skipped or go to the dead letters.
  Result<std::span<const TopicRows>> Encode(const operators::Batch& batch);

 private:
  // A place in text_; `none` for a null key or value.
  struct Extent {
    size_t begin = 0;
    size_t end = 0;
    bool none = true;
    size_t size() const { return end - begin; }
  };
  struct PendingHeader {
    std::string_view name;
    Extent value;
  };
  struct Pending {
    const std::string* topic = nullptr;
    Extent key;
    Extent value;
    size_t headers_begin = 0;  // in pending_headers_
    size_t headers_end = 0;
    int64_t timestamp_ms = 0;
  };

  Status FindColumns(const operators::Batch& batch);
  Status AppendRow(const operators::Batch& batch, size_t row);
  Status AppendKey(const operators::Value* row, Extent& extent);
  void AppendHeaders(const operators::Value* row);
  Result<const std::string*> TopicOf(const operators::Value* row);
  // As the client counts a record.
  size_t BytesOf(const Pending& row) const;
  Status CheckSize(const Pending& row) const;
  void CountTooLarge(const Status& why);
  // Makes the row's record one of the dead letters that keeps within row_bytes_max: a key with no room is left out.
  void MakeDeadLetter(Pending& row, const Status& why);
  // Makes what Encode returns of written_; text_ moves no more.
  void Collect();
  std::string_view View(const Extent& extent) const;

  // Set once.
  const KafkaSinkOptions& options_;
  const std::unique_ptr<Serializer> serializer_;
  std::string uid_;
  const Clock* clock_ = nullptr;
  operators::SubtaskMetrics* metrics_ = nullptr;

  operators::SchemaPtr schema_;
  std::vector<size_t> key_columns_;  // of schema_, as those below
  std::vector<size_t> header_columns_;
  size_t topic_column_ = 0;

  std::set<std::string, std::less<>> topics_;  // that rows named
  const std::string* last_topic_ = nullptr;    // of the newest row

  // Of the newest batch.
  std::string text_;  // keys, values and headers
  std::vector<Pending> written_;
  std::vector<PendingHeader> pending_headers_;
  std::vector<KafkaHeader> headers_;  // these three are the same as the client takes them
  std::vector<ProduceRow> rows_;
  std::vector<TopicRows> by_topic_;

  uint64_t too_large_ = 0;  // since the last warning
  std::optional<MonotonicTime> warned_;
};

}  // namespace weir::connectors
