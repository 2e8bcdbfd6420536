// How tables refer to each other, by the server's catalogue: what must be there before what. Asked by a transaction
// that orders its rows; its session's thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "connectors/postgres/client.h"

namespace weir::connectors {

struct ForeignKey {
  std::string child;                               // "schema.table", which refers
  std::string parent;                              // is referred to
  std::vector<std::string> nullable_columns = {};  // of the child: with a NULL there the constraint says nothing
  bool deferrable = false;
  std::string name = {};
  std::vector<std::pair<std::string, std::string>> columns = {};  // of the child, of the parent
  std::string child_sql = {};                                     // quoted
  std::string parent_sql = {};
  bool keeps_parent = false;  // a parent that has children can't be deleted
  bool of_partition = false;  // stands for another one, whose parent is partitioned
};

class ForeignKeyOrder {
 public:
  // Of tables that stand in a cycle, constraints that can wait for the end of the transaction do not count.
  static ForeignKeyOrder Of(const std::vector<ForeignKey>& keys);

  // 0 for a table that refers to no other one; otherwise greater than that of all that it refers to.
  size_t LevelOf(const std::string& table) const;
  // The transaction has to begin with SET CONSTRAINTS ALL DEFERRED.
  bool defers() const { return defers_; }
  // Columns of the table by which it refers to itself, if they may be NULL. Such rows come in two steps.
  const std::set<std::string>& SelfColumnsOf(const std::string& table) const;
  // Tables that no order suits; empty: there are none.
  const std::vector<std::string>& cycle() const { return cycle_; }
  bool InCycle(const std::string& table) const;

 private:
  std::map<std::string, size_t> levels_;
  std::map<std::string, std::set<std::string>> self_columns_;
  std::vector<std::string> cycle_;
  bool defers_ = false;
};

// Of all tables of the database.
Result<std::vector<ForeignKey>> LoadForeignKeys(PostgresSession& session);
// Ok, or the error that names the tables of a cycle, if one of them is in `schema`.
Status CheckNoCycle(const ForeignKeyOrder& order, const std::string& schema);

}  // namespace weir::connectors
