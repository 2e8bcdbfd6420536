#include "tests/simulation/sim_postgres.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "tests/simulation/sim_postgres_sql.h"

namespace weir::simulation {
namespace {

using connectors::PostgresAnswer;
using connectors::PostgresCell;
using connectors::PostgresRefusal;
using connectors::PostgresStatement;

constexpr char kMarkers[] = "public.weir_markers";

// Numbers with as many digits behind the point; nothing is the smallest.
bool IsSmallerNumber(const SimPostgres::Cell& a, const SimPostgres::Cell& b) {
  if (!a.has_value() || !b.has_value()) return !a.has_value() && b.has_value();
  return a->size() != b->size() ? a->size() < b->size() : *a < *b;
}

Status Lost() { return Status::Unavailable("the connection to the simulated PostgreSQL was lost"); }

}  // namespace

// The client's end of a backend.
class SimPostgres::Session final : public connectors::PostgresSession {
 public:
  Session(SimPostgres& server, uint64_t pid, std::function<bool()> dead)
      : server_(server), pid_(pid), dead_(std::move(dead)) {}
  ~Session() override { server_.Orphan(pid_); }

  Result<std::vector<PostgresAnswer>> Execute(std::span<const PostgresStatement> statements) override {
    refusal_ = {};
    return server_.Run(pid_, statements, dead_ && dead_(), refusal_);
  }
  const PostgresRefusal& refusal() const override { return refusal_; }

 private:
  SimPostgres& server_;
  const uint64_t pid_;
  const std::function<bool()> dead_;
  PostgresRefusal refusal_;
};

class SimPostgres::Factory final : public connectors::PostgresClientFactory {
 public:
  Factory(SimPostgres& server, std::function<bool()> dead) : server_(server), dead_(std::move(dead)) {}

  Result<connectors::PostgresAddress> AddressOf(const std::string&) const override {
    return connectors::PostgresAddress{.host = "sim", .port = "5432", .database = "db"};
  }
  Result<std::unique_ptr<connectors::PostgresSession>> Connect(const connectors::PostgresConnection&) override {
    if (dead_ && dead_()) return Error(Lost());
    WEIR_ASSIGN_OR_RETURN(const uint64_t pid, server_.Connect());
    return std::make_unique<Session>(server_, pid, dead_);
  }

 private:
  SimPostgres& server_;
  const std::function<bool()> dead_;
};

std::unique_ptr<connectors::PostgresClientFactory> SimPostgres::NewClientFactory(std::function<bool()> dead) {
  return std::make_unique<Factory>(*this, std::move(dead));
}

void SimPostgres::CreateTable(const std::string& name, std::vector<std::string> columns, std::vector<std::string> key) {
  tables_[name] = {.columns = std::move(columns), .key = std::move(key), .rows = {}};
}

void SimPostgres::Refer(const std::string& child, const std::string& column, const std::string& parent) {
  tables_.at(child).references.emplace_back(column, parent);
  has_references_ = true;
}

std::vector<SimPostgres::Row> SimPostgres::Rows(const std::string& name) const {
  const auto table = tables_.find(name);
  return table == tables_.end() ? std::vector<Row>() : table->second.rows;
}

uint64_t SimPostgres::MarkerNumber(const std::string& job) const {
  const std::optional<Row> marker = Marker({}, job);
  if (!marker.has_value()) return 0;
  return std::stoull(CellOf(*marker, "number").value_or("0"));
}

SimPostgres::Cell SimPostgres::MarkerAttempt(const std::string& job) const {
  const std::optional<Row> marker = Marker({}, job);
  return marker.has_value() ? CellOf(*marker, "attempt") : std::nullopt;
}

void SimPostgres::DeleteMarker(const std::string& job) {
  Apply({.table = kMarkers, .deletes = true, .key = {"job"}, .row = {{"job", job}}});
}

void SimPostgres::SetReachable(bool reachable) {
  reachable_ = reachable;
  if (reachable) return;
  for (auto& [pid, backend] : backends_) backend.orphaned = true;
}

Result<uint64_t> SimPostgres::Connect() {
  RunOrphans();
  if (!reachable_) return Error(Status::Unavailable("the simulated PostgreSQL can't be reached"));
  backends_[++pids_] = {};
  return pids_;
}

void SimPostgres::Abort(uint64_t pid) {
  Backend& backend = backends_[pid];
  backend.transaction.reset();
  backend.savepoints.clear();
  backend.failed = false;
  std::erase_if(marker_locks_, [pid](const auto& lock) { return lock.second == pid; });
}

void SimPostgres::End(uint64_t pid) {
  Abort(pid);
  backends_.erase(pid);
}

void SimPostgres::Orphan(uint64_t pid) {
  const auto backend = backends_.find(pid);
  if (backend == backends_.end()) return;
  backend->second.orphaned = true;
  if (!backend->second.late && !random_->OneIn(4)) End(pid);
}

void SimPostgres::RunOrphans() {
  std::vector<uint64_t> due;
  for (const auto& [pid, backend] : backends_) {
    if (backend.orphaned && random_->OneIn(15)) due.push_back(pid);
  }
  for (const uint64_t pid : due) {
    const std::function<void()> late = std::exchange(backends_[pid].late, {});
    if (late) late();
    End(pid);
  }
}

Result<std::vector<PostgresAnswer>> SimPostgres::Run(uint64_t pid, std::span<const PostgresStatement> all, bool lost,
                                                     PostgresRefusal& refusal) {
  RunOrphans();
  const auto found = backends_.find(pid);
  if (found == backends_.end() || found->second.orphaned || !reachable_) return Error(Lost());
  const auto run = [this, pid](std::span<const PostgresStatement> statements) -> std::expected<void, Refused> {
    for (const PostgresStatement& statement : statements) {
      const Answer answer = RunOne(pid, statement);
      if (!answer.has_value()) return std::unexpected(answer.error());
    }
    return {};
  };
  if (lost || (faults_.lost_one_in > 0 && random_->OneIn(faults_.lost_one_in))) {
    found->second.orphaned = true;
    const uint64_t how = random_->Below(3);
    if (how == 0) End(pid);  // nothing of it came
    if (how == 1) {          // all of it came, and is done
      (void)run(all);
      End(pid);
    }
    if (how == 2) {  // it came and waits
      struct Owned {
        std::string sql;
        std::vector<std::vector<Cell>> arrays;  // a text: one cell
        std::vector<bool> is_array;
      };
      std::vector<Owned> owned;
      for (const PostgresStatement& statement : all) {
        Owned& one = owned.emplace_back(Owned{statement.sql, {}, {}});
        for (const auto& parameter : statement.parameters) {
          std::vector<Cell>& cells = one.arrays.emplace_back();
          one.is_array.push_back(parameter.is_array);
          if (!parameter.is_array) cells.push_back(Copy(parameter.text));
          for (const PostgresCell& cell : parameter.array) cells.push_back(Copy(cell));
        }
      }
      found->second.late = [run, owned = std::move(owned)] {
        std::deque<std::vector<PostgresCell>> views;
        std::vector<PostgresStatement> statements;
        for (const Owned& one : owned) {
          PostgresStatement& statement = statements.emplace_back(PostgresStatement{one.sql});
          for (size_t i = 0; i < one.arrays.size(); ++i) {
            std::vector<PostgresCell>& view = views.emplace_back(one.arrays[i].begin(), one.arrays[i].end());
            statement.parameters.push_back(one.is_array[i] ? connectors::PostgresParameter::Array(view)
                                                           : connectors::PostgresParameter{.text = view.front()});
          }
        }
        (void)run(statements);
      };
    }
    return Error(Lost());
  }
  std::vector<PostgresAnswer> answers;
  for (const PostgresStatement& statement : all) {
    Answer answer = RunOne(pid, statement);
    if (!answer.has_value()) {
      refusal.sqlstate = answer.error().sqlstate;
      refusal.message = answer.error().message;
      return Error(Status(connectors::CodeOfSqlState(refusal.sqlstate), connectors::RefusalText(refusal)));
    }
    answers.push_back(std::move(*answer));
  }
  return answers;
}

SimPostgres::Answer SimPostgres::RunOne(uint64_t pid, const PostgresStatement& statement) {
  Backend& backend = backends_[pid];
  const std::string_view sql = statement.sql;
  const bool ends = sql.starts_with("ROLLBACK") || sql == "COMMIT";
  if (backend.failed && !ends) return std::unexpected(Refused{"25P02", "current transaction is aborted"});
  Answer answer = std::unexpected(Refused{"42601", "the simulated PostgreSQL does not know: " + statement.sql});
  const bool in_transaction = backend.transaction.has_value();
  if (in_transaction && !ends && faults_.serialization_one_in > 0 && random_->OneIn(faults_.serialization_one_in)) {
    answer = std::unexpected(Refused{"40001", "could not serialize access"});
  } else if (ends || sql.starts_with("BEGIN") || sql.starts_with("SET ") || sql.starts_with("SAVEPOINT") ||
             sql.starts_with("RELEASE")) {
    answer = RunTransaction(pid, sql);
  } else if (sql.contains("weir_markers")) {
    answer = RunOnMarkers(pid, statement);
  } else if (sql.starts_with("SELECT")) {
    answer = RunOnCatalogue(statement);
  } else if (sql.starts_with("INSERT INTO ") && in_transaction) {
    answer = RunInsert(backend, statement);
  } else if (sql.starts_with("DELETE FROM ") && in_transaction) {
    answer = RunDelete(backend, statement);
  } else if (sql.starts_with("UPDATE ") && in_transaction) {
    answer = RunEmpty(backend, statement);
  }
  if (!answer.has_value() && in_transaction) backends_[pid].failed = true;
  return answer;
}

SimPostgres::Answer SimPostgres::RunTransaction(uint64_t pid, std::string_view sql) {
  Backend& backend = backends_[pid];
  if (sql.starts_with("BEGIN")) {
    WEIR_CHECK(!backend.transaction.has_value());
    backend.transaction.emplace();
  } else if (sql == "COMMIT" && !backend.failed) {
    Commit(backend);
    Abort(pid);
  } else if (sql == "COMMIT" || sql == "ROLLBACK") {
    Abort(pid);
    return Tagged("ROLLBACK");
  } else if (sql.contains("SAVEPOINT")) {
    return std::unexpected(Refused{"0A000", "the simulated PostgreSQL has no savepoints"});
  }
  return Tagged(std::string(sql.substr(0, sql.find(' '))));
}

void SimPostgres::Commit(Backend& backend) {
  WEIR_CHECK(backend.transaction.has_value());
  for (const Write& write : *backend.transaction) Apply(write);
}

void SimPostgres::Apply(const Write& write) { ApplyTo(tables_[write.table], write); }

void SimPostgres::ApplyTo(Table& table, const Write& write) {
  const auto same = [&write](const Row& row) {
    return std::ranges::all_of(
        write.key, [&](const std::string& column) { return CellOf(row, column) == CellOf(write.row, column); });
  };
  if (write.deletes) {
    std::erase_if(table.rows, same);
    return;
  }
  if (write.only_new && std::ranges::any_of(table.rows, same)) return;
  if (write.only_there && std::ranges::none_of(table.rows, same)) return;
  const auto found = write.key.empty() ? table.rows.end() : std::ranges::find_if(table.rows, same);
  if (found == table.rows.end()) {
    table.rows.push_back(write.row);
  } else {
    for (const auto& [column, cell] : write.row) (*found)[column] = cell;
  }
}

std::optional<SimPostgres::Row> SimPostgres::Marker(const Backend& backend, const std::string& job) const {
  std::optional<Row> marker;
  const auto table = tables_.find(kMarkers);
  if (table == tables_.end()) return marker;
  for (const Row& row : table->second.rows) {
    if (CellOf(row, "job") == job) marker = row;
  }
  if (!backend.transaction.has_value()) return marker;
  for (const Write& write : *backend.transaction) {
    if (write.table != kMarkers || CellOf(write.row, "job") != job) continue;
    if (!marker.has_value()) marker.emplace();
    for (const auto& [column, cell] : write.row) (*marker)[column] = cell;
  }
  return marker;
}

bool SimPostgres::LockMarker(uint64_t pid, const std::string& job) {
  return marker_locks_.try_emplace(job, pid).first->second == pid;
}

SimPostgres::Answer SimPostgres::TakeMarker(uint64_t pid, const std::string& job, const Cell& owner, bool keeps_owner) {
  Backend& backend = backends_[pid];
  const std::optional<Row> marker = Marker(backend, job);
  if (!marker.has_value() || CellOf(*marker, "owner") != owner) return Tagged("UPDATE 0");
  const bool keeps = keeps_owner && owner.has_value();
  const std::string taken = keeps ? *owner : "owner-" + std::to_string(++owners_);
  backend.transaction->push_back(
      {.table = kMarkers, .key = {"job"}, .row = {{"job", job}, {"owner", taken}, {"backend", std::to_string(pid)}}});
  return OneCell(taken);
}

SimPostgres::Answer SimPostgres::RunOnMarkers(uint64_t pid, const PostgresStatement& statement) {
  Backend& backend = backends_[pid];
  const std::string_view sql = statement.sql;
  if (sql.starts_with("CREATE TABLE IF NOT EXISTS")) {
    tables_[kMarkers].columns = {"job", "storage", "attempt", "number", "id", "owner", "backend", "frontier", "newest"};
    return Tagged("CREATE TABLE");
  }
  const std::string job = Copy(statement.parameters.at(0).text).value_or("");
  const std::optional<Row> marker = Marker(backend, job);
  if (sql.starts_with("SELECT a.pid")) {
    PostgresAnswer ended;
    const uint64_t owner = marker.has_value() ? std::stoull(CellOf(*marker, "backend").value_or("0")) : 0;
    if (owner == pid || !backends_.contains(owner)) return ended;
    End(owner);
    ended.rows.push_back({std::to_string(owner), "t"});
    return ended;
  }
  if (sql.starts_with("SELECT owner")) {
    return marker.has_value() ? Answer(OneCell(CellOf(*marker, "owner"))) : Answer(PostgresAnswer());
  }
  if (sql.starts_with("SELECT storage")) {
    PostgresAnswer answer;
    if (marker.has_value() && CellOf(*marker, "storage").has_value()) {
      std::vector<Cell>& row = answer.rows.emplace_back();
      for (const char* column : {"storage", "attempt", "number", "id"}) row.push_back(CellOf(*marker, column));
    }
    return answer;
  }
  WEIR_CHECK(backend.transaction.has_value());
  if (!LockMarker(pid, job)) {
    return std::unexpected(sql.contains("SET storage")
                               ? Refused{"57014", "canceling statement due to statement timeout"}
                               : Refused{"55P03", "canceling statement due to lock timeout"});
  }
  if (sql.starts_with("INSERT")) {
    if (!marker.has_value()) backend.transaction->push_back({.table = kMarkers, .key = {"job"}, .row = {{"job", job}}});
    return Tagged("INSERT", marker.has_value() ? 0 : 1);
  }
  if (sql.contains("SET frontier")) {
    const auto greatest = [&](const char* column, size_t parameter) {
      const Cell before = marker.has_value() ? CellOf(*marker, column) : std::nullopt;
      return std::max(before, Copy(statement.parameters.at(parameter).text), IsSmallerNumber);
    };
    const Cell newest = greatest("newest", 2);
    Cell frontier = greatest("frontier", 1);
    if (frontier.has_value() && IsSmallerNumber(frontier, newest)) frontier.reset();
    backend.transaction->push_back(
        {.table = kMarkers, .key = {"job"}, .row = {{"job", job}, {"frontier", frontier}, {"newest", newest}}});
    return Tagged("UPDATE 1", 1);
  }
  const Cell owner = Copy(statement.parameters.at(1).text);
  if (sql.contains("gen_random_uuid")) return TakeMarker(pid, job, owner, sql.contains("coalesce(owner"));
  const bool proves = sql.contains("owner = $2");  // a planted bug does not
  if (!marker.has_value() || (proves && CellOf(*marker, "owner") != owner)) return Tagged("UPDATE 0");
  Row row = {{"job", job}};
  const char* const columns[] = {"storage", "attempt", "number", "id"};
  for (size_t i = 0; i < std::size(columns); ++i) row[columns[i]] = Copy(statement.parameters.at(i + 2).text);
  if (CellOf(*marker, "storage") != CellOf(row, "storage")) row["frontier"] = std::nullopt;
  backend.transaction->push_back({.table = kMarkers, .key = {"job"}, .row = std::move(row)});
  return Tagged("UPDATE 1", 1);
}

}  // namespace weir::simulation
