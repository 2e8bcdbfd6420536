// One transaction of rows: quick, and where the server refuses a row's values once more, carefully (table_writer.h).
// Behind them come, carefully, those that have waited for their parents (waiting_rows.h).
// Its session's thread.
#pragma once

#include <functional>

#include "base/status.h"
#include "connectors/postgres/apply.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/waiting_rows.h"
#include "operators/metrics.h"

namespace weir::connectors {

struct PostgresTransaction {
  std::function<Status()> begin;  // opens it
  ReadSegmentRows read;
  std::function<Status()> end = {};            // what else belongs to it, behind all rows; may be empty
  operators::NamedMetrics* metrics = nullptr;  // null: nobody looks
};

// After kUnavailable nobody knows whether it was committed; after any other error it was not, and the session may still
// be within it: it is of no more use.
Status WriteInTransaction(PostgresSession& session, const PostgresPolicies& policies, PostgresWaitingRows& waiting,
                          const PostgresTransaction& transaction);

}  // namespace weir::connectors
