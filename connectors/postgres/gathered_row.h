// A row on its way to a statement, and rows that share one. Their text belongs to whoever gathers them
// (table_writer.h). A transaction's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "connectors/postgres/client.h"
#include "connectors/postgres/waiting_rows.h"
#include "operators/event_time.h"

namespace weir::connectors {

struct PostgresGatheredRow {
  // How an upsert is written.
  enum class As : uint8_t {
    kUpsert,  // whatever is there
    kNew,     // as the first with its key; otherwise it is left alone, to be compared once more
    kMerge,   // into what is there
  };

  bool deletes = false;
  bool replaces = false;                    // nothing of what was there before stays
  bool is_ours = false;                     // this transaction has made the row with its key, of this one
  bool superseded = false;                  // a later row of the key says it all
  std::vector<size_t> columns = {};         // of the table; of a deletion the key's, and the version column
  std::vector<PostgresCell> cells = {};     // one for each
  std::vector<size_t> before_columns = {};  // of the table: what the old image has; of rows that may be merged
  std::vector<PostgresCell> before_cells = {};
  std::string_view key = {};  // of an upsert
  operators::EventTime time = {};
  std::string_view origin = {};  // which record it was, for dead letters
  As as = As::kUpsert;
  int64_t place = PostgresWaitingRows::kNewPlace;        // among the rows that wait for their parents
  int64_t first_place = PostgresWaitingRows::kNewPlace;  // of the oldest row that it stands for
  std::string_view frames = {};                          // as it would wait; empty: it does already, or never can
  std::string_view image_frames = {};                    // of an old image that a row may be merged with: as that
  int tries = 0;                                         // as a new row

  bool SharesStatement(const PostgresGatheredRow& other) const {
    return deletes == other.deletes && replaces == other.replaces && as == other.as && columns == other.columns &&
           (as != As::kMerge || before_columns == other.before_columns);
  }
};

// The arrays behind statements' parameters; they stay where they are.
class PostgresArrays {
 public:
  // One for each column of the rows' shape, and with `with_before` one for each of their old image.
  std::vector<PostgresParameter> Of(std::span<const PostgresGatheredRow* const> rows, bool with_before);

 private:
  std::deque<std::vector<PostgresCell>> arrays_;
};

}  // namespace weir::connectors
