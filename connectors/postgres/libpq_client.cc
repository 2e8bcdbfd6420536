// A round trip is a pipeline: all statements are queued, then one sync, then their answers are read. What the server
// answers to the statements used here is small, so that neither side ever waits for the other to read.
#include "connectors/postgres/libpq_client.h"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace weir::connectors {
namespace {

constexpr Oid kTextArrayOid = 1009;
constexpr uint32_t kTextOid = 25;

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ResultDeleter>;
struct ConnectionDeleter {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, ConnectionDeleter>;
struct OptionsDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using OptionsPtr = std::unique_ptr<PQconninfoOption, OptionsDeleter>;

std::string OneLine(const char* text) {
  std::string line(text == nullptr ? "" : text);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string Field(const PGresult* result, int code) { return OneLine(PQresultErrorField(result, code)); }

// The binary form of a text[]: dimensions, has NULLs, element type; length, lower bound; then each element's length
// (-1: NULL) and bytes. Nothing has to be escaped.
std::string ArrayBytes(std::span<const PostgresCell> cells) {
  std::string bytes;
  AppendBigEndian32(bytes, cells.empty() ? 0 : 1);
  AppendBigEndian32(bytes, std::ranges::any_of(cells, [](const PostgresCell& cell) { return !cell.has_value(); }));
  AppendBigEndian32(bytes, kTextOid);
  if (cells.empty()) return bytes;
  AppendBigEndian32(bytes, static_cast<uint32_t>(cells.size()));
  AppendBigEndian32(bytes, 1);
  for (const PostgresCell& cell : cells) {
    AppendBigEndian32(bytes, cell.has_value() ? static_cast<uint32_t>(cell->size()) : UINT32_MAX);
    if (cell.has_value()) bytes += *cell;
  }
  return bytes;
}

std::string OptionOf(const PQconninfoOption* options, std::string_view keyword) {
  for (const PQconninfoOption* option = options; option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == keyword && option->val != nullptr) return option->val;
  }
  return {};
}

class LibpqSession final : public PostgresSession {
 public:
  LibpqSession(ConnectionPtr connection, std::string address)
      : connection_(std::move(connection)), address_(std::move(address)) {}

  Result<std::vector<PostgresAnswer>> Execute(std::span<const PostgresStatement> statements) override {
    refusal_ = {};
    if (PQenterPipelineMode(connection_.get()) != 1) return Error(Lost());
    for (const PostgresStatement& statement : statements) {
      if (!Send(statement)) return Error(Lost());
    }
    if (PQpipelineSync(connection_.get()) != 1) return Error(Lost());
    std::vector<PostgresAnswer> answers;
    Status failure;
    for (size_t i = 0; i < statements.size(); ++i) {
      // A statement's answer and the null that ends it.
      const ResultPtr result(PQgetResult(connection_.get()));
      if (result == nullptr || PQstatus(connection_.get()) != CONNECTION_OK) return Error(Lost(result.get()));
      if (failure.ok()) failure = Take(*result, answers);
      const ResultPtr end(PQgetResult(connection_.get()));
      if (end != nullptr) return Error(failure.ok() ? Lost(end.get()) : failure);
    }
    const ResultPtr sync(PQgetResult(connection_.get()));
    const bool synced = sync != nullptr && PQresultStatus(sync.get()) == PGRES_PIPELINE_SYNC &&
                        PQexitPipelineMode(connection_.get()) == 1;
    if (!failure.ok()) return Error(failure);
    if (!synced) return Error(Lost(sync.get()));
    return answers;
  }
  const PostgresRefusal& refusal() const override { return refusal_; }

 private:
  bool Send(const PostgresStatement& statement) {
    const size_t count = statement.parameters.size();
    std::vector<std::string> bytes(count);  // stays in place: the pointers below
    std::vector<Oid> types(count, 0);
    std::vector<const char*> values(count, nullptr);
    std::vector<int> lengths(count, 0);
    std::vector<int> formats(count, 0);
    for (size_t i = 0; i < count; ++i) {
      const PostgresParameter& parameter = statement.parameters[i];
      if (parameter.is_array) {
        bytes[i] = ArrayBytes(parameter.array);
        types[i] = kTextArrayOid;
        formats[i] = 1;
      } else if (parameter.text.has_value()) {
        bytes[i] = *parameter.text;
        // A null character would end the text unseen; in this form the server refuses it.
        types[i] = kTextOid;
        formats[i] = 1;
      } else {
        continue;
      }
      WEIR_CHECK_LE(bytes[i].size(), static_cast<size_t>(std::numeric_limits<int>::max()));
      values[i] = bytes[i].data();
      lengths[i] = static_cast<int>(bytes[i].size());
    }
    return PQsendQueryParams(connection_.get(), statement.sql.c_str(), static_cast<int>(count), types.data(),
                             values.data(), lengths.data(), formats.data(), 0) == 1;
  }

  Status Take(const PGresult& result, std::vector<PostgresAnswer>& answers) {
    const ExecStatusType status = PQresultStatus(&result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return Refused(&result);
    PostgresAnswer answer;
    auto* const mutable_result = const_cast<PGresult*>(&result);  // libpq's signature; it only reads
    answer.tag = PQcmdStatus(mutable_result);
    const std::string_view affected = PQcmdTuples(mutable_result);
    std::from_chars(affected.data(), affected.data() + affected.size(), answer.affected);
    for (int row = 0; row < PQntuples(&result); ++row) {
      std::vector<std::optional<std::string>>& cells = answer.rows.emplace_back();
      for (int column = 0; column < PQnfields(&result); ++column) {
        cells.emplace_back();
        if (PQgetisnull(&result, row, column) == 0) cells.back() = PQgetvalue(&result, row, column);
      }
    }
    answers.push_back(std::move(answer));
    return {};
  }

  Status Refused(const PGresult* result) {
    refusal_.sqlstate = Field(result, PG_DIAG_SQLSTATE);
    refusal_.message = Field(result, PG_DIAG_MESSAGE_PRIMARY);
    refusal_.detail = Field(result, PG_DIAG_MESSAGE_DETAIL);
    refusal_.column = Field(result, PG_DIAG_COLUMN_NAME);
    refusal_.constraint = Field(result, PG_DIAG_CONSTRAINT_NAME);
    refusal_.table = Field(result, PG_DIAG_TABLE_NAME);
    if (!refusal_.table.empty()) refusal_.table = Field(result, PG_DIAG_SCHEMA_NAME) + "." + refusal_.table;
    return {CodeOfSqlState(refusal_.sqlstate), RefusalText(refusal_)};
  }

  Status Lost(const PGresult* result = nullptr) {
    std::string cause = result == nullptr ? std::string() : Field(result, PG_DIAG_MESSAGE_PRIMARY);
    if (cause.empty()) cause = OneLine(PQerrorMessage(connection_.get()));
    return Status::Unavailable("the connection to PostgreSQL at " + address_ + " was lost: " + cause);
  }

  const ConnectionPtr connection_;
  const std::string address_;
  PostgresRefusal refusal_;
};

// An '@' or '/' in a password that is not written as %40 or %2F ends it, and its rest stands as host, port or database,
// where it would be shown.
bool IsBadlyCut(const PostgresAddress& address) {
  const bool is_path = address.host.starts_with('/') || address.host.starts_with('@');
  return (!is_path && address.host.find_first_of("@/") != std::string::npos) || address.database.contains("://") ||
         address.database.contains('@') || address.port.find_first_not_of("0123456789,") != std::string::npos;
}

class LibpqClientFactory final : public PostgresClientFactory {
 public:
  Result<PostgresAddress> AddressOf(const std::string& conninfo) const override {
    char* message = nullptr;  // may quote the text, a password in it
    const OptionsPtr given(PQconninfoParse(conninfo.c_str(), &message));
    if (message != nullptr) PQfreemem(message);
    if (given == nullptr) return Error(Status::InvalidArgument("is no libpq connection text or URI"));
    const OptionsPtr defaults(PQconndefaults());
    const auto option = [&](std::string_view keyword) {
      std::string value = OptionOf(given.get(), keyword);
      return value.empty() ? OptionOf(defaults.get(), keyword) : value;
    };
    PostgresAddress address{.host = option("host"), .port = option("port"), .database = option("dbname")};
    if (address.host.empty()) address.host = option("hostaddr");
    if (const std::string user = OptionOf(given.get(), "user");
        OptionOf(given.get(), "dbname").empty() && !user.empty())
      address.database = user;
    if (IsBadlyCut(address)) return Error(Status::InvalidArgument("is no libpq connection text or URI"));
    return address;
  }

  Result<std::unique_ptr<PostgresSession>> Connect(const PostgresConnection& connection) override {
    WEIR_ASSIGN_OR_RETURN(const PostgresAddress address, AddressOf(connection.conninfo));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(connection.connect_timeout).count();
    const std::string timeout = std::to_string(std::max<int64_t>(2, seconds));
    // What comes later wins: the definition's text may override all but the encoding.
    const std::vector<std::pair<const char*, const char*>> parameters = {{"fallback_application_name", "weir"},
                                                                         {"connect_timeout", timeout.c_str()},
                                                                         {"keepalives_idle", "10"},
                                                                         {"keepalives_interval", "5"},
                                                                         {"keepalives_count", "3"},
                                                                         {"tcp_user_timeout", "30000"},
                                                                         {"dbname", connection.conninfo.c_str()},
                                                                         {"client_encoding", "UTF8"}};
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : parameters) {
      keywords.push_back(keyword);
      values.push_back(value);
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    ConnectionPtr connected(PQconnectdbParams(keywords.data(), values.data(), 1));
    if (connected == nullptr || PQstatus(connected.get()) != CONNECTION_OK) {
      return Error(Status::Unavailable("PostgreSQL at " + address.ToString() +
                                       " can't be reached: " + OneLine(PQerrorMessage(connected.get()))));
    }
    PQsetNoticeProcessor(connected.get(), [](void*, const char*) {}, nullptr);
    auto session = std::make_unique<LibpqSession>(std::move(connected), address.ToString());
    WEIR_RETURN_IF_ERROR(Settle(*session, connection));
    return session;
  }

 private:
  static Status Settle(PostgresSession& session, const PostgresConnection& connection) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(connection.statement_timeout).count();
    const std::vector<PostgresStatement> settings = {
        {"SET TimeZone = 'UTC'"},
        {"SET DateStyle = 'ISO, YMD'"},
        {"SET statement_timeout = " + std::to_string(ms)},
        {"SELECT set_config('idle_in_transaction_session_timeout', '60s', false) "
         "WHERE current_setting('idle_in_transaction_session_timeout')::interval = '0'"}};
    const auto done = session.Execute(settings);
    return done.has_value() ? Status::Ok() : done.error();
  }
};

}  // namespace

std::unique_ptr<PostgresClientFactory> NewLibpqClientFactory() { return std::make_unique<LibpqClientFactory>(); }

}  // namespace weir::connectors
