// A PostgreSQL of a test's own: made with initdb in a folder of its own, reached by a unix socket there, gone with the
// object. Runs as an unprivileged user also where the test runs as root. Used from one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/harness/child_process.h"

namespace weir::harness {

// One cell: nothing is NULL.
struct PostgresAnswer {
  std::optional<std::string> value;
  std::string type;   // pg_typeof
  std::string error;  // empty: it worked
};

class PostgresServer {
 public:
  // Time zone UTC, collation C, UTF-8.
  static Result<std::unique_ptr<PostgresServer>> Start();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // It ends as by a crash, all sessions with it; what was committed is there when it comes back.
  void Crash();
  Status Restart();
  // Of its data, while it has crashed: a copy is made, and the two change places.
  Status Backup();
  Status SwapWithBackup();
  // What others reach it by.
  std::string conninfo() const { return "host=" + folder_ + " user=weir dbname=postgres"; }
  std::string socket_path() const { return folder_ + "/.s.PGSQL.5432"; }

  Status Run(const std::string& sql);
  // Its rows, cells joined by '|', "null" for NULL; the error, if it has one.
  std::vector<std::string> Query(const std::string& sql);
  // Begins and does not wait; Settle does.
  void Begin(const std::string& sql);
  void Settle();
  // SELECT (expression)::text, pg_typeof(expression) FROM <from>.
  PostgresAnswer Ask(const std::string& expression, const std::string& from);

 private:
  explicit PostgresServer(std::string folder) : folder_(std::move(folder)) {}
  Status Connect();

  std::string folder_;
  std::optional<ChildProcess> process_;  // nothing: it has crashed
  void* connection_ = nullptr;           // PGconn
};

// Aborts the program with a message if it can't be started.
std::unique_ptr<PostgresServer> StartPostgres();

}  // namespace weir::harness
