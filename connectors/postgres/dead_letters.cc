#include "connectors/postgres/dead_letters.h"

#include <algorithm>
#include <utility>

#include "base/json_escape.h"
#include "connectors/format/hlc.h"
#include "connectors/format/json_text.h"
#include "connectors/postgres/sql.h"
#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

// For people, and for a column of text: what is no text in hexadecimal digits.
std::string Readable(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string bytes;
  AppendPostgresText(bytes, operators::Value::Text(operators::ValueType::kBytes, text));
  return bytes;
}

// What the server can store.
std::string Storable(std::string text) {
  for (size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) text.replace(at, 1, "\\x00");
  return text;
}

// At most 100 bytes of it.
std::string Excerpt(std::string text) {
  size_t size = 100;
  if (text.size() <= size) return text;
  while ((static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) --size;
  return text.substr(0, size) + "...";
}

// " of 1700000000000000000.0000000000"
std::string OfTime(operators::EventTime time) {
  if (time == operators::EventTime::Min()) return {};
  std::string text = " of ";
  AppendHlc(time, text);
  return text;
}

using Cells = std::vector<std::pair<std::string_view, PostgresCell>>;

std::string ObjectOf(const Cells& cells) {
  std::string text = "{";
  for (const auto& [name, value] : cells) {
    if (text.size() > 1) text += ',';
    AppendJsonString(text, name);
    text += ':';
    if (!value.has_value()) {
      text += "null";
    } else {
      AppendJsonString(text, Readable(*value));
    }
  }
  return text + '}';
}

const char* KindOf(const RefusedRow& row) {
  if (row.conflict.has_value()) return "conflict";
  return row.deletes ? "delete" : "write";
}

}  // namespace

RefusedRow RefusedRow::Of(const SegmentRow& row, std::string table, std::vector<std::string> key) {
  RefusedRow refused{.table = std::move(table),
                     .deletes = row.target.upsert && operators::IsRetraction(row.kind),
                     .key = std::move(key),
                     .time = row.time,
                     .origin = row.origin};
  if (!row.target.key_column.empty()) refused.key = {row.target.key_column};
  for (size_t i = 0; i < row.values.size(); ++i) {
    if (!row.values[i].absent) refused.cells.emplace_back(row.columns[i], row.values[i].text);
  }
  return refused;
}

std::string RefusedRow::Text() const {
  if (!conflict.has_value()) return ObjectOf(cells);
  const auto object = [](const Cells& of) { return of.empty() ? "null" : ObjectOf(of); };
  return "{\"proposed\":" + (deletes ? "null" : ObjectOf(cells)) + ",\"before\":" + object(conflict->before) +
         ",\"target\":" + object(conflict->target) + '}';
}

std::string RefusedRow::KeyText() const {
  std::string names;
  std::string values;
  for (const std::string& column : key) {
    const auto cell = std::ranges::find(cells, column, [](const auto& one) { return one.first; });
    if (cell == cells.end()) continue;
    names += (names.empty() ? "" : ", ") + column;
    values += (values.empty() ? "" : ", ") + (cell->second.has_value() ? Excerpt(Readable(*cell->second)) : "null");
  }
  return names.empty() ? operators::QuotedExcerpt(Text()) : "(" + names + ")=(" + values + ")";
}

Status PostgresDeadLetters::Error(const RefusedRow& row, const PostgresRefusal& refusal) {
  return Status::FailedPrecondition("table " + row.table + " refuses the row with key " + row.KeyText() +
                                    OfTime(row.time) + ": " + RefusalText(refusal));
}

Status PostgresDeadLetters::Refuse(const RefusedRow& row, const PostgresRefusal& refusal) {
  return policies_.dead_letters.has_value() ? Write(row, refusal) : Error(row, refusal);
}

Status PostgresDeadLetters::Prepare() {
  if (std::exchange(prepared_, true)) return {};
  const std::string table = policies_.dead_letters->Quoted();
  // A column is added only if it is missing: ALTER TABLE would wait for everybody who reads the table.
  WEIR_ASSIGN_OR_RETURN(
      const PostgresAnswer answer,
      session_.ExecuteOne({.sql = "SELECT to_regclass($1) IS NOT NULL, EXISTS (SELECT FROM pg_attribute "
                                  "WHERE attrelid = to_regclass($1) AND attname = 'origin' AND NOT "
                                  "attisdropped)",
                           .parameters = {PostgresParameter::Text(table)}}));
  const auto& is = answer.rows.at(0);
  if (is.at(1) == "t") return {};
  const auto made = session_.ExecuteOne(
      {is.at(0) == "t" ? "ALTER TABLE " + table + " ADD COLUMN origin json"
                       : "CREATE TABLE " + table +
                             " (at timestamptz NOT NULL DEFAULT now(), target text NOT NULL, kind text NOT NULL, "
                             "key text, row json, sqlstate text, error text, origin json)"});
  return made.has_value() ? Status::Ok() : made.error();
}

Status PostgresDeadLetters::Write(const RefusedRow& row, const PostgresRefusal& refusal) {
  const std::string table = Storable(row.table);
  const std::string key = Storable(row.KeyText());
  const std::string text = row.Text();
  const std::string error =
      Storable(RefusalText(refusal)) + (OfTime(row.time).empty() ? "" : "; row" + OfTime(row.time));
  const std::string in_table = "dead-letter table " + policies_.dead_letters->ToString();
  if (const Status prepared = Prepare(); !prepared.ok()) return prepared.WithContext(in_table);
  const auto written =
      session_.ExecuteOne({.sql = "INSERT INTO " + policies_.dead_letters->Quoted() +
                                  " (target, kind, key, row, sqlstate, error, origin) "
                                  "VALUES ($1, $2, $3, $4::json, $5, $6, nullif($7, '')::json)",
                           .parameters = {PostgresParameter::Text(table), PostgresParameter::Text(KindOf(row)),
                                          PostgresParameter::Text(key), PostgresParameter::Text(text),
                                          PostgresParameter::Text(refusal.sqlstate), PostgresParameter::Text(error),
                                          PostgresParameter::Text(row.origin)}});
  if (!written.has_value()) return written.error().WithContext(in_table);
  ++written_;
  return {};
}

}  // namespace weir::connectors
