// A PostgreSQL without a network: the simulated twin of connectors/postgres/libpq_client.h. The server outlives the
// simulated process; a session's statements may reach it and their answer not, or they are done later than the client
// has given up, and a session that nobody serves may keep its transaction and its lock for a while. Same seed, same
// course; one thread.
//
// It knows the statements that the postgres sink sends and refuses all others. Modelled: transactions, the lock of the
// marker's row, pg_terminate_backend, commits without an answer, serialization failures, a key twice in one statement,
// immediate foreign keys. Not modelled: types, other constraints, locks of other rows (the later commit wins).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "connectors/postgres/client.h"

namespace weir::simulation {

struct SimPostgresFaults {
  uint64_t lost_one_in = 0;           // round trips in which the session is lost; 0: none
  uint64_t serialization_one_in = 0;  // statements of a transaction that fail with 40001; 0: none
};

class SimPostgres {
 public:
  using Cell = std::optional<std::string>;
  using Row = std::map<std::string, Cell>;  // by column

  explicit SimPostgres(std::unique_ptr<Random> random) : random_(std::move(random)) {}

  // The clients of one simulated process; does not outlive the server. `dead`: the process is as good as dead, and
  // nothing more is heard of it.
  std::unique_ptr<connectors::PostgresClientFactory> NewClientFactory(std::function<bool()> dead = {});

  // `name`: "public.t"; all columns are of type text but for the sink's looks.
  void CreateTable(const std::string& name, std::vector<std::string> columns, std::vector<std::string> key);
  // An immediate foreign key to the one key column of `parent`.
  void Refer(const std::string& child, const std::string& column, const std::string& parent);
  std::vector<Row> Rows(const std::string& name) const;  // committed
  // Number of the newest checkpoint whose output is there; 0: none.
  uint64_t MarkerNumber(const std::string& job) const;
  // Who wrote it; nothing: nobody.
  Cell MarkerAttempt(const std::string& job) const;
  void DeleteMarker(const std::string& job);

  void SetFaults(SimPostgresFaults faults) { faults_ = faults; }
  // False: sessions are lost, and none can be made.
  void SetReachable(bool reachable);

 private:
  class Session;
  class Factory;
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::string> key;  // empty: rows are only ever added
    std::vector<Row> rows;
    std::vector<std::pair<std::string, std::string>> references = {};  // column, table
  };
  struct Write {
    std::string table;
    bool deletes = false;
    bool only_there = false;       // no new row
    bool only_new = false;         // no row that is there
    std::vector<std::string> key;  // columns by which a row is found; empty: a new one
    Row row;
  };
  // A session as the server knows it.
  struct Backend {
    std::optional<std::vector<Write>> transaction;  // nothing: none is open
    std::deque<std::string> savepoints;
    bool failed = false;         // the transaction is
    bool orphaned = false;       // nobody reads its answers any more
    std::function<void()> late;  // what it has still to do then
  };
  struct Refused {
    std::string sqlstate;
    std::string message;
  };
  using Answer = std::expected<connectors::PostgresAnswer, Refused>;

  Result<uint64_t> Connect();
  // All statements; the first error ends them. `lost`: the client hears no answer.
  Result<std::vector<connectors::PostgresAnswer>> Run(uint64_t pid, std::span<const connectors::PostgresStatement> all,
                                                      bool lost, connectors::PostgresRefusal& refusal);
  Answer RunOne(uint64_t pid, const connectors::PostgresStatement& statement);
  Answer RunTransaction(uint64_t pid, std::string_view sql);
  Answer RunOnMarkers(uint64_t pid, const connectors::PostgresStatement& statement);
  Answer RunOnCatalogue(const connectors::PostgresStatement& statement) const;
  Answer RunInsert(Backend& backend, const connectors::PostgresStatement& statement);
  Answer RunDelete(Backend& backend, const connectors::PostgresStatement& statement);
  Answer RunEmpty(Backend& backend, const connectors::PostgresStatement& statement);
  Answer ForeignKeys() const;
  std::optional<Refused> Violation(const Backend& backend) const;
  // The answer, unless what was done violates a foreign key.
  Answer Checked(Backend& backend, connectors::PostgresAnswer answer);
  Answer TakeMarker(uint64_t pid, const std::string& job, const Cell& owner, bool keeps_owner);
  void Commit(Backend& backend);
  void Apply(const Write& write);
  static void ApplyTo(Table& table, const Write& write);
  // The transaction's view of the job's marker; null: there is none.
  std::optional<Row> Marker(const Backend& backend, const std::string& job) const;
  bool LockMarker(uint64_t pid, const std::string& job);
  void Abort(uint64_t pid);
  void End(uint64_t pid);
  // The client's side of it is gone.
  void Orphan(uint64_t pid);
  // What orphans do when the server comes to them.
  void RunOrphans();

  const std::unique_ptr<Random> random_;
  SimPostgresFaults faults_;
  bool reachable_ = true;
  bool has_references_ = false;
  std::map<std::string, Table> tables_;
  std::map<uint64_t, Backend> backends_;          // by pid
  std::map<std::string, uint64_t> marker_locks_;  // job -> pid
  uint64_t pids_ = 0;
  uint64_t owners_ = 0;
};

}  // namespace weir::simulation
