// One transaction of rows: quick, and where the server refuses a row's values once more, carefully (table_writer.h).
// Its session's thread.
#pragma once

#include <functional>

#include "base/status.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment.h"

namespace weir::connectors {

// `begin` opens the transaction; `read` gives all rows to what it is called with, and does so again if it is called
// again. After kUnavailable nobody knows whether it was committed; after any other error it was not, and the session
// may still be within it: it is of no more use.
Status WriteInTransaction(PostgresSession& session, const PostgresPolicies& policies,
                          const std::function<Status()>& begin,
                          const std::function<Status(const TakeSegmentRow& take)>& read);

}  // namespace weir::connectors
