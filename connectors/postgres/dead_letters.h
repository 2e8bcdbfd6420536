// The dead-letter table of one transaction, and how refused rows are named to people. Its session's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment.h"
#include "operators/event_time.h"

namespace weir::connectors {

struct RefusedRow {
  std::string table;  // "schema.table"
  bool deletes = false;
  std::vector<std::pair<std::string_view, PostgresCell>> cells = {};  // column, value
  std::vector<std::string> key = {};                                  // names of its columns; may be empty
  operators::EventTime time = {};
  std::string_view origin = {};  // a JSON object: which record it was; empty: not known
  // Of a conflict (merge.h), which has `cells` only if it does not delete.
  struct Conflict {
    std::vector<std::pair<std::string_view, PostgresCell>> before = {};
    std::vector<std::pair<std::string_view, PostgresCell>> target = {};
  };
  std::optional<Conflict> conflict = {};

  // As it stands in its segment, for a row that is no row of its table. `key`: names of the table's columns.
  static RefusedRow Of(const SegmentRow& row, std::string table, std::vector<std::string> key);

  // A JSON object of texts; of a conflict the objects {"proposed": .., "before": .., "target": ..}, or null.
  std::string Text() const;
  // "(id)=(5)"; where the row has no key, the row itself, cut off.
  std::string KeyText() const;
};

class PostgresDeadLetters {
 public:
  PostgresDeadLetters(PostgresSession& session, const PostgresPolicies& policies)
      : session_(session), policies_(policies) {}

  // Names table, key, time and cause.
  static Status Error(const RefusedRow& row, const PostgresRefusal& refusal);
  // To the dead letters, or, without a table for them, the error.
  Status Refuse(const RefusedRow& row, const PostgresRefusal& refusal);
  Status Write(const RefusedRow& row, const PostgresRefusal& refusal);
  uint64_t written() const { return written_; }

 private:
  // The table is there, with all columns.
  Status Prepare();

  PostgresSession& session_;
  const PostgresPolicies& policies_;
  bool prepared_ = false;
  uint64_t written_ = 0;
};

}  // namespace weir::connectors
