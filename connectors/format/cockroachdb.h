// CockroachDB changefeed messages, envelope "wrapped":
//
//   key [42]   value {"after": {"id": 42, "total": "9.50"}, "updated": "1700000000123456789.0000000002"}     an upsert
//   key [42]   value {"after": {...}, "before": null, "updated": ...}      WITH diff: an insert
//   key [42]   value {"after": {...}, "before": {...}, "updated": ...}     WITH diff: an update
//   key [42]   value {"after": null, "updated": ...}                       a deletion
//   key null   value {"resolved": "1700000001000000000.0000000000"}        no new row below this time will follow
//
//   message               rows
//   upsert                +U with the columns of `after`: without diff nobody knows whether the row was there before
//   insert                +I
//   update                -U with `before`, +U with `after`, together in one batch
//   deletion              -D with `before`; without it the key's values under the names of the option key-columns
//   resolved R            none: the split's watermark, R.Previous()
//   null value            none: a tombstone follows a deletion that has been read already
//   empty value           a bad record
//
// The event time is `updated`, without it `mvcc_timestamp`, both to the last digit and put with RowClock::kChangefeed;
// without either the record's timestamp. Other members (key, topic, ...) are passed over. One object a reader, on its
// task's thread.
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
  static constexpr size_t kAfter = 0, kBefore = 1, kUpdated = 2, kMvccTimestamp = 3, kResolved = 4;

  struct RowTime {
    operators::EventTime time;
    RowClock clock = RowClock::kRecord;
  };

  Status PutResolved(RowCollector& collector);
  Result<RowTime> TimeOf(const RawRecord& record) const;
  Status PutDeletion(const RawRecord& record, RowTime time, RowCollector& collector);
  // The deletion's row from the record's key.
  Status ReadKey(const RawRecord& record, RowCollector& collector);
  void Put(std::span<JsonMember* const> rows, std::span<const operators::RowKind> kinds, const RawRecord& record,
           RowTime time, RowCollector& collector);

  const std::vector<std::string> key_columns_;
  RecordMetadata metadata_;
  JsonReader reader_;
  RowShape shape_;  // of after and before
  std::array<JsonMember, 5> members_;
  std::vector<operators::Value> key_;
};

}  // namespace weir::connectors
