#include "tests/harness/postgres_server.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

namespace weir::harness {
namespace {

constexpr std::chrono::seconds kServerTimeout{60};
constexpr std::chrono::milliseconds kConnectInterval{50};

// Debian keeps the server's programs out of PATH.
std::string FindProgram(const std::string& name) {
  std::error_code ignored;
  for (int version = 17; version >= 13; --version) {
    std::string path = "/usr/lib/postgresql/" + std::to_string(version) + "/bin/" + name;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return name;
}

// The server refuses to run as root.
std::vector<std::string> Unprivileged(std::vector<std::string> command) {
  if (geteuid() != 0) return command;
  std::vector<std::string> result = {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                                     "--pdeathsig=KILL"};
  result.insert(result.end(), command.begin(), command.end());
  return result;
}

Result<std::string> MakeFolder() {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/weir-postgres-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return Error(Status::IoError("cannot make " + pattern));
  if (geteuid() == 0) {
    const passwd* user = getpwnam("postgres");
    if (user == nullptr) return Error(Status::NotFound("there is no user postgres to run the server as"));
    if (chown(pattern.c_str(), user->pw_uid, user->pw_gid) != 0)
      return Error(Status::IoError("cannot hand over " + pattern));
  }
  return pattern;
}

}  // namespace

Result<std::unique_ptr<PostgresServer>> PostgresServer::Start() {
  WEIR_ASSIGN_OR_RETURN(const std::string folder, MakeFolder());
  const std::string log = folder + "/log";
  WEIR_ASSIGN_OR_RETURN(
      ChildProcess initdb,
      ChildProcess::Start({.arguments = Unprivileged({FindProgram("initdb"), "-D", folder + "/data", "-U", "weir", "-A",
                                                      "trust", "--locale=C", "--encoding=UTF8", "--no-sync"}),
                           .environment = {},
                           .output_path = log}));
  if (initdb.Wait(kServerTimeout) != 0) return Error(Status::Unavailable("initdb failed, see " + log));
  std::unique_ptr<PostgresServer> server(new PostgresServer(folder));
  WEIR_RETURN_IF_ERROR(server->Restart());
  return server;
}

Status PostgresServer::Restart() {
  WEIR_ASSIGN_OR_RETURN(ChildProcess process,
                        ChildProcess::Start({.arguments = Unprivileged(
                                                 {FindProgram("postgres"), "-D", folder_ + "/data", "-k", folder_, "-c",
                                                  "listen_addresses=", "-c", "fsync=off", "-c", "TimeZone=UTC", "-c",
                                                  "log_min_messages=panic", "-c", "log_min_error_statement=panic"}),
                                             .environment = {},
                                             .output_path = folder_ + "/log"}));
  process_.emplace(std::move(process));
  return Connect();
}

void PostgresServer::Crash() {
  if (connection_ != nullptr) PQfinish(static_cast<PGconn*>(connection_));
  connection_ = nullptr;
  if (!process_.has_value()) return;
  process_->Signal(SIGQUIT);
  process_->Wait(kServerTimeout);
  process_.reset();
}

Status PostgresServer::Backup() {
  WEIR_ASSIGN_OR_RETURN(ChildProcess copy,  // with owners and modes, as the server wants them
                        ChildProcess::Start({.arguments = {"cp", "-a", folder_ + "/data", folder_ + "/backup"},
                                             .environment = {},
                                             .output_path = folder_ + "/log"}));
  return copy.Wait(kServerTimeout) == 0 ? Status::Ok() : Status::IoError("no backup, see " + folder_ + "/log");
}

Status PostgresServer::SwapWithBackup() {
  const std::string data = folder_ + "/data";
  const std::string backup = folder_ + "/backup";
  if (renameat2(AT_FDCWD, data.c_str(), AT_FDCWD, backup.c_str(), RENAME_EXCHANGE) == 0) return Status::Ok();
  return Status::IoError("cannot exchange " + data + " and " + backup);
}

Status PostgresServer::Connect() {
  const std::string parameters = conninfo();
  std::string error;
  for (auto waited = std::chrono::milliseconds(0); waited < kServerTimeout; waited += kConnectInterval) {
    PGconn* connection = PQconnectdb(parameters.c_str());
    if (PQstatus(connection) == CONNECTION_OK) {
      connection_ = connection;
      PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
      return Status::Ok();
    }
    error = PQerrorMessage(connection);
    PQfinish(connection);
    if (!process_->Running()) return Status::Unavailable("the server ended, see " + folder_ + "/log");
    std::this_thread::sleep_for(kConnectInterval);
  }
  return Status::Unavailable("the server does not answer: " + error);
}

PostgresServer::~PostgresServer() {
  Crash();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Status PostgresServer::Run(const std::string& sql) {
  PGresult* result = PQexec(static_cast<PGconn*>(connection_), sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  std::string error = PQresultErrorMessage(result);
  PQclear(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return Status::Ok();
  return Status::Internal(error + " for: " + sql);
}

std::vector<std::string> PostgresServer::Query(const std::string& sql) {
  PGresult* result = PQexec(static_cast<PGconn*>(connection_), sql.c_str());
  std::vector<std::string> lines;
  if (PQresultStatus(result) != PGRES_TUPLES_OK) lines.push_back(PQresultErrorMessage(result));
  for (int row = 0; row < PQntuples(result); ++row) {
    std::string& line = lines.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      if (column > 0) line += '|';
      line += PQgetisnull(result, row, column) != 0 ? "null" : PQgetvalue(result, row, column);
    }
  }
  PQclear(result);
  return lines;
}

void PostgresServer::Begin(const std::string& sql) { PQsendQuery(static_cast<PGconn*>(connection_), sql.c_str()); }

void PostgresServer::Settle() {
  while (PGresult* result = PQgetResult(static_cast<PGconn*>(connection_))) PQclear(result);
}

PostgresAnswer PostgresServer::Ask(const std::string& expression, const std::string& from) {
  const std::string sql =
      "SELECT x::text, pg_typeof(x) FROM (SELECT (" + expression + ") AS x FROM " + from + ") AS asked";
  PGresult* result = PQexec(static_cast<PGconn*>(connection_), sql.c_str());
  PostgresAnswer answer;
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) {
    answer.error = PQresultErrorMessage(result);
    if (answer.error.empty()) answer.error = "no row";
  } else {
    if (PQgetisnull(result, 0, 0) == 0) answer.value = PQgetvalue(result, 0, 0);
    answer.type = PQgetvalue(result, 0, 1);
  }
  PQclear(result);
  return answer;
}

std::unique_ptr<PostgresServer> StartPostgres() {
  Result<std::unique_ptr<PostgresServer>> started = PostgresServer::Start();
  if (!started.has_value()) {
    std::fprintf(stderr, "no PostgreSQL for the tests: %s\n", started.error().ToString().c_str());
    std::abort();
  }
  return std::move(*started);
}

}  // namespace weir::harness
