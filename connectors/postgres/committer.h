// Brings the segments of durable checkpoints to one PostgreSQL database, each checkpoint's in one transaction that also
// holds the marker (checkpoint-protocol, "PostgreSQL"). The marker is the job's row of weir_markers, a table that is
// made if it is missing:
//
//   job | storage, attempt, number, id | owner             | backend, backend_start
//       | the marker; NULL: none yet   | who may write it  | the owner's session at the server
//   frontier: the target is the source as of this time; NULL: as of none. newest: the greatest time of any row so far
//
// Fence gives the row a new owner, a random value of the server's, and the first statement of every transaction changes
// the row where the owner is still ours. So what an older session has sent and the server not yet done can't take
// effect, not even of the same attempt. Called on the starting thread, then on the committer's own Worker.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file_system.h"
#include "checkpoint/committer.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/waiting_rows.h"
#include "operators/sink.h"

namespace weir::connectors {

inline constexpr char kPostgresMarkerTable[] = "weir_markers";

class PostgresCommitter final : public checkpoint::Committer {
 public:
  PostgresCommitter(const PostgresSinkOptions& options, PostgresClientFactory& factory,
                    const operators::CommitterContext& context);
  ~PostgresCommitter() override;

  Result<std::optional<checkpoint::Marker>> Peek() override;
  Status Fence() override;
  Result<std::optional<checkpoint::Marker>> ReadMarker() override;
  Status Sign(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> listed) override;
  // FailedPrecondition names the table, the key and the error of a row that the server refuses.
  Status Apply(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> committables) override;

 private:
  Status Connect();  // if there is no session
  Result<std::optional<checkpoint::Marker>> FindMarker();
  Status MakeMarkerTable();
  // An older release made the table without them.
  Status MakeFrontierColumns();
  // Rows that an earlier start has let wait are nobody's otherwise.
  Status CheckNoneWaits();
  // In one transaction: the row is there and ours.
  Status TakeRow();
  // Ends the session of the row's owner, if it is still there.
  Status EndOwner();
  Status Transact(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> committables);
  Status ChangeMarker(const checkpoint::Marker& marker);
  // Gives the segments' rows to `take`; the least of their frontiers, if all know one, is in frontier_ then, and the
  // rows' greatest time in newest_.
  Status ReadSegments(std::span<const checkpoint::Committable> committables, const TakeSegmentRow& take);
  // The frontier is shown only where it is all that the target holds.
  Status ShowFrontier();
  Status Do(std::string sql);

  const PostgresSinkOptions options_;
  PostgresClientFactory& factory_;
  const operators::CommitterContext context_;
  const PostgresTableName marker_name_;
  const std::string markers_;                     // the same, quoted
  std::unique_ptr<PostgresSession> session_;      // null: to be made; never within a transaction between two calls
  std::string owner_;                             // what Fence wrote over the same session; empty: not fenced
  bool has_frontier_ = false;                     // the table has the columns; known by the fence
  std::optional<operators::EventTime> frontier_;  // of what was read last
  operators::EventTime newest_;                   // the same
  PostgresWaitingRows waiting_;
};

}  // namespace weir::connectors
