// The PostgresClient port: a connection that waits for the server, so that it is used from a Worker (or the starting
// thread) only, by one thread at a time. One real implementation (libpq_client.h). Values are always bound, never part
// of the SQL text. No message of it holds the connection text, which may carry a password.
//
// Errors of a statement by SQLSTATE: kUnavailable for a lost connection and for what another try can help (40001,
// 40P01, 53, 55P03, 57, 08, 25P03); kFailedPrecondition for what the server's catalogue, rights or data refuse (22, 23,
// 42, 44, 21, 0A, 3F, P0); kInternal for the rest. What the server said besides is in `refusal`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace weir::connectors {

struct PostgresConnection {
  std::string conninfo;        // libpq's key=value text or URI; secret
  Duration connect_timeout{};  // whole seconds, at least 2
  Duration statement_timeout{};
};

// Where a conninfo leads, environment and defaults included; nothing secret.
struct PostgresAddress {
  std::string host;  // name, address, or folder of a unix socket; empty: the default socket
  std::string port;
  std::string database;
  // "db.example.com:5432/orders"
  std::string ToString() const { return host + ":" + port + "/" + database; }
};

using PostgresCell = std::optional<std::string_view>;  // nothing: NULL

// What stands for $1, $2, ...: a text (of any type that the SQL casts it to), or an array of texts.
struct PostgresParameter {
  PostgresCell text = {};
  std::span<const PostgresCell> array = {};
  bool is_array = false;

  static PostgresParameter Text(std::string_view text) { return {.text = text}; }
  static PostgresParameter Array(std::span<const PostgresCell> cells) { return {.array = cells, .is_array = true}; }
};

// `sql` and what the parameters point to stay valid for the call.
struct PostgresStatement {
  std::string sql = {};
  std::vector<PostgresParameter> parameters = {};
};

struct PostgresAnswer {
  std::vector<std::vector<std::optional<std::string>>> rows;
  uint64_t affected = 0;  // rows that an INSERT, UPDATE or DELETE touched
  std::string tag;        // "INSERT 0 5", "COMMIT"
};

// What the server said of the statement that failed; all empty if it was no server that spoke.
struct PostgresRefusal {
  std::string sqlstate = {};
  std::string message = {};
  std::string detail = {};
  std::string table = {};  // "schema.table"
  std::string column = {};
  std::string constraint = {};
};

inline constexpr char kPostgresForeignKeyViolation[] = "23503";

class PostgresSession {
 public:
  virtual ~PostgresSession() = default;
  // In order and in one round trip; what follows a statement that failed is not done. Without a BEGIN among them, or
  // open before, they are one transaction. After kUnavailable nobody knows what was done: the session is of no more
  // use.
  virtual Result<std::vector<PostgresAnswer>> Execute(std::span<const PostgresStatement> statements) = 0;
  // Of the newest Execute that failed.
  virtual const PostgresRefusal& refusal() const = 0;

  Result<PostgresAnswer> ExecuteOne(PostgresStatement statement);
};

class PostgresClientFactory {
 public:
  virtual ~PostgresClientFactory() = default;
  // Pure. InvalidArgument, without the text, if it is no conninfo.
  virtual Result<PostgresAddress> AddressOf(const std::string& conninfo) const = 0;
  // A session with time zone UTC, ISO dates, UTF-8 and keep-alive; the server ends it where a transaction is left idle.
  // Unavailable names address and cause.
  virtual Result<std::unique_ptr<PostgresSession>> Connect(const PostgresConnection& connection) = 0;
};

// The codes above.
StatusCode CodeOfSqlState(std::string_view sqlstate);
// True if a row's values are to blame: 22, 23, 44, P0001, and 21000 (a key twice in one statement).
bool IsRowRefusal(const PostgresRefusal& refusal);
// True if a table or column is not what the catalogue said just before: 42P01, 42703.
bool IsCatalogueRefusal(const PostgresRefusal& refusal);
// "ERROR 23505: duplicate key value ...; Key (id)=(5) already exists.; table public.t, constraint t_pkey"
std::string RefusalText(const PostgresRefusal& refusal);

}  // namespace weir::connectors
