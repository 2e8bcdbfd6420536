// Where a format puts the rows of the records it reads: builds batches of one schema and hands them to the source's
// output when they are full, when the schema changes, and at Flush. A record's bytes are copied once, into the arena of
// the batch that its row will stand in; values point into that copy. Belongs to one reader, on its task's thread; holds
// no row between two polls, so that positions and emitted rows are one cut.
//
//   collector.Begin(output, fetched);                       // once a poll
//   collector.BeginSplit(split.id);
//   for (record : block) deserializer.Deserialize(record, collector);
//   WEIR_RETURN_IF_ERROR(collector.Flush());
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/source.h"

namespace weir::connectors {

// One row that a record gave; its values' text lies in the collector's arena or lives as long as the process.
struct CollectedRow {
  operators::RowKind kind = operators::RowKind::kInsert;
  std::span<const operators::Value> values;  // one for each column of the schema
};

// Whose clock a row's time is.
enum class RowClock : uint8_t {
  kRecord,      // the outside system's time of the record, or none
  kChangefeed,  // the changefeed's own: comparable with resolved timestamps and with the times of other rows
};

// Says which of the rows that a format has read go on, and sees the watermarks among them in their order. Called within
// the collector's calls.
class RowGate {
 public:
  virtual ~RowGate() = default;
  // Of all rows of one record.
  virtual bool AdmitRows(operators::EventTime time, RowClock clock) = 0;
  virtual void SeeWatermark(operators::EventTime time) = 0;
};

class RowCollector {
 public:
  // Readable bytes behind a text from CopyPadded: what the JSON reader may look at.
  static constexpr size_t kPaddingBytes = 64;
  static constexpr size_t kRowsOfRecordMax = 2;  // an update's before and after

  explicit RowCollector(size_t batch_rows = operators::Batch::kDefaultCapacity);
  // Before the first poll; null: all rows go on. Outlives the collector's use.
  void SetGate(RowGate* gate) { gate_ = gate; }

  // Opens a poll. `expected_rows` sizes the first batch; more rows than that are fine.
  void Begin(operators::SourceOutput& output, size_t expected_rows);
  // The records that follow are of this split. `split_id` must live until Flush.
  void BeginSplit(const std::string& split_id);

  // Once a record, before its rows. Valid until the next call of CopyPadded, PutRows or Flush, and as long as the
  // batch for what the rows point to.
  std::string_view CopyPadded(std::string_view text);
  // For text that is made while a record is read: between CopyPadded and PutRows.
  operators::Arena& arena();
  // At most kRowsOfRecordMax rows of one record, which stay together in one batch. Only a time by the changefeed's
  // clock may decide that a row is stale or outside of a range.
  void PutRows(const operators::SchemaPtr& schema, operators::EventTime time, std::span<const CollectedRow> rows,
               RowClock clock = RowClock::kRecord);
  // Emitted behind all rows collected so far, at the latest by Flush; of several that rise the greatest. One that falls
  // is emitted as well: who counts them sees it.
  void PutWatermark(operators::EventTime time);

  // Rows taken since Begin.
  size_t rows() const { return rows_; }
  // Emits what is left. The first error of the output since Begin.
  Status Flush();

 private:
  struct PendingWatermark {
    const std::string* split_id;
    operators::EventTime time;
  };

  void Cut();
  void StartBatch(const operators::SchemaPtr& schema);

  const size_t batch_rows_;
  RowGate* gate_ = nullptr;
  operators::SourceOutput* output_ = nullptr;  // during a poll
  const std::string* split_id_ = nullptr;
  operators::SchemaPtr schema_;  // of the newest row
  operators::Batch batch_;       // without schema: none is open
  size_t next_capacity_ = 0;
  size_t rows_ = 0;
  std::vector<PendingWatermark> watermarks_;
  Status status_;
};

}  // namespace weir::connectors
