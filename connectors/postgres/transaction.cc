#include "connectors/postgres/transaction.h"

#include <string>

#include "base/fault_site.h"
#include "base/log.h"
#include "connectors/postgres/table_writer.h"

namespace weir::connectors {
namespace {

Status Do(PostgresSession& session, const char* sql) {
  const auto done = session.ExecuteOne({sql});
  return done.has_value() ? Status::Ok() : done.error();
}

}  // namespace

Status WriteInTransaction(PostgresSession& session, const PostgresPolicies& policies,
                          const std::function<Status()>& begin,
                          const std::function<Status(const TakeSegmentRow& take)>& read) {
  const auto run = [&](PostgresTableWriter::Care care) -> Status {
    WEIR_RETURN_IF_ERROR(begin());
    PostgresTableWriter writer(session, policies, care);
    WEIR_RETURN_IF_ERROR(read([&writer](const SegmentRow& row) { return writer.Add(row); }));
    WEIR_RETURN_IF_ERROR(writer.Finish());
    FAULT_SITE("postgres.before-commit");
    WEIR_RETURN_IF_ERROR(Do(session, "COMMIT"));
    FAULT_SITE("postgres.after-commit");
    if (writer.dead_letters() > 0) {
      LogWarning(std::to_string(writer.dead_letters()) + " rows that PostgreSQL refuses are in table " +
                 policies.dead_letters->ToString());
    }
    return {};
  };
  const Status quick = run(PostgresTableWriter::Care::kQuick);
  if (quick.code() != StatusCode::kFailedPrecondition || !IsRowRefusal(session.refusal())) return quick;
  WEIR_RETURN_IF_ERROR(Do(session, "ROLLBACK"));
  return run(PostgresTableWriter::Care::kCareful);
}

}  // namespace weir::connectors
