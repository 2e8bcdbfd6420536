// Rows that a foreign key refuses, while they wait for their parents (or, a deletion, for its children to go): a table
// weir_waiting of all jobs on a database, beside their markers, written in the transaction that would have written the
// rows. Later transactions try them again behind their own rows. One object a committer or writer; its session's
// thread.
//
//   seq   | job, sink | target         | key                  | columns            | replaces   | at, time, why | row
//   order | whose     | "schema.table" | JSON array of values | the row's, by name | row_frames | for people    |
//   frames
//
// Rows of a key go in their order: one that comes while an older one waits, waits behind it. Where versions decide
// (compare and set) a row with at least the columns of those that wait goes past them.
//
// Transactions of a job share a lock of its name; one that tries again has it alone, so what waits stays as it is while
// it is read, which is several times if rows are ordered by foreign keys.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/foreign_keys.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/sql.h"
#include "operators/metrics.h"

namespace weir::connectors {

// Rows of one statement.
struct PostgresRowGroup {
  const TargetTable& table;
  const PostgresTarget& target;
  std::span<const size_t> columns;  // the key's first
  bool deletes = false;
  bool by_version = false;                 // their versions decide, not their order
  std::string idle{};                      // SQL: rows "r" that change nothing, whatever their parents are
  std::vector<PostgresParameter> cells{};  // an array for each column
  std::vector<int64_t> places{};           // SegmentRow's; of new ones kNewPlace
  std::vector<int64_t> first_places{};     // of the oldest row that each stands for; 0: of all that are older
};

class PostgresWaitingRows {
 public:
  static constexpr int64_t kNewPlace = std::numeric_limits<int64_t>::max();

  // `job`: whose rows they are; `policies` and `clock` outlive this.
  PostgresWaitingRows(std::string job, const PostgresPolicies& policies, const Clock& clock);
  ~PostgresWaitingRows();

  bool on() const { return policies_.waiting.has_value(); }

  // A transaction, in this order; without on() all of it does nothing. `session` is within it.
  Status Begin(PostgresSession& session);
  bool tries_again() const { return tries_again_ && any_; }
  // Gives all that wait to `take`, those of a key one behind the other.
  Status Read(const TakeSegmentRow& take);
  // Behind all rows: what waits is counted.
  Status End();
  // `rows`: how many have been written.
  void Committed(uint64_t rows, operators::NamedMetrics* metrics);
  // Of the newest End.
  uint64_t waiting() const { return count_; }

  // Within a transaction.
  void UseForeignKeys(std::vector<ForeignKey> keys, bool deferred);
  bool Concerns(const TargetTable& table) const;
  // Which rows of the group have to wait, by their number from 0, and why. `of_itself`: also for rows of its own table.
  Result<std::map<size_t, std::string>> Blocked(const PostgresRowGroup& group, bool of_itself) const;
  // What belongs to a row that goes to the others that wait.
  struct Entry {
    std::string_view uid;
    std::string frames;
    std::string why;
    bool replaces = false;
    operators::EventTime time = {};
  };
  // One for each row of the group.
  Status Add(const PostgresRowGroup& group, std::span<const Entry> entries);
  // Whether rows of the group may have been said to wait, or make others superfluous.
  bool Settles(const PostgresRowGroup& group) const;
  // Takes away what need not wait any longer once the group's rows are written or refused.
  PostgresStatement Settled(const PostgresRowGroup& group) const;
  // A row that can't be written at all.
  Status Drop(int64_t place);

 private:
  bool Due() const;
  std::string BehindSql(const PostgresRowGroup& group) const;
  std::string UpsertsSql(const PostgresRowGroup& group, bool of_itself) const;
  std::string DeletesSql(const PostgresRowGroup& group, bool of_itself) const;
  Status Do(PostgresStatement statement);

  const std::string job_;
  const PostgresPolicies& policies_;
  const Clock& clock_;
  const std::string table_;  // quoted

  // Of the transaction.
  PostgresSession* session_ = nullptr;
  bool tries_again_ = false;
  bool any_ = false;  // something waits
  std::vector<ForeignKey> keys_;
  bool deferred_ = false;  // constraints that can wait for its end do
  MonotonicTime begun_;
  std::map<std::string, uint64_t> by_sink_;
  uint64_t count_ = 0;
  bool counted_all_ = false;

  // Of those that were committed.
  bool there_ = false;   // the table is
  bool known_ = false;   // how many wait
  uint64_t rows_ = 0;    // that wait; where they are many, as of when they were tried last
  uint64_t budget_ = 0;  // how many may be read again for what has been done since
  MonotonicTime tried_;
  Duration took_{};
};

}  // namespace weir::connectors
