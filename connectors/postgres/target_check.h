// Whether the sink's table is there and fits (where rows name their tables: whether an order suits all of the schema),
// asked once on a Worker when a writer opens, so that a definition that can't work fails before its output waits in a
// durable checkpoint. A task's thread.
#pragma once

#include <memory>
#include <optional>

#include "base/mailbox.h"
#include "base/worker.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/sql.h"
#include "operators/schema.h"
#include "operators/sink.h"

namespace weir::connectors {

// The table, if it is there and fits the options; FailedPrecondition says what does not. Waits for the server.
Result<TargetTable> FindTarget(const PostgresSinkOptions& options, PostgresClientFactory& factory);

class PostgresTargetCheck {
 public:
  PostgresTargetCheck(const PostgresSinkOptions& options, PostgresClientFactory& factory,
                      const operators::WriterContext& context);
  ~PostgresTargetCheck();

  // Ok too while nobody knows, and if the server can't be reached: that is the committer's business.
  Status Take();
  // The same for rows of this schema.
  Status CheckColumns(const operators::Schema& schema);

 private:
  const PostgresSinkOptions& options_;
  PostgresClientFactory& factory_;
  Mailbox<Result<TargetTable>> answer_;  // synchronises itself
  std::optional<Result<TargetTable>> result_;
  std::unique_ptr<Worker> worker_;  // last: its job uses what is above
};

}  // namespace weir::connectors
