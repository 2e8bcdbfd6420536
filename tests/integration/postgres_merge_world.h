// A postgres sink whose rows are compared with their target's, on a real server; it counts what is sent there, and lets
// somebody else act in between. One thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {

class WatchedWorld final : public RealPostgresWorld {
 public:
  connectors::PostgresClientFactory& factory() override { return watched_; }
  uint64_t round_trips() const { return watched_.round_trips; }
  uint64_t statements() const { return watched_.statements; }
  // Called with each statement before it is sent.
  void Watch(std::function<void(const std::string& sql)> watch) { watched_.watch = std::move(watch); }

 private:
  struct Factory final : connectors::PostgresClientFactory {
    explicit Factory(connectors::PostgresClientFactory& factory) : real(factory) {}
    Result<connectors::PostgresAddress> AddressOf(const std::string& conninfo) const override {
      return real.AddressOf(conninfo);
    }
    Result<std::unique_ptr<connectors::PostgresSession>> Connect(
        const connectors::PostgresConnection& connection) override {
      WEIR_ASSIGN_OR_RETURN(auto session, real.Connect(connection));
      return std::make_unique<Session>(*this, std::move(session));
    }
    connectors::PostgresClientFactory& real;
    uint64_t round_trips = 0;
    uint64_t statements = 0;
    std::function<void(const std::string& sql)> watch = {};
  };
  struct Session final : connectors::PostgresSession {
    Session(Factory& counts, std::unique_ptr<connectors::PostgresSession> session)
        : factory(counts), real(std::move(session)) {}
    Result<std::vector<connectors::PostgresAnswer>> Execute(
        std::span<const connectors::PostgresStatement> statements) override {
      ++factory.round_trips;
      factory.statements += statements.size();
      for (const auto& statement : statements) {
        if (factory.watch) factory.watch(statement.sql);
      }
      return real->Execute(statements);
    }
    const connectors::PostgresRefusal& refusal() const override { return real->refusal(); }
    Factory& factory;
    const std::unique_ptr<connectors::PostgresSession> real;
  };
  Factory watched_{RealPostgresWorld::factory()};
};

class PostgresMergeTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<PostgresJob> Started(Definition rules, Definition more = {}) {
    more.emplace_back("table-column", Text("t"));
    more.emplace_back("tables", Object({{"one", Object(std::move(rules))}}));
    more.emplace_back("ordering", Text(GetParam()));
    more.emplace_back("dead-letter-table", Text("dead"));
    auto job = std::make_unique<PostgresJob>(world_, std::move(more), ++starts_);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  std::unique_ptr<PostgresJob> Merging(const char* otherwise, Definition columns = {}, Definition rules = {}) {
    rules.emplace_back("on-conflict", Text("merge"));
    rules.emplace_back("merge", Object({{"columns", Object(std::move(columns))}, {"otherwise", Text(otherwise)}}));
    return Started(std::move(rules));
  }
  // Rows of the table "one", without its name; a checkpoint.
  static Status Bring(PostgresJob& job, std::vector<std::string> columns, std::vector<TestRow> rows) {
    columns.insert(columns.begin(), "t");
    for (TestRow& row : rows) row.values.insert(row.values.begin(), String("one"));
    WEIR_RETURN_IF_ERROR(job.Write(columns, rows));
    return job.Checkpoint();
  }
  // "conflicts merges dropped dead-lettered overwritten"
  static std::string Counts(PostgresJob& job) {
    std::string counts;
    for (const char* name :
         {"conflicts", "merges", "conflicts_dropped", "conflicts_dead_lettered", "conflicts_overwritten"}) {
      counts += (counts.empty() ? "" : " ") + std::to_string(job.Counter(name, "public.one"));
    }
    return counts;
  }
  std::vector<std::string> One() { return world_.Query("SELECT * FROM one ORDER BY id"); }
  std::vector<std::string> Dead() { return world_.Query("SELECT key, kind, error FROM dead ORDER BY key"); }

  WatchedWorld world_;
  uint64_t starts_ = 0;
};

}  // namespace weir::postgres_test
