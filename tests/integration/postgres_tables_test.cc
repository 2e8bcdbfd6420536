// What only a real server can show of a postgres sink of many tables.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "connectors/postgres/target_check.h"
#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {
namespace {

using operators::RowKind;
using operators::Value;
using operators::ValueType;
using Lines = std::vector<std::string>;

constexpr RowKind kInsert = RowKind::kInsert;
constexpr RowKind kAfter = RowKind::kUpdateAfter;
constexpr RowKind kDelete = RowKind::kDelete;

class PostgresTablesTest : public testing::Test {
 protected:
  std::unique_ptr<PostgresJob> NewJob(Definition more = {}, uint64_t attempt = 1, uint32_t parallelism = 1) {
    more.emplace_back("table-column", Text("t"));
    return std::make_unique<PostgresJob>(world_, std::move(more), attempt, "orders", parallelism);
  }
  std::unique_ptr<PostgresJob> Started(Definition more = {}, uint64_t attempt = 1, uint32_t parallelism = 1) {
    auto job = NewJob(std::move(more), attempt, parallelism);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  // By a new start.
  Status Bring(Definition more, const Lines& columns, const std::vector<TestRow>& rows) {
    const auto job = Started(std::move(more), ++starts_);
    WEIR_RETURN_IF_ERROR(job->Write(columns, rows));
    return job->Checkpoint();
  }

  RealPostgresWorld world_;
  uint64_t starts_ = 0;
};

TEST_F(PostgresTablesTest, RulesThatCanOnlyBeWrongAreToldAtTheStart) {
  world_.Run("CREATE TABLE stock (id int PRIMARY KEY, qty int)");
  const auto told = [&](connectors::PostgresTableRules rules) {
    connectors::PostgresSinkOptions options;
    options.connection = {.conninfo = world_.conninfo(),
                          .connect_timeout = std::chrono::seconds(5),
                          .statement_timeout = std::chrono::seconds(30)};
    options.target.named_by_row = true;
    options.target.table.schema = "public";
    options.columns.tables["stock"] = std::move(rules);
    const auto found = connectors::FindTarget(options, world_.factory());
    return found.has_value() ? std::string("ok") : found.error().message();
  };
  EXPECT_EQ(told({.expressions = {{"qty", "$0 + 1"}}, .merged = {{"qty", "$target + ($proposed - $before)"}}}), "ok");
  EXPECT_EQ(told({.table = "not_yet", .version_columns = {"u"}}), "ok") << "it may still come";
  const std::vector<std::pair<connectors::PostgresTableRules, std::string>> wrong = {
      {{.version_columns = {"u"}}, "tables/stock/version-columns: table public.stock has no column \"u\""},
      {{.deadlines = {{"u", "1000"}}}, "tables/stock/deadlines: table public.stock has no column \"u\""},
      {{.merged = {{"nosuch", "$target"}}}, "tables/stock/merge/columns: table public.stock has no column \"nosuch\""},
      {{.merged = {{"qty", "$target + nosuch"}}}, "tables/stock/merge/columns/qty: \"$target + nosuch\" is no SQL"},
      {{.merged = {{"qty", "$target); DROP TABLE stock; --"}}}, "tables/stock/merge/columns/qty: "},
      {{.expressions = {{"qty", "$0 +"}}}, "tables/stock/expressions/qty: "}};
  for (const auto& [rules, text] : wrong) EXPECT_TRUE(told(rules).starts_with(text)) << told(rules) << "\n" << text;
}

TEST_F(PostgresTablesTest, B38_WhatNoTextCanHoldIsADeadLetterToo) {
  world_.Run("CREATE TABLE named (id text PRIMARY KEY, v text)");
  const std::string null("a\0b", 3);
  const auto random = NewSystemRandom();
  std::string wide;  // that no index takes
  for (int i = 0; i < 20'000; ++i) wide += static_cast<char>('0' + random->Below(64));
  ASSERT_EQ(Bring({{"on-missing-table", Text("dead-letter")}, {"dead-letter-table", Text("dead")}}, {"t", "id", "v"},
                  {{RowKind::kInsert, {String("named"), String(null), String("x")}},
                   {RowKind::kDelete, {String("named"), String(null), Value::Absent()}},
                   {RowKind::kInsert, {String(null), String("1"), String("x")}},
                   {RowKind::kInsert, {String("named"), String(wide), String("x")}},
                   {RowKind::kInsert, {String("named"), String("good"), String("x")}}})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM named"), (Lines{"good|x"}));
  EXPECT_EQ(world_.Query("SELECT * FROM dead").size(), 4U);
}

TEST_F(PostgresTablesTest, B28_AReaderNeverSeesAChildWithoutItsParentOrHalfATransaction) {
  world_.Run(
      "CREATE TABLE parent (id int PRIMARY KEY, v bigint);"
      "CREATE TABLE child (id int PRIMARY KEY, parent int NOT NULL REFERENCES parent NOT DEFERRABLE, v bigint);"
      "CREATE TABLE grandchild (id int PRIMARY KEY, child int NOT NULL REFERENCES child, v bigint)");
  const auto job = Started({}, 1, 2);
  // Every source transaction writes one value to all rows of a family.
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> reads = 0;
  std::string torn;
  std::thread reader([&] {
    const auto session = world_.factory().Connect({.conninfo = world_.conninfo(),
                                                   .connect_timeout = std::chrono::seconds(5),
                                                   .statement_timeout = std::chrono::seconds(30)});
    while (!stop && session.has_value() && torn.empty()) {
      const auto seen = (*session)->ExecuteOne(
          {"SELECT 'family ' || coalesce(p.id, -1) FROM parent p FULL JOIN child c ON c.parent = p.id "
           "FULL JOIN grandchild g ON g.child = c.id WHERE p.id IS NULL OR c.id IS NULL OR g.id IS NULL "
           "OR c.v <> p.v OR g.v <> p.v"});
      if (!seen.has_value()) torn = seen.error().ToString();
      if (seen.has_value() && !seen->rows.empty()) torn = seen->rows[0][0].value_or("");
      ++reads;
    }
  });
  const auto write = [&](const char* table, const char* refers, RowKind kind, int64_t id, int64_t v) {
    const auto subtask = static_cast<size_t>((id + (refers == nullptr ? 0 : refers[0])) % 2);
    const Lines columns = refers == nullptr ? Lines{"t", "id", "v"} : Lines{"t", "id", refers, "v"};
    std::vector<Value> values = {String(table), Int(id)};
    if (refers != nullptr) values.push_back(Int(id));
    values.push_back(Int(v));
    ASSERT_EQ(job->Write(columns, {{kind, values, {v, 0}}}, subtask).ToString(), "ok");
  };
  int64_t v = 0;
  for (int checkpoint = 0; checkpoint < 40; ++checkpoint) {
    for (int64_t id = 0; id < 20; ++id) {
      ++v;
      const bool deletes = (id + checkpoint) % 3 == 0;
      const RowKind kind = deletes ? kDelete : kAfter;
      // The worst order of both.
      if (deletes) write("parent", nullptr, kind, id, v);
      write("grandchild", "child", kind, id, v);
      write("child", "parent", kind, id, v);
      if (!deletes) write("parent", nullptr, kind, id, v);
    }
    ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  }
  stop = true;
  reader.join();
  EXPECT_EQ(torn, "");
  EXPECT_GT(reads, 0U);
  EXPECT_EQ(world_.Query("SELECT count(*) FROM grandchild"), (Lines{"13"}));
}

TEST_F(PostgresTablesTest, ATableThatRefersToItselfTakesItsRowsInAnyOrder) {
  world_.Run("CREATE TABLE node (id int PRIMARY KEY, up int REFERENCES node, n int NOT NULL)");
  const auto job = Started();
  std::vector<TestRow> rows;
  for (int i = 0; i < 5000; ++i) {
    rows.push_back({kInsert, {String("node"), Int(i), i == 4999 ? Value::Null() : Int(i + 1), Int(i)}});
  }
  ASSERT_EQ(job->Write({"t", "id", "up", "n"}, rows).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*), count(up), sum(up - id) FROM node"), (Lines{"5000|4999|4999"}));
  EXPECT_EQ(job->Counter("upserts", "public.node"), 5000U);
  for (TestRow& row : rows) row.kind = kDelete;
  std::ranges::reverse(rows);
  ASSERT_EQ(job->Write({"t", "id", "up", "n"}, rows).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*) FROM node"), (Lines{"0"}));
  EXPECT_EQ(job->Counter("deletes", "public.node"), 5000U);
}

TEST_F(PostgresTablesTest, Weakness_l_ACycleNeedsAConstraintThatCanWait) {
  world_.Run(
      "CREATE TABLE a (id int PRIMARY KEY, b int); CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a);"
      "ALTER TABLE a ADD CONSTRAINT to_b FOREIGN KEY (b) REFERENCES b");
  const auto refused = Started();
  const std::string error = refused->Write({"t", "id"}, {{kInsert, {String("a"), Int(1)}}}).ToString();
  EXPECT_NE(error.find("public.a, public.b"), std::string::npos) << error;
  world_.Run("ALTER TABLE a ALTER CONSTRAINT to_b DEFERRABLE");
  const auto job = Started({}, 2);
  ASSERT_EQ(job->Write({"t", "id", "b"}, {{kInsert, {String("a"), Int(1), Int(2)}}}).ToString(), "ok");
  ASSERT_EQ(job->Write({"t", "id", "a"}, {{kInsert, {String("b"), Int(2), Int(1)}}}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  ASSERT_EQ(job->Write({"t", "id"}, {{kDelete, {String("a"), Int(1)}}, {kDelete, {String("b"), Int(2)}}}).ToString(),
            "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)"), (Lines{"0|0"}));
}

TEST_F(PostgresTablesTest, NamesMatchToTheLetterOrElseInAnyCase) {
  world_.Run(
      "CREATE SCHEMA shop; CREATE TABLE shop.orders (id int PRIMARY KEY, total int, \"Total\" int);"
      "CREATE TABLE shop.\"Items\" (id int PRIMARY KEY, n int); CREATE TABLE shop.items (id int PRIMARY KEY, n int)");
  const auto job = Started({{"schema", Text("shop")}, {"on-missing-table", Text("ignore")}});
  ASSERT_EQ(
      job->Write({"t", "ID", "Total", "total"}, {{kInsert, {String("ORDERS"), Int(1), Int(10), Int(20)}}}).ToString(),
      "ok");
  ASSERT_EQ(job->Write({"t", "Id", "N"}, {{kInsert, {String("Items"), Int(1), Int(10)}},
                                          {kInsert, {String("items"), Int(2), Int(20)}},
                                          {kInsert, {String("ITEMS"), Int(3), Int(30)}}})
                .ToString(),
            "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT id, \"Total\", total FROM shop.orders"), (Lines{"1|10|20"}));
  EXPECT_EQ(world_.Query("SELECT * FROM shop.\"Items\""), (Lines{"1|10"}));
  EXPECT_EQ(world_.Query("SELECT * FROM shop.items"), (Lines{"2|20"}));
  EXPECT_EQ(job->Counter("rows_ignored", "shop.ITEMS"), 1U) << "both would do";
  world_.Run("DROP SCHEMA shop CASCADE");
}

TEST_F(PostgresTablesTest, Weakness_i_AMissingTableByPolicyAndOneThatComesLater) {
  world_.Run("CREATE TABLE there (id int PRIMARY KEY)");
  const std::vector<TestRow> rows = {{kInsert, {String("later"), Int(1)}, {1700, 2}},
                                     {kInsert, {String("there"), Int(1)}}};
  EXPECT_EQ(Bring({}, {"t", "id"}, rows).ToString(), "failed precondition: there is no table public.later");
  EXPECT_EQ(world_.Query("SELECT count(*) FROM there"), (Lines{"0"})) << "nothing of it";
  ASSERT_EQ(Bring({{"on-missing-table", Text("dead-letter")}, {"dead-letter-table", Text("dead")}}, {"t", "id"}, rows)
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT target, kind, row, error FROM dead"),
            (Lines{"public.later|write|{\"id\":\"1\"}|ERROR 42P01: there is no table public.later; table "
                   "public.later; row of 1700.0000000002"}));
  const auto job = Started({{"on-missing-table", Text("ignore")}}, ++starts_);
  ASSERT_EQ(job->Write({"t", "id"}, rows).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  world_.Run("CREATE TABLE later (id int PRIMARY KEY)");
  ASSERT_EQ(job->Write({"t", "id"}, rows).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT id FROM later"), (Lines{"1"}));
}

TEST_F(PostgresTablesTest, AColumnThatIsAddedWhileTheJobRunsIsWritten) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY)");
  const auto job = Started({{"unknown-columns", Text("ignore")}});
  const std::vector<TestRow> rows = {{kAfter, {String("one"), Int(1), Int(7)}}};
  ASSERT_EQ(job->Write({"t", "id", "n"}, rows).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  world_.Run("ALTER TABLE one ADD COLUMN n int");
  ASSERT_EQ(job->Write({"t", "id", "n"}, rows).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM one"), (Lines{"1|7"}));
}

TEST_F(PostgresTablesTest, case_H57_ADeletionByACompositeKeyTakesOneRow) {
  world_.Run(
      "CREATE TABLE one (a int, b text, n int, PRIMARY KEY (a, b));"
      "INSERT INTO one VALUES (7, 'x', 1), (7, 'y', 2), (8, 'x', 3), (8, 'y', 4)");
  const auto job = Started({{"key-column", Text("k")}, {"unknown-columns", Text("ignore")}});
  ASSERT_EQ(job->Write({"t", "k"}, {{kDelete, {String("one"), String("[7,\"x\"]")}}}).ToString(), "ok");
  ASSERT_EQ(
      job->Write({"t", "k", "b", "a"}, {{kDelete, {String("one"), String("[8,\"y\"]"), String("y"), Number("8.0")}}})
          .ToString(),
      "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT a, b FROM one ORDER BY a, b"), (Lines{"7|y", "8|x"}));
}

TEST_F(PostgresTablesTest, B35_AKeyThatDoesNotFitIsRefusedWithTableKeyAndTime) {
  world_.Run("CREATE TABLE one (a int, b text, PRIMARY KEY (a, b)); CREATE TABLE none (a int)");
  const Lines columns = {"t", "k"};
  const std::vector<TestRow> rows = {{kDelete, {String("one"), String("[7]")}, {1700, 0}}};
  const std::string error = Bring({{"key-column", Text("k")}}, columns, rows).ToString();
  EXPECT_EQ(error,
            "failed precondition: table public.one refuses the row with key (k)=([7]) of 1700.0000000000: ERROR 23502: "
            "the row "
            "has no value in its key; table public.one");
  const Definition dead = {{"key-column", Text("k")}, {"dead-letter-table", Text("dead")}};
  ASSERT_EQ(Bring(dead, columns,
                  {{kDelete, {String("one"), String("[7]")}, {1700, 0}},
                   {kDelete, {String("one"), String("[null,1]")}, {1700, 1}},
                   {kDelete, {String("one"), String("no json")}, {1700, 2}},
                   {kDelete, {String("none"), String("[1]")}, {1700, 3}}})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT target, sqlstate, key, right(error, 15) FROM dead ORDER BY 4"),
            (Lines{"public.one|23502|(k)=([7])|1700.0000000000", "public.one|23502|(k)=([null,1])|1700.0000000001",
                   "public.one|23502|(k)=(no json)|1700.0000000002", "public.none|42P10|(k)=([1])|1700.0000000003"}));
}

TEST_F(PostgresTablesTest, B40_ASparseRowKeepsWhatTheTargetHas) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, must int NOT NULL, may int, d int NOT NULL DEFAULT 5);"
      "INSERT INTO one VALUES (1, 10, 11, 12)");
  const auto job = Started();
  const Lines columns = {"t", "id", "must", "may", "d"};
  const Value absent = Value::Absent();
  ASSERT_EQ(job->Write(columns, {{kAfter, {String("one"), Int(1), absent, Value::Null(), absent}},
                                 {kAfter, {String("one"), Int(2), Int(20), absent, absent}}})
                .ToString(),
            "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM one ORDER BY id"), (Lines{"1|10|null|12", "2|20|null|5"}));
}

// No second database: what is written anywhere is the row in its table and, once a checkpoint, the marker.
TEST_F(PostgresTablesTest, Weakness_a_ARowIsOneWrite) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, v int); CREATE TABLE two (id int PRIMARY KEY REFERENCES one)");
  auto job = Started();
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(job->Write({"t", "id", "v"}, {{kInsert, {String("one"), Int(i), Int(1)}}}).ToString(), "ok");
    ASSERT_EQ(job->Write({"t", "id"}, {{kInsert, {String("two"), Int(i)}}}).ToString(), "ok");
  }
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  job.reset();
  const std::string writes =
      "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname <> 'weir_markers' "
      "ORDER BY 1";
  const Lines expected = {"one|100", "two|100"};
  // Sessions tell their counts when they end.
  for (int i = 0; i < 100 && world_.Query(writes) != expected; ++i) world_.Query("SELECT pg_sleep(0.02)");
  EXPECT_EQ(world_.Query(writes), expected);
  EXPECT_EQ(world_.Query("SELECT count(*) FROM weir_markers"), Lines{"1"});
}

TEST_F(PostgresTablesTest, case_H43_NumbersWithExponentsArriveExactly) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, amt numeric(20,8), i int8)");
  const auto job = Started({{"dead-letter-table", Text("dead")}});
  ASSERT_EQ(job->Write({"t", "id", "amt", "i"}, {{kInsert, {String("one"), Int(1), Number("7E+3"), Number("7E+3")}},
                                                 {kInsert, {String("one"), Int(2), Number("7E-3"), Int(0)}},
                                                 {kInsert, {String("one"), Int(3), Number("5.25E9"), Int(0)}},
                                                 {kInsert, {String("one"), Int(4), String("-3E-7"), Int(0)}},
                                                 {kInsert, {String("one"), Int(5), Int(0), Number("0.007")}}})
                .ToString(),
            "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM one ORDER BY id"),
            (Lines{"1|7000.00000000|7000", "2|0.00700000|0", "3|5250000000.00000000|0", "4|-0.00000030|0"}));
  EXPECT_EQ(world_.Query("SELECT key, sqlstate FROM dead"), (Lines{"(id)=(5)|22P02"}));
}

TEST_F(PostgresTablesTest, case_H54_TheFrontierDoesNotPassARowThatIsRefused) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, n int CONSTRAINT low CHECK (n < 10))");
  auto job = Started();
  for (int64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(job->Write({"t", "id", "n"}, {{kInsert, {String("one"), Int(i), Int(i == 4 ? 99 : i)}}}).ToString(),
              "ok");
  }
  ASSERT_EQ(job->Watermark({100, 0}).ToString(), "ok");
  const auto first = *job->Seal();
  ASSERT_EQ(job->Watermark({200, 0}).ToString(), "ok");
  const auto second = *job->Seal();
  const std::string error = job->Apply(first).ToString();
  EXPECT_NE(error.find("table public.one refuses the row with key (id)=(4)"), std::string::npos) << error;
  EXPECT_EQ(job->Counter("apply_errors", "public.one"), 2U) << "quickly and carefully";
  EXPECT_FALSE(job->Apply(second).ok());
  EXPECT_EQ(world_.Query("SELECT number, frontier FROM weir_markers"), (Lines{"0|null"}));
  world_.Run("ALTER TABLE one DROP CONSTRAINT low");
  job = Started({}, 2);
  ASSERT_EQ(job->Apply(first).ToString(), "ok");
  ASSERT_EQ(job->Apply(second).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT number, frontier FROM weir_markers"), (Lines{"2|200.0000000000"}));
  EXPECT_EQ(world_.Query("SELECT count(*), max(n) FROM one"), (Lines{"10|99"}));
}

TEST_F(PostgresTablesTest, AMarkerTableOfAnOlderReleaseGetsTheFrontier) {
  world_.Run(
      "CREATE TABLE weir_markers (job text PRIMARY KEY, storage text, attempt text, number bigint, id text, owner "
      "uuid, "
      "backend integer, backend_start timestamptz, written timestamptz); CREATE TABLE one (id int PRIMARY KEY)");
  PostgresJob plain(world_, {{"table", Text("one")}}, 1, "plain");
  ASSERT_EQ(plain.Start().ToString(), "ok");
  ASSERT_EQ(plain.Apply({}).ToString(), "ok");
  const auto job = Started();
  ASSERT_EQ(job->Watermark({1'700'000'000'123'456'789, 2}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  ASSERT_EQ(plain.Apply({}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT job, number, frontier FROM weir_markers ORDER BY job"),
            (Lines{"orders|1|1700000000123456789.0000000002", "plain|2|null"}));
}

TEST_F(PostgresTablesTest, AtLeastOnceIsOrderedToo) {
  world_.Run(
      "CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES "
      "parent)");
  const auto job = Started({{"delivery", Text("at-least-once")}});
  ASSERT_EQ(job->Write({"t", "id", "parent"}, {{kInsert, {String("child"), Int(1), Int(2)}}}).ToString(), "ok");
  ASSERT_EQ(job->Write({"t", "id"}, {{kInsert, {String("parent"), Int(2)}}}).ToString(), "ok");
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(world_.Query("SELECT * FROM child"), (Lines{"1|2"}));
  ASSERT_EQ(
      job->Write({"t", "id"}, {{kDelete, {String("parent"), Int(2)}}, {kDelete, {String("child"), Int(1)}}}).ToString(),
      "ok");
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(world_.Query("SELECT count(*) FROM parent"), (Lines{"0"}));
  EXPECT_EQ(job->Counter("deletes", "public.parent"), 1U);
}

TEST_F(PostgresTablesTest, ARowThatIsRefusedGoesToTheDeadLettersAndTheOthersArrive) {
  world_.Run(
      "CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent);"
      "INSERT INTO parent VALUES (5); INSERT INTO child VALUES (5, 5)");
  const auto job = Started({{"dead-letter-table", Text("dead")}});
  ASSERT_EQ(job->Write({"t", "id", "parent"},
                       {{kInsert, {String("child"), Int(1), Int(2)}}, {kInsert, {String("child"), Int(2), Int(9)}}})
                .ToString(),
            "ok");
  ASSERT_EQ(job->Write({"t", "id"}, {{kInsert, {String("parent"), Int(2)}}, {kDelete, {String("parent"), Int(5)}}})
                .ToString(),
            "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM child ORDER BY id"), (Lines{"1|2", "5|5"}));
  EXPECT_EQ(world_.Query("SELECT target, kind, key, sqlstate FROM dead ORDER BY 1"),
            (Lines{"public.child|write|(id)=(2)|23503", "public.parent|delete|(id)=(5)|23503"}));
}

}  // namespace
}  // namespace weir::postgres_test
