#include "connectors/postgres/committer.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "connectors/format/hlc.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/sql.h"
#include "connectors/postgres/transaction.h"

namespace weir::connectors {

using checkpoint::Committable;
using checkpoint::Marker;

namespace {

constexpr int kFenceTries = 3;

}  // namespace

PostgresCommitter::PostgresCommitter(const PostgresSinkOptions& options, PostgresClientFactory& factory,
                                     const operators::CommitterContext& context)
    : options_(options),
      factory_(factory),
      context_(context),
      marker_name_{options.marker_schema, kPostgresMarkerTable},
      markers_(marker_name_.Quoted()),
      waiting_(context.job, options_.policies, *context.clock) {}

PostgresCommitter::~PostgresCommitter() = default;

Status PostgresCommitter::Connect() {
  if (session_ != nullptr) return {};
  owner_.clear();
  WEIR_ASSIGN_OR_RETURN(session_, factory_.Connect(options_.connection));
  return {};
}

Status PostgresCommitter::Do(std::string sql) {
  const auto done = session_->ExecuteOne({.sql = std::move(sql)});
  return done.has_value() ? Status::Ok() : done.error();
}

Result<std::optional<Marker>> PostgresCommitter::Peek() {
  WEIR_RETURN_IF_ERROR(Connect());
  Result<std::optional<Marker>> marker = FindMarker();
  if (!marker.has_value()) session_ = nullptr;
  return marker;
}

Result<std::optional<Marker>> PostgresCommitter::ReadMarker() {
  WEIR_CHECK(!owner_.empty());
  if (session_ == nullptr) return Error(Status::Unavailable("the session to PostgreSQL was lost"));
  return FindMarker();
}

Result<std::optional<Marker>> PostgresCommitter::FindMarker() {
  WEIR_ASSIGN_OR_RETURN(const bool there, TableExists(*session_, marker_name_));
  if (!there) return std::optional<Marker>();
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer,
                        session_->ExecuteOne({.sql = "SELECT storage, attempt, number, id FROM " + markers_ +
                                                     " WHERE job = $1 AND storage IS NOT NULL",
                                              .parameters = {PostgresParameter::Text(context_.job)}}));
  if (answer.rows.empty()) return std::optional<Marker>();
  const auto& row = answer.rows.front();
  const auto read = [&]() -> Result<Marker> {
    Marker marker;
    marker.job = context_.job;
    WEIR_ASSIGN_OR_RETURN(marker.storage, UniqueId::Parse(row[0].value_or("")));
    WEIR_ASSIGN_OR_RETURN(marker.attempt, UniqueId::Parse(row[1].value_or("")));
    WEIR_ASSIGN_OR_RETURN(marker.checkpoint.id, UniqueId::Parse(row[3].value_or("")));
    const std::string number = row[2].value_or("");
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), marker.checkpoint.number);
    if (error != std::errc() || end != number.data() + number.size() || number.empty()) {
      return Error(Status::InvalidArgument("number is \"" + number + "\""));
    }
    return marker;
  };
  Result<Marker> marker = read();
  if (marker.has_value()) return std::optional(std::move(*marker));
  return Error(Status::Corruption("the row of job \"" + context_.job + "\" in table " + marker_name_.ToString() +
                                  " is no marker: " + marker.error().message()));
}

// Several jobs may do so at once; whose table it is does not matter.
Status PostgresCommitter::MakeMarkerTable() {
  WEIR_ASSIGN_OR_RETURN(const bool there, TableExists(*session_, marker_name_));
  if (there) return {};
  const Status made = Do("CREATE TABLE IF NOT EXISTS " + markers_ +
                         " (job text PRIMARY KEY, storage text, attempt text, number bigint, id text, owner uuid, "
                         "backend integer, backend_start timestamptz, written timestamptz, frontier numeric(30,10), "
                         "newest numeric(30,10))");
  if (made.ok()) return {};
  const Result<bool> there_now = TableExists(*session_, marker_name_);
  return there_now.value_or(false) ? Status::Ok() : made.WithContext("table " + marker_name_.ToString());
}

Status PostgresCommitter::CheckNoneWaits() {
  if (waiting_.on()) return {};
  const PostgresTableName name{options_.marker_schema, kPostgresWaitingTable};
  WEIR_ASSIGN_OR_RETURN(const bool there, TableExists(*session_, name));
  if (!there) return {};
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer,
                        session_->ExecuteOne({.sql = "SELECT EXISTS (SELECT FROM " + name.Quoted() + " WHERE job = $1)",
                                              .parameters = {PostgresParameter::Text(context_.job)}}));
  if (answer.rows.at(0).at(0) != "t") return {};
  return Status::FailedPrecondition("rows of job " + context_.job + " still wait in table " + name.ToString() +
                                    ": expected on-missing-parent wait until none does, or that they are deleted");
}

Status PostgresCommitter::MakeFrontierColumns() {
  WEIR_ASSIGN_OR_RETURN(const TargetTable table, LoadTargetTable(*session_, marker_name_));
  const bool had_frontier = table.Find("frontier").has_value();
  has_frontier_ = had_frontier && table.Find("newest").has_value();
  if (has_frontier_ || (!options_.frontier && !had_frontier)) return {};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.fence_timeout).count();
  const std::vector<PostgresStatement> statements = {{"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"},
                                                     {"SET LOCAL lock_timeout = " + std::to_string(ms)},
                                                     {"ALTER TABLE " + markers_ +
                                                      " ADD COLUMN IF NOT EXISTS frontier numeric(30,10), "
                                                      "ADD COLUMN IF NOT EXISTS newest numeric(30,10)"},
                                                     {"COMMIT"}};
  const auto added = session_->Execute(statements);
  if (!added.has_value()) return added.error().WithContext("table " + marker_name_.ToString());
  has_frontier_ = true;
  return {};
}

// From the owner just read to a new one: what a lost session has sent to do the same comes too late, whenever it is
// done.
Status PostgresCommitter::TakeRow() {
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer before,
                        session_->ExecuteOne({.sql = "SELECT owner::text FROM " + markers_ + " WHERE job = $1",
                                              .parameters = {PostgresParameter::Text(context_.job)}}));
  PostgresParameter owner;
  if (!before.rows.empty() && before.rows[0][0].has_value()) owner.text = *before.rows[0][0];
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.fence_timeout).count();
  const std::vector<PostgresStatement> statements = {
      {"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"},
      {"SET LOCAL lock_timeout = " + std::to_string(ms)},
      {.sql = "INSERT INTO " + markers_ + " (job) VALUES ($1) ON CONFLICT (job) DO NOTHING",
       .parameters = {PostgresParameter::Text(context_.job)}},
      {.sql =
           "UPDATE " + markers_ +
           " SET owner = gen_random_uuid(), backend = pg_backend_pid(), backend_start = (SELECT a.backend_start FROM "
           "pg_stat_activity AS a WHERE a.pid = pg_backend_pid()) WHERE job = $1 AND owner IS NOT DISTINCT FROM "
           "$2::uuid RETURNING owner::text",
       .parameters = {PostgresParameter::Text(context_.job), owner}},
      {"COMMIT"}};
  WEIR_ASSIGN_OR_RETURN(const std::vector<PostgresAnswer> done, session_->Execute(statements));
  if (done[3].rows.empty()) return Status::Unavailable("another start has fenced at the same time");
  owner_ = done[3].rows[0][0].value_or("");
  return {};
}

Status PostgresCommitter::EndOwner() {
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer,
                        session_->ExecuteOne({.sql = "SELECT a.pid, pg_terminate_backend(a.pid) FROM " + markers_ +
                                                     " AS m JOIN pg_stat_activity AS a ON a.pid = m.backend AND "
                                                     "a.backend_start = m.backend_start "
                                                     "WHERE m.job = $1 AND a.pid <> pg_backend_pid()",
                                              .parameters = {PostgresParameter::Text(context_.job)}}));
  for (const auto& row : answer.rows) {
    LogWarning("an older process of job " + context_.job + " does not let go of its marker in table " +
               marker_name_.ToString() + ": its session " + row[0].value_or("") + " at the server has been ended");
  }
  return {};
}

Status PostgresCommitter::Fence() {
  if (!owner_.empty()) session_ = nullptr;
  WEIR_RETURN_IF_ERROR(Connect());
  const auto fence = [this]() -> Status {
    WEIR_RETURN_IF_ERROR(CheckNoneWaits());
    WEIR_RETURN_IF_ERROR(MakeMarkerTable());
    for (int i = 0;; ++i) {
      const Status taken = TakeRow();
      constexpr char kLockNotAvailable[] = "55P03";
      const std::string state = session_->refusal().sqlstate;
      if (taken.ok()) return MakeFrontierColumns();
      if (state != kLockNotAvailable) return taken;
      WEIR_RETURN_IF_ERROR(Do("ROLLBACK"));
      if (i == kFenceTries) {
        return Status::Unavailable("another session holds the row of job " + context_.job + " in table " +
                                   marker_name_.ToString() + " and does not let go of it");
      }
      WEIR_RETURN_IF_ERROR(EndOwner());
    }
  };
  Status status = fence();
  if (!status.ok()) session_ = nullptr;
  return status;
}

Status PostgresCommitter::Sign(const Marker& marker, std::span<const Committable> /*listed*/) {
  return Transact(marker, {});
}

Status PostgresCommitter::Apply(const Marker& marker, std::span<const Committable> committables) {
  return Transact(marker, committables);
}

// Whatever fails in the end, the session is of no more use: the next fence makes a new one.
Status PostgresCommitter::Transact(const Marker& marker, std::span<const Committable> committables) {
  if (session_ == nullptr || owner_.empty()) return Status::Unavailable("the session to PostgreSQL was lost");
  const Status status =
      WriteInTransaction(*session_, options_.policies, waiting_,
                         {.begin = [&] { return ChangeMarker(marker); },
                          .read = [&](const TakeSegmentRow& take) { return ReadSegments(committables, take); },
                          .end = [this] { return ShowFrontier(); },
                          .metrics = context_.metrics});
  if (!status.ok()) session_ = nullptr;
  return status;
}

Status PostgresCommitter::ReadSegments(std::span<const Committable> committables, const TakeSegmentRow& take) {
  // An older segment of a writer may be among them, of a checkpoint that was given up.
  std::map<std::pair<std::string, uint64_t>, operators::EventTime> newest;  // by sink and subtask
  newest_ = operators::EventTime::Min();
  for (const Committable& segment : committables) {
    const auto take_of_sink = [&](const SegmentRow& row) {
      SegmentRow of_sink = row;
      of_sink.uid = segment.uid;
      newest_ = std::max(newest_, row.time);
      return take(of_sink);
    };
    std::optional<SegmentFrontier> frontier;
    const std::string path = JoinPath(context_.output_folder, segment.segment);
    WEIR_RETURN_IF_ERROR(ReadPostgresSegment(*context_.file_system, path, take_of_sink, &frontier));
    if (!frontier.has_value()) continue;
    operators::EventTime& time = newest[{segment.uid, frontier->subtask}];
    time = std::max(time, frontier->time);
  }
  frontier_.reset();
  if (!newest.empty()) frontier_ = std::ranges::min(newest | std::views::values);
  if (frontier_ == operators::EventTime::Min()) frontier_.reset();
  return {};
}

// Rows without a time say nothing. What another storage has written counts: it is in the target.
Status PostgresCommitter::ShowFrontier() {
  if (!has_frontier_) return {};
  std::string frontier;
  std::string newest;
  PostgresStatement statement{.parameters = {PostgresParameter::Text(context_.job), {}, {}}};
  if (frontier_.has_value()) {
    AppendHlc(*frontier_, frontier);
    statement.parameters[1].text = frontier;
  }
  if (newest_ != operators::EventTime::Min()) {
    AppendHlc(newest_, newest);
    statement.parameters[2].text = newest;
  }
  const std::string all_went = waiting_.waiting() > 0 ? "false AND " : "";
  statement.sql = "UPDATE " + markers_ + " SET frontier = CASE WHEN " + all_went +
                  "coalesce(greatest(newest, $3::numeric) <= greatest(frontier, $2::numeric), true) "
                  "THEN greatest(frontier, $2::numeric) END, newest = greatest(newest, $3::numeric) WHERE job = $1";
  const auto done = session_->ExecuteOne(std::move(statement));
  return done.has_value() ? Status::Ok() : done.error();
}

Status PostgresCommitter::ChangeMarker(const Marker& marker) {
  const std::string storage = marker.storage.ToString();
  const std::string attempt = marker.attempt.ToString();
  const std::string number = std::to_string(marker.checkpoint.number);
  const std::string id = marker.checkpoint.id.ToString();
  // What another storage has reached says nothing of ours.
  const std::string frontier = has_frontier_ ? ", frontier = CASE WHEN storage = $3 THEN frontier END" : "";
  const std::vector<PostgresStatement> statements = {
      {"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"},
      {.sql = "UPDATE " + markers_ + " SET storage = $3, attempt = $4, number = $5::bigint, id = $6, written = now()" +
              frontier +
              " "
              "WHERE job = $1 AND owner = $2::uuid",
       .parameters = {PostgresParameter::Text(context_.job), PostgresParameter::Text(owner_),
                      PostgresParameter::Text(storage), PostgresParameter::Text(attempt),
                      PostgresParameter::Text(number), PostgresParameter::Text(id)}}};
  WEIR_ASSIGN_OR_RETURN(const std::vector<PostgresAnswer> answers, session_->Execute(statements));
  if (answers[1].affected == 1) return {};
  return Status::Fenced("the row of job " + context_.job + " in table " + marker_name_.ToString() +
                        " has another owner, or is gone");
}

}  // namespace weir::connectors
