// Rows of a batch as Kafka's records: key, value or tombstone, timestamp, by the sink's options. One object a writer,
// on its task's thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "connectors/format/format.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "operators/batch.h"

namespace weir::connectors {

class KafkaRowEncoder {
 public:
  KafkaRowEncoder(const KafkaSinkOptions& options, std::unique_ptr<Serializer> serializer);

  // The records, in the batch's order; they point into the encoder and are valid until the next call. An error names
  // the column, and for a row above the options' row_bytes_max its key, size and the limit.
  Result<std::span<const ProduceRow>> Encode(const operators::Batch& batch);

 private:
  // A row's place in text_; `none` for a null key or value.
  struct Extent {
    size_t begin = 0;
    size_t end = 0;
    bool none = true;
  };
  struct Pending {
    Extent key;
    Extent value;
    int64_t timestamp_ms = 0;
  };

  Status FindKeyColumns(const operators::Batch& batch);
  Status AppendRow(const operators::Batch& batch, size_t row);
  Status AppendKey(const operators::Value* row, Extent& extent);
  Status CheckSize(const Pending& row) const;

  const KafkaSinkOptions& options_;
  const std::unique_ptr<Serializer> serializer_;
  operators::SchemaPtr schema_;
  std::vector<size_t> key_columns_;  // of schema_
  std::string text_;                 // keys and values of the newest batch
  std::vector<Pending> written_;     // its rows
  std::vector<ProduceRow> rows_;     // the same as the client takes them
};

}  // namespace weir::connectors
