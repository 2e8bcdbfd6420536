#include "connectors/postgres/waiting_rows.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "connectors/format/hlc.h"

namespace weir::connectors {
namespace {

// A transaction may always read as many again; above it, what has been written since decides.
constexpr uint64_t kFewRows = 1000;
constexpr uint64_t kReadAgainPerRow = 4;
constexpr Duration kPause = std::chrono::seconds(10);
constexpr int kPauseOfTries = 10;  // times as long as the last try took, if that is longer
constexpr char kReadRows[] = "200";

std::string Joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

std::string Parameter(size_t number, std::string_view type) {
  return "$" + std::to_string(number) + "::" + std::string(type);
}

// "$1::text[], $2::text[]"
std::string Arrays(size_t first, size_t count) {
  std::vector<std::string> arrays;
  for (size_t i = 0; i < count; ++i) arrays.push_back(Parameter(first + i, "text[]"));
  return Joined(arrays, ", ");
}

// "{5,7}"
std::string ArrayText(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(std::to_string(number));
  return "{" + Joined(texts, ",") + "}";
}

std::string CellNames(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("c" + std::to_string(i));
  return Joined(names, ", ");
}

std::string KeySql(const PostgresRowGroup& group) {
  return "jsonb_build_array(" + ValuesSql(group.table, group.target, group.columns, group.target.key) + ")";
}

void AppendHex(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4U];
    out += kDigits[static_cast<unsigned char>(c) & 15U];
  }
}

std::string BytesOf(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>((digit(hex[i]) << 4) + digit(hex[i + 1]));
  }
  return bytes;
}

int64_t Number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

PostgresWaitingRows::PostgresWaitingRows(std::string job, const PostgresPolicies& policies, const Clock& clock)
    : job_(std::move(job)),
      policies_(policies),
      clock_(clock),
      table_(policies.waiting.has_value() ? policies.waiting->Quoted() : std::string()) {}

PostgresWaitingRows::~PostgresWaitingRows() {
  if (rows_ == 0) return;
  LogWarning(std::to_string(rows_) + " rows of job " + job_ + " wait in table " + policies_.waiting->ToString() +
             " for rows that they refer to; the next start tries them again");
}

Status PostgresWaitingRows::Do(PostgresStatement statement) {
  const auto done = session_->ExecuteOne(std::move(statement));
  return done.has_value() ? Status::Ok() : done.error().WithContext("table " + policies_.waiting->ToString());
}

bool PostgresWaitingRows::Due() const {
  if (!known_) return true;
  return rows_ > 0 && (rows_ <= budget_ || clock_.Now() - tried_ >= std::max(kPause, kPauseOfTries * took_));
}

Status PostgresWaitingRows::Begin(PostgresSession& session) {
  if (!on()) return {};
  session_ = &session;
  any_ = false;
  begun_ = clock_.Now();
  tries_again_ = Due();
  const std::string name = "weir_waiting " + job_;
  const std::string lock = tries_again_ ? "pg_advisory_xact_lock" : "pg_advisory_xact_lock_shared";
  const PostgresStatement locks{.sql = "SELECT " + lock + "(hashtextextended($1, 0))",
                                .parameters = {PostgresParameter::Text(name)}};
  WEIR_RETURN_IF_ERROR(Do(locks));
  if (!there_) {
    WEIR_ASSIGN_OR_RETURN(const bool there, TableExists(session, *policies_.waiting));
    if (!there) {
      WEIR_RETURN_IF_ERROR(
          Do({"CREATE TABLE IF NOT EXISTS " + table_ +
              " (seq bigserial PRIMARY KEY, job text NOT NULL, sink text NOT NULL, target text NOT NULL, "
              "key jsonb NOT NULL, columns text[] NOT NULL, replaces boolean NOT NULL, at timestamptz NOT NULL "
              "DEFAULT now(), time numeric(30,10), why text, row bytea NOT NULL)"}));
      WEIR_RETURN_IF_ERROR(Do({"CREATE INDEX ON " + table_ + " (job, target, key, seq)"}));
    }
  }
  const std::vector<PostgresStatement> statements = {
      {"SET CONSTRAINTS ALL IMMEDIATE"},
      {.sql = "SELECT EXISTS (SELECT FROM " + table_ + " WHERE job = $1)",
       .parameters = {PostgresParameter::Text(job_)}}};
  const auto answers = session.Execute(statements);
  if (!answers.has_value()) {
    there_ = false;
    return answers.error().WithContext("table " + policies_.waiting->ToString());
  }
  any_ = (*answers)[1].rows.at(0).at(0) == "t";
  return {};
}

Status PostgresWaitingRows::Read(const TakeSegmentRow& take) {
  WEIR_RETURN_IF_ERROR(
      Do({.sql = "DECLARE weir_waits NO SCROLL CURSOR FOR SELECT seq, sink, replaces, encode(row, 'hex') FROM " +
                 table_ + " WHERE job = $1 ORDER BY target, key, seq",
          .parameters = {PostgresParameter::Text(job_)}}));
  for (;;) {
    const std::string fetch = std::string("FETCH ") + kReadRows + " FROM weir_waits";
    WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer, session_->ExecuteOne({fetch}));
    if (answer.rows.empty()) return Do({"CLOSE weir_waits"});
    for (const auto& row : answer.rows) {
      const std::string number = row[0].value_or("");
      const std::string sink = row[1].value_or("");
      bool replaces = row[2] == "t";
      const Status read = ReadPostgresRows(BytesOf(row[3].value_or("")), [&](const SegmentRow& frame) {
        SegmentRow waits = frame;
        waits.uid = sink;
        waits.place = Number(number);
        waits.replaces = std::exchange(replaces, false);
        return take(waits);
      });
      if (read.code() == StatusCode::kCorruption)
        return read.WithContext("row " + number + " of table " + policies_.waiting->ToString());
      WEIR_RETURN_IF_ERROR(read);
    }
  }
}

Status PostgresWaitingRows::End() {
  if (!on()) return {};
  const std::string limit = tries_again_ ? "" : " LIMIT " + std::to_string(kFewRows + 1);
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer,
                        session_->ExecuteOne({.sql = "SELECT w.sink, count(*) FROM (SELECT sink FROM " + table_ +
                                                     " WHERE job = $1" + limit + ") AS w GROUP BY w.sink",
                                              .parameters = {PostgresParameter::Text(job_)}}));
  for (auto& [sink, count] : by_sink_) count = 0;
  count_ = 0;
  for (const auto& row : answer.rows) {
    const auto count = static_cast<uint64_t>(Number(row[1].value_or("")));
    by_sink_[row[0].value_or("")] = count;
    count_ += count;
  }
  counted_all_ = tries_again_ || count_ <= kFewRows;
  return {};
}

void PostgresWaitingRows::Committed(uint64_t rows, operators::NamedMetrics* metrics) {
  if (!on()) return;
  there_ = known_ = true;
  if (rows_ == 0 && count_ > 0) {
    LogInfo("rows of job " + job_ + " wait in table " + policies_.waiting->ToString() + " for rows that they refer to");
  } else if (rows_ > 0 && count_ == 0) {
    LogInfo("no row of job " + job_ + " waits any more in table " + policies_.waiting->ToString());
  }
  rows_ = counted_all_ ? count_ : std::max(rows_, count_);
  if (tries_again_) {
    budget_ = 0;
    tried_ = clock_.Now();
    took_ = tried_ - begun_;
  }
  budget_ += kFewRows + kReadAgainPerRow * rows;
  if (metrics == nullptr || !counted_all_) return;
  for (auto& [sink, count] : by_sink_) metrics->Gauge(sink, "rows_waiting") = static_cast<double>(count);
}

void PostgresWaitingRows::UseForeignKeys(std::vector<ForeignKey> keys, bool deferred) {
  keys_ = std::move(keys);
  deferred_ = deferred;
}

bool PostgresWaitingRows::Concerns(const TargetTable& table) const {
  const std::string name = table.name.ToString();
  return on() && (any_ || std::ranges::any_of(
                              keys_, [&](const ForeignKey& key) { return key.child == name || key.parent == name; }));
}

// $n + 1: the rows' first places, $n + 2: the job, $n + 3: names of the columns.
std::string PostgresWaitingRows::BehindSql(const PostgresRowGroup& group) const {
  const size_t n = group.columns.size();
  std::string sql = "EXISTS (SELECT FROM " + table_ + " AS x WHERE x.job = " + Parameter(n + 2, "text") +
                    " AND x.target = " + QuotedLiteral(group.table.name.ToString()) + " AND x.key = " + KeySql(group) +
                    " AND x.seq < r.s";
  if (group.by_version) sql += " AND NOT x.columns <@ " + Parameter(n + 3, "text[]");
  return sql + ")";
}

// CASE WHEN ... THEN 'why' ... END for rows "r".
std::string PostgresWaitingRows::UpsertsSql(const PostgresRowGroup& group, bool of_itself) const {
  const TargetTable& table = group.table;
  const PostgresTarget& target = group.target;
  const std::span<const size_t> columns = group.columns;
  std::string sql = "CASE";
  if (!group.idle.empty()) sql += " WHEN " + group.idle + " THEN NULL";
  sql += " WHEN " + BehindSql(group) + " THEN 'an older row of its key waits'";
  const std::string name = table.name.ToString();
  for (const ForeignKey& key : keys_) {
    const bool self = key.child == key.parent;
    if (key.child != name || key.of_partition || (self && !of_itself) || (key.deferrable && deferred_)) continue;
    std::vector<std::string> conditions;
    std::vector<std::string> same;
    std::vector<std::string> same_here;  // among the rows themselves
    for (const auto& [of_child, of_parent] : key.columns) {
      const auto cell_of = [&](const std::string& column) {
        return std::ranges::find(columns, table.Find(column).value_or(table.columns.size()));
      };
      if (cell_of(of_child) == columns.end()) break;
      const std::string value = ValuesSql(table, target, columns, {of_child});
      conditions.push_back(value + " IS NOT NULL");
      same.push_back("p." + QuotedIdentifier(of_parent) + " = " + value);
      const auto cell = self ? cell_of(of_parent) : columns.end();
      if (cell != columns.end()) same_here.push_back("s.c" + std::to_string(cell - columns.begin()) + " = " + value);
    }
    if (same.size() < key.columns.size()) continue;  // what the row lacks is known by the server alone
    conditions.push_back("NOT EXISTS (SELECT FROM " + key.parent_sql + " AS p WHERE " + Joined(same, " AND ") + ")");
    if (same_here.size() == key.columns.size()) {
      conditions.push_back("NOT EXISTS (SELECT FROM (" + RowsSql(table, target, columns) + ") AS s WHERE " +
                           Joined(same_here, " AND ") + ")");
    }
    sql += " WHEN " + Joined(conditions, " AND ") + " THEN " + QuotedLiteral(key.name + ": not in " + key.parent);
  }
  return sql + " END";
}

// The same for deletions "d", which delete rows "t". Empty: nothing keeps them.
std::string PostgresWaitingRows::DeletesSql(const PostgresRowGroup& group, bool of_itself) const {
  std::string sql;
  const std::string name = group.table.name.ToString();
  for (const ForeignKey& key : keys_) {
    const bool self = key.child == key.parent;
    if (key.parent != name || !key.keeps_parent || (self && !of_itself) || (key.deferrable && deferred_)) continue;
    std::vector<std::string> same;
    for (const auto& [of_child, of_parent] : key.columns) {
      same.push_back("c." + QuotedIdentifier(of_child) + " = t." + QuotedIdentifier(of_parent));
    }
    if (self) {
      std::vector<std::string> deleted;
      for (size_t i = 0; i < group.target.key.size(); ++i) {
        deleted.push_back("c." + QuotedIdentifier(group.target.key[i]) + " = e.c" + std::to_string(i));
      }
      same.push_back("NOT EXISTS (SELECT FROM (" + RowsSql(group.table, group.target, group.columns) + ") AS e WHERE " +
                     Joined(deleted, " AND ") + ")");
    }
    sql += " WHEN EXISTS (SELECT FROM " + key.child_sql + " AS c WHERE " + Joined(same, " AND ") + ") THEN " +
           QuotedLiteral(key.name + ": still referred to by " + key.child);
  }
  return sql.empty() ? sql : "CASE" + sql + " END";
}

Result<std::map<size_t, std::string>> PostgresWaitingRows::Blocked(const PostgresRowGroup& group,
                                                                   bool of_itself) const {
  std::map<size_t, std::string> blocked;
  const size_t n = group.columns.size();
  PostgresStatement statement{.sql = "SELECT b.o, b.why FROM (SELECT ", .parameters = group.cells};
  std::vector<PostgresCell> names;
  const std::string places = ArrayText(group.first_places);
  if (group.deletes) {
    const std::string why = DeletesSql(group, of_itself);
    if (why.empty()) return blocked;
    statement.sql += "d.o, " + why + " AS why FROM " + group.table.name.Quoted() + " AS t, " +
                     DeletedRowsSql(group.table, group.target, group.columns, true);
  } else {
    for (const size_t column : group.columns) names.emplace_back(group.table.columns[column].name);
    statement.sql += "r.o, " + UpsertsSql(group, of_itself) + " AS why FROM unnest(" + Arrays(1, n) + ", " +
                     Parameter(n + 1, "bigint[]") + ") WITH ORDINALITY AS r(" + CellNames(n) + ", s, o)";
    statement.parameters.push_back(PostgresParameter::Text(places));
    statement.parameters.push_back(PostgresParameter::Text(job_));
    if (group.by_version) statement.parameters.push_back(PostgresParameter::Array(names));
  }
  statement.sql += ") AS b WHERE b.why IS NOT NULL";
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer, session_->ExecuteOne(std::move(statement)));
  for (const auto& row : answer.rows) {
    blocked[static_cast<size_t>(Number(row[0].value_or(""))) - 1] = row[1].value_or("");
  }
  return blocked;
}

Status PostgresWaitingRows::Add(const PostgresRowGroup& group, std::span<const Entry> entries) {
  const size_t keys = group.target.key.size();
  std::vector<PostgresCell> names;
  for (const size_t column : group.columns) names.emplace_back(group.table.columns[column].name);
  std::vector<std::string> texts;  // stay in place: the cells below
  texts.reserve(2 * entries.size());
  std::vector<PostgresCell> sinks;
  std::vector<PostgresCell> replaces;
  std::vector<PostgresCell> times;
  std::vector<PostgresCell> whys;
  std::vector<PostgresCell> rows;
  for (const Entry& entry : entries) {
    sinks.emplace_back(entry.uid);
    replaces.emplace_back(entry.replaces ? "t" : "f");
    whys.emplace_back(entry.why);
    times.emplace_back();
    if (entry.time != operators::EventTime::Min()) {
      AppendHlc(entry.time, texts.emplace_back());
      times.back() = texts.back();
    }
    AppendHex(texts.emplace_back(), entry.frames);
    rows.emplace_back(texts.back());
  }
  PostgresStatement statement{.parameters = {group.cells.begin(), group.cells.begin() + static_cast<int64_t>(keys)}};
  for (const std::vector<PostgresCell>* array : {&sinks, &replaces, &times, &whys, &rows, &names}) {
    statement.parameters.push_back(PostgresParameter::Array(*array));
  }
  statement.parameters.push_back(PostgresParameter::Text(job_));
  statement.sql = "INSERT INTO " + table_ + " (job, sink, target, key, columns, replaces, time, why, row) SELECT " +
                  Parameter(keys + 7, "text") + ", r.sink, " + QuotedLiteral(group.table.name.ToString()) + ", " +
                  KeySql(group) + ", " + Parameter(keys + 6, "text[]") +
                  ", r.replaces::boolean, r.time::numeric, r.why, decode(r.row, 'hex') FROM unnest(" +
                  Arrays(1, keys + 5) + ") WITH ORDINALITY AS r(" + CellNames(keys) +
                  ", sink, replaces, time, why, row, o) ORDER BY r.o";
  any_ = true;
  return Do(std::move(statement));
}

bool PostgresWaitingRows::Settles(const PostgresRowGroup& group) const {
  if (!on() || !any_) return false;
  const auto waits = [](int64_t place) { return place != kNewPlace; };
  return (group.deletes && !group.by_version) || std::ranges::any_of(group.places, waits) ||
         std::ranges::any_of(group.first_places, waits);
}

PostgresStatement PostgresWaitingRows::Settled(const PostgresRowGroup& group) const {
  const size_t keys = group.target.key.size();
  PostgresStatement statement{.parameters = {group.cells.begin(), group.cells.begin() + static_cast<int64_t>(keys)}};
  statement.parameters.push_back(PostgresParameter::Text(job_));
  // Each key by itself, whatever the server takes for the best way: it knows nothing of a table that has just grown.
  statement.sql = "DELETE FROM " + table_ + " WHERE seq = ANY (ARRAY(SELECT x.seq FROM unnest(" + Arrays(1, keys) +
                  ", '" + ArrayText(group.places) + "'::bigint[]) AS r(" + CellNames(keys) +
                  ", s) CROSS JOIN LATERAL (SELECT w.seq FROM " + table_ +
                  " AS w WHERE w.job = " + Parameter(keys + 1, "text") +
                  " AND w.target = " + QuotedLiteral(group.table.name.ToString()) + " AND w.key = " + KeySql(group) +
                  " AND w.seq " + (group.by_version ? "=" : "<=") + " r.s OFFSET 0) AS x))";
  return statement;
}

Status PostgresWaitingRows::Drop(int64_t place) {
  if (place == 0) return {};
  const std::string seq = std::to_string(place);
  return Do({.sql = "DELETE FROM " + table_ + " WHERE seq = $1::bigint", .parameters = {PostgresParameter::Text(seq)}});
}

}  // namespace weir::connectors
