#include "connectors/postgres/transaction.h"

#include <string>

#include "base/fault_site.h"
#include "base/log.h"
#include "connectors/postgres/dead_letters.h"
#include "connectors/postgres/deleted_keys.h"
#include "connectors/postgres/table_writer.h"

namespace weir::connectors {
namespace {

Status Do(PostgresSession& session, const char* sql) {
  const auto done = session.ExecuteOne({sql});
  return done.has_value() ? Status::Ok() : done.error();
}

}  // namespace

Status WriteInTransaction(PostgresSession& session, const PostgresPolicies& policies, PostgresWaitingRows& waiting,
                          const PostgresTransaction& transaction) {
  const auto run = [&](PostgresWork::Care care) -> Status {
    WEIR_RETURN_IF_ERROR(transaction.begin());
    WEIR_RETURN_IF_ERROR(waiting.Begin(session));
    PostgresDeadLetters dead_letters(session, policies);
    PostgresDeletedKeys deleted_keys(session, policies);
    PostgresWork work{session, policies, care, dead_letters, deleted_keys, waiting};
    PostgresWork with_care{session, policies, PostgresWork::Care::kCareful, dead_letters, deleted_keys, waiting};
    PostgresApply apply(work);
    PostgresApply again(with_care);
    const auto run_one = [&](PostgresApply& one, const ReadSegmentRows& read) {
      Status written = one.Run(read);
      if (!written.ok() && transaction.metrics != nullptr) one.CountErrorInto(*transaction.metrics);
      return written;
    };
    WEIR_RETURN_IF_ERROR(run_one(apply, transaction.read));
    if (waiting.tries_again()) {
      WEIR_RETURN_IF_ERROR(run_one(again, [&](const TakeSegmentRow& take) { return waiting.Read(take); }));
    }
    WEIR_RETURN_IF_ERROR(waiting.End());
    WEIR_RETURN_IF_ERROR(deleted_keys.Sweep());
    if (transaction.end) WEIR_RETURN_IF_ERROR(transaction.end());
    FAULT_SITE("postgres.before-commit");
    WEIR_RETURN_IF_ERROR(Do(session, "COMMIT"));
    FAULT_SITE("postgres.after-commit");
    waiting.Committed(apply.rows() + again.rows(), transaction.metrics);
    if (transaction.metrics != nullptr) {
      apply.CountInto(*transaction.metrics);
      again.CountInto(*transaction.metrics);
    }
    if (dead_letters.written() > 0) {
      LogWarning(std::to_string(dead_letters.written()) + " rows that PostgreSQL refuses are in table " +
                 policies.dead_letters->ToString());
    }
    return {};
  };
  Status status = run(PostgresWork::Care::kQuick);
  if (status.code() == StatusCode::kFailedPrecondition && IsCatalogueRefusal(session.refusal())) {
    // A table changed after it was looked at.
    WEIR_RETURN_IF_ERROR(Do(session, "ROLLBACK"));
    status = run(PostgresWork::Care::kQuick);
  }
  if (status.code() != StatusCode::kFailedPrecondition || !IsRowRefusal(session.refusal())) return status;
  WEIR_RETURN_IF_ERROR(Do(session, "ROLLBACK"));
  return run(PostgresWork::Care::kCareful);
}

}  // namespace weir::connectors
