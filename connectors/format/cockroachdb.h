// CockroachDB changefeed messages, envelope "wrapped":
//
//   key [42]   value {"after": {"id": 42, "total": "9.50"}, "updated": "1700000000123456789.0000000002"}     an upsert
//   key [42]   value {"after": {...}, "before": null, "updated": ...}      WITH diff: an insert
//   key [42]   value {"after": {...}, "before": {...}, "updated": ...}     WITH diff: an update
//   key [42]   value {"after": null, "updated": ...}                       a deletion
//   key null   value {"resolved": "1700000001000000000.0000000000"}        no new row at or below this time will follow
//
//   message               rows
//   upsert                +U with the columns of `after`: without diff nobody knows whether the row was there before
//   insert                +I
//   update                -U with `before`, +U with `after`, together in one batch
//   deletion              -D with `before`; without it the key's values under the names of the option key-columns
//   resolved              none: the split's watermark
//   null value            none: a tombstone follows a deletion that has been read already
//   empty value           a bad record
//
// The event time is `updated`, to the last digit; without it the record's timestamp. Other members (key, topic,
// mvcc_timestamp, ...) are passed over. One object a reader, on its task's thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "connectors/format/format.h"
#include "connectors/format/json_reader.h"
#include "connectors/format/record_metadata.h"
#include "connectors/format/row_shape.h"

namespace weir::connectors {

class CockroachdbDeserializer final : public Deserializer {
 public:
  explicit CockroachdbDeserializer(const operators::Options& options);
  Status Deserialize(const RawRecord& record, RowCollector& collector) override;

 private:
  static constexpr size_t kAfter = 0, kBefore = 1, kUpdated = 2, kResolved = 3;

  Status PutResolved(RowCollector& collector);
  Result<operators::EventTime> TimeOf(const RawRecord& record) const;
  Status PutDeletion(const RawRecord& record, operators::EventTime time, RowCollector& collector);
  // The deletion's row from the record's key.
  Status ReadKey(const RawRecord& record, RowCollector& collector);
  void Put(std::span<JsonMember* const> rows, std::span<const operators::RowKind> kinds, const RawRecord& record,
           operators::EventTime time, RowCollector& collector);

  const std::vector<std::string> key_columns_;
  RecordMetadata metadata_;
  JsonReader reader_;
  RowShape shape_;  // of after and before
  std::array<JsonMember, 4> members_;
  std::vector<operators::Value> key_;
};

}  // namespace weir::connectors
