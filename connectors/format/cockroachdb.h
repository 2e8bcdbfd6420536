// CockroachDB changefeed messages of every envelope, as JSON or Avro:
//
//   wrapped   key [42]   value {"after": {"id": 42, "total": "9.50"}, "updated": "1700000000123456789.0000000002"}
//             with diff also "before"; may have mvcc_timestamp, key (where the record has none) and topic
//   enriched  key {"id": 42}   value {"after": .., "before": .., "op": "u", "source": {"ts_hlc": .., "table_name":
//   ..}},
//             or that as "payload" beside a "schema"
//   bare      key [42]   value {"id": 42, "total": "9.50", "__crdb__": {"updated": ..}}; in Avro {"record": ..}
//   row       the same without "__crdb__"
//   key_only  key [42], no value
//
//   message                   rows
//   after without before      +U: without diff nobody knows whether the row was there before
//   before null and after     +I
//   before and after          -U with `before`, +U with `after`, together in one batch
//   after null; or no after   -D with `before`, without it with the key's values. Their names: Avro and enriched say
//   but before or a time      them, otherwise the options tables and key-columns do
//   a bare row                +U
//   key_only                  +U with the key's values, also where the row was deleted: nothing tells
//   bare, only __crdb__       -D with the key's values
//   resolved R                none: the split's watermark, R.Previous() (bare, row and key_only: in "__crdb__")
//   null value (a tombstone)  none, or -D with the key's values: the option tombstones
//   empty value               a bad record
//
// What a message lacks is absent in its row, which is not null: tables with column families send part of a row each.
// The event time is `updated` (ts_hlc), without it `mvcc_timestamp`, to the last digit and put with
// RowClock::kChangefeed; without either the record's timestamp. One object a reader, on its task's thread.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/format/avro_reader.h"
#include "connectors/format/cockroachdb_options.h"
#include "connectors/format/format.h"
#include "connectors/format/json_reader.h"
#include "connectors/format/record_metadata.h"
#include "connectors/format/row_shape.h"
#include "connectors/format/sql_name.h"

namespace weir::connectors {

class CockroachdbDeserializer final : public Deserializer {
 public:
  // `schemas`: null for JSON.
  CockroachdbDeserializer(const operators::Options& options, std::unique_ptr<SchemaSource> schemas);
  CockroachdbDeserializer(const CockroachdbDeserializer&) = delete;
  CockroachdbDeserializer& operator=(const CockroachdbDeserializer&) = delete;

  Status Deserialize(const RawRecord& record, RowCollector& collector) override;
  bool reads_headers() const override { return metadata_.wants(RecordMetadata::Field::kHeader); }

 private:
  // Of members_. Those that one envelope takes out of one object lie side by side.
  enum Index : size_t { kHolder, kSource, kOp, kAfter, kBefore, kKey, kResolved, kUpdated, kMvccTimestamp, kTopic };
  static constexpr size_t kMembers = kTopic + 1;

  struct RowTime {
    operators::EventTime time;
    RowClock clock = RowClock::kRecord;
  };

  // Which members the envelope has, and where.
  void NameMembers();
  void UseShapeOf(std::string_view topic);
  std::span<ObjectMember> Members(Index first, Index last) { return {&members_[first], &members_[last] + 1}; }
  // The message as JSON has it without a wrapper: its columns beside "__crdb__".
  bool RowIsTheObject() const { return avro_ == nullptr && top_.empty(); }
  Status ReadValue(std::string_view text, RowCollector& collector);
  Status CheckOp() const;
  bool IsDeletion() const;

  Status PutResolved(RowCollector& collector);
  Status PutTombstone(const RawRecord& record, RowCollector& collector);
  Status PutUpsert(const RawRecord& record, RowTime time, RowCollector& collector);
  Status PutKey(operators::RowKind kind, const RawRecord& record, RowTime time, RowCollector& collector);
  Status Put(std::span<ObjectMember* const> rows, std::span<const operators::RowKind> kinds, const RawRecord& record,
             RowTime time, RowCollector& collector);

  Result<RowTime> TimeOf(const RawRecord& record) const;
  // Empty: the record names none.
  std::string_view TableOf(const RawRecord& record);
  Result<MessageMetadata> MetadataOf(const RawRecord& record, operators::Arena& arena);
  Result<operators::Value> KeyText(const RawRecord& record, operators::Arena& arena);
  // `key` has padding behind it.
  Result<std::string_view> WithoutSchema(std::string_view key, operators::Arena& arena);
  // The row of `before` from the record's key, or from the message's.
  Status ReadKey(const RawRecord& record, RowCollector& collector);
  Status ReadRecordKey(std::string_view key, const RawRecord& record, operators::Arena& arena);
  Status ReadKeyArray(std::string_view key, const RawRecord& record, operators::Arena& arena);

  const CockroachdbOptions options_;
  RecordMetadata metadata_;
  JsonReader json_;
  std::unique_ptr<AvroReader> avro_;  // null: JSON
  ObjectReader& reader_;              // one of them
  const std::vector<std::string> wanted_columns_;
  std::map<std::string, RowShape, std::less<>> shapes_;  // by topic: of after, before and key
  std::string shaped_topic_;                             // whose shape is in use
  RowShape* shape_ = nullptr;                            // in shapes_
  TopicTables topics_;
  std::array<ObjectMember, kMembers> members_;
  std::span<ObjectMember> top_;  // of members_: those of the message's object
  std::vector<operators::Value> key_;
  std::string scratch_;
};

}  // namespace weir::connectors
