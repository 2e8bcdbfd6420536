// Writes the rows of one transaction, of any number of tables, by table_writer.h: as they come, or ordered by foreign
// keys, for which the rows are read several times. Ordered, memory holds what waits for a statement and a hash for each
// key that ends deleted. One object a transaction, on its session's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/status.h"
#include "connectors/postgres/foreign_keys.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/table_writer.h"
#include "operators/metrics.h"

namespace weir::connectors {

// Gives all rows of the transaction to `take`, and does so again if it is called again.
using ReadSegmentRows = std::function<Status(const TakeSegmentRow& take)>;

class PostgresApply {
 public:
  explicit PostgresApply(PostgresWork& work) : work_(work) {}

  // All rows are written, and constraints that wait for the end of the transaction are checked.
  Status Run(const ReadSegmentRows& read);
  // By table: what was written since the start, once it is committed.
  void CountInto(operators::NamedMetrics& metrics) const;
  uint64_t rows() const;  // that were written
  // The same for a transaction that failed at a table.
  void CountErrorInto(operators::NamedMetrics& metrics) const;

 private:
  // What a target of the rows leads to.
  struct Entry {
    std::unique_ptr<PostgresTableWriter> writer = nullptr;  // null: its rows can't be written
    PostgresRefusal refusal = {};                           // why
    bool ignored = false;
    size_t level = 0;
    uint64_t rows_ignored = 0;
    std::string table = {};
    std::string uid = {};
  };

  Result<Entry*> Find(const SegmentRow& row);
  Result<Entry> Resolve(const PostgresTarget& target);
  Result<Entry> WithoutTable(const PostgresTarget& target) const;
  Status RunOrdered(const ReadSegmentRows& read);
  // Reads all rows and writes those of the level that belong to the pass.
  Status RunPass(const ReadSegmentRows& read, size_t level, PostgresPass pass);
  Status AddInOrder(const SegmentRow& row);
  Status Add(Entry& entry, const SegmentRow& row);
  Status SetAside(Entry& entry, const SegmentRow& row);
  Status FlushAll();
  bool AnyOf(size_t level, bool (PostgresTableWriter::*is)() const) const;

  PostgresWork& work_;
  ForeignKeyOrder order_;
  std::map<std::string, Entry> entries_;  // by the target's bytes in a segment; an entry stays where it is
  std::optional<PostgresTarget> newest_target_;
  Entry* newest_ = nullptr;  // of newest_target_
  Entry* failed_ = nullptr;  // at which the transaction failed
  size_t waiting_bytes_ = 0;
};

}  // namespace weir::connectors
