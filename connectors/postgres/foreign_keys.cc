#include "connectors/postgres/foreign_keys.h"

#include <algorithm>
#include <utility>

namespace weir::connectors {
namespace {

using Parents = std::map<std::string, std::set<std::string>>;  // child -> parents, itself not among them

Parents ParentsOf(const std::vector<ForeignKey>& keys, bool with_deferrable) {
  Parents parents;
  for (const ForeignKey& key : keys) {
    if (key.child == key.parent || (key.deferrable && !with_deferrable)) continue;
    parents[key.child].insert(key.parent);
    parents[key.parent];
  }
  return parents;
}

// Takes away tables all of whose parents are gone, round by round, and answers what is left.
std::vector<std::string> Levels(Parents parents, std::map<std::string, size_t>& levels) {
  for (size_t level = 0;; ++level) {
    std::vector<std::string> free;
    for (const auto& [table, of_table] : parents) {
      const bool waits = std::ranges::any_of(of_table, [&](const auto& parent) { return parents.contains(parent); });
      if (!waits) free.push_back(table);
    }
    if (free.empty()) break;
    for (const std::string& table : free) {
      levels[table] = level;
      parents.erase(table);
    }
  }
  // What only hangs on a cycle is none of it.
  for (bool found = true; std::exchange(found, false);) {
    for (auto table = parents.begin(); table != parents.end();) {
      const bool needed =
          std::ranges::any_of(parents, [&](const auto& other) { return other.second.contains(table->first); });
      found = found || !needed;
      table = needed ? std::next(table) : parents.erase(table);
    }
  }
  std::vector<std::string> cycle;
  for (const auto& [table, of_table] : parents) cycle.push_back(table);
  return cycle;
}

}  // namespace

ForeignKeyOrder ForeignKeyOrder::Of(const std::vector<ForeignKey>& keys) {
  ForeignKeyOrder order;
  order.cycle_ = Levels(ParentsOf(keys, true), order.levels_);
  if (!order.cycle_.empty()) {
    order.defers_ = true;
    order.levels_.clear();
    order.cycle_ = Levels(ParentsOf(keys, false), order.levels_);
  }
  for (const ForeignKey& key : keys) {
    if (key.child != key.parent) continue;
    order.self_columns_[key.child].insert(key.nullable_columns.begin(), key.nullable_columns.end());
    if (key.nullable_columns.empty() && key.deferrable) order.defers_ = true;
  }
  return order;
}

size_t ForeignKeyOrder::LevelOf(const std::string& table) const {
  const auto level = levels_.find(table);
  return level == levels_.end() ? 0 : level->second;
}

const std::set<std::string>& ForeignKeyOrder::SelfColumnsOf(const std::string& table) const {
  static const std::set<std::string> none;
  const auto columns = self_columns_.find(table);
  return columns == self_columns_.end() ? none : columns->second;
}

bool ForeignKeyOrder::InCycle(const std::string& table) const {
  return std::ranges::find(cycle_, table) != cycle_.end();
}

Result<std::vector<ForeignKey>> LoadForeignKeys(PostgresSession& session) {
  WEIR_ASSIGN_OR_RETURN(
      const PostgresAnswer answer,
      session.ExecuteOne(
          {"SELECT k.oid::text, cn.nspname || '.' || c.relname, pn.nspname || '.' || p.relname, a.attname, "
           "k.condeferrable, a.attnotnull, b.attname, k.conname, k.confdeltype IN ('a', 'r'), "
           "EXISTS (SELECT FROM pg_constraint o WHERE o.oid = k.conparentid AND o.conrelid = k.conrelid), "
           "format('%I.%I', cn.nspname, c.relname), format('%I.%I', pn.nspname, p.relname) FROM pg_constraint k "
           "JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace "
           "JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace "
           "CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS u(child, parent) "
           "JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.child "
           "JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.parent "
           "WHERE k.contype = 'f' ORDER BY k.oid, a.attnum"}));
  std::vector<ForeignKey> keys;
  std::string newest;
  for (const auto& row : answer.rows) {
    const auto text = [&](size_t i) { return row[i].value_or(std::string()); };
    if (keys.empty() || text(0) != newest) {
      newest = text(0);
      keys.push_back({.child = text(1),
                      .parent = text(2),
                      .deferrable = text(4) == "t",
                      .name = text(7),
                      .child_sql = text(10),
                      .parent_sql = text(11),
                      .keeps_parent = text(8) == "t",
                      .of_partition = text(9) == "t"});
    }
    keys.back().columns.emplace_back(text(3), text(6));
    if (text(5) == "f") keys.back().nullable_columns.push_back(text(3));
  }
  return keys;
}

Status CheckNoCycle(const ForeignKeyOrder& order, const std::string& schema) {
  std::string tables;
  bool concerned = false;
  for (const std::string& table : order.cycle()) {
    tables += (tables.empty() ? "" : ", ") + table;
    concerned = concerned || table.starts_with(schema + ".");
  }
  if (!concerned) return {};
  return Status::FailedPrecondition("tables refer to each other in a circle: " + tables +
                                    "; no order of their rows suits their foreign keys: expected one of these "
                                    "constraints to be DEFERRABLE, or ordering arrival");
}

}  // namespace weir::connectors
