// What the option `tables` says of single tables, on a real server.
#include <gtest/gtest.h>

#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {
namespace {

using operators::RowKind;
using operators::Value;
using Lines = std::vector<std::string>;

constexpr RowKind kInsert = RowKind::kInsert;
constexpr RowKind kAfter = RowKind::kUpdateAfter;
constexpr RowKind kDelete = RowKind::kDelete;

class PostgresRulesTest : public testing::Test {
 protected:
  // `rules` of the table "one".
  std::unique_ptr<PostgresJob> Started(Definition rules, Definition more = {}) {
    more.emplace_back("table-column", Text("t"));
    more.emplace_back("tables", Object({{"one", Object(std::move(rules))}}));
    auto job = std::make_unique<PostgresJob>(world_, std::move(more), ++starts_);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  // Rows of the table "one", without its name; a checkpoint.
  static Status Bring(PostgresJob& job, Lines columns, std::vector<TestRow> rows) {
    columns.insert(columns.begin(), "t");
    for (TestRow& row : rows) row.values.insert(row.values.begin(), String("one"));
    WEIR_RETURN_IF_ERROR(job.Write(columns, rows));
    return job.Checkpoint();
  }

  RealPostgresWorld world_;
  uint64_t starts_ = 0;
};

TEST_F(PostgresRulesTest, B34_RenamedIgnoredExtrasAndExpressions) {
  world_.Run("CREATE TABLE other (id int PRIMARY KEY, total numeric, name text, rest jsonb)");
  const auto job =
      Started({{"table", Text("other")},
               {"rename", Object({{"amount", Text("total")}})},
               {"ignore", List({"secret"})},
               {"extras-column", Text("rest")},
               {"expressions", Object({{"total", Text("round($0 * 2, 1) + $0")}, {"name", Text("upper($0)")}})}});
  ASSERT_EQ(Bring(*job, {"id", "amount", "name", "secret", "color", "size"},
                  {{kInsert, {Int(1), Number("1.26"), String("it's"), String("x"), String("red"), Int(7)}},
                   {kInsert, {Int(2), Number("10"), Value::Null(), String("x"), Value::Absent(), Value::Null()}}})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM other ORDER BY id"),
            (Lines{"1|3.76|IT'S|{\"size\": 7, \"color\": \"red\"}", "2|30.0|null|{\"size\": null}"}));
}

TEST_F(PostgresRulesTest, B34_WithoutARuleAnUnknownColumnIsAnError) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY)");
  const auto job = Started({});
  EXPECT_EQ(Bring(*job, {"id", "n"}, {{kInsert, {Int(1), Int(2)}}}).ToString(),
            "failed precondition: table public.one has no column \"n\", which the rows have; its columns: id");
}

TEST_F(PostgresRulesTest, B36_ComparesSeveralVersionColumnsAndCountsConflicts) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, major int, minor int, n text);"
      "INSERT INTO one VALUES (1, 2, 10, 'old'), (2, 2, 10, 'old'), (3, 2, 10, 'old'), (4, NULL, NULL, 'old')");
  const auto job = Started({{"version-columns", List({"major", "minor"})}});
  const Lines columns = {"id", "major", "minor", "n"};
  const auto row = [](RowKind kind, int64_t id, int64_t major, int64_t minor) {
    return TestRow{kind, {Int(id), Int(major), Int(minor), String("new")}};
  };
  ASSERT_EQ(Bring(*job, columns,
                  {row(kAfter, 1, 3, 1), row(kAfter, 2, 2, 9), row(kAfter, 3, 2, 10), row(kAfter, 4, 0, 0),
                   row(kAfter, 5, 1, 1), row(kAfter, 5, 0, 9)})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM one ORDER BY id"),
            (Lines{"1|3|1|new", "2|2|10|old", "3|2|10|old", "4|0|0|new", "5|1|1|new"}));
  EXPECT_EQ(job->Counter("conflicts", "public.one"), 3U);
  EXPECT_EQ(job->Counter("upserts", "public.one"), 3U);
  ASSERT_EQ(Bring(*job, columns, {row(kDelete, 1, 2, 99), row(kDelete, 2, 2, 10)}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT id FROM one ORDER BY id"), (Lines{"1", "3", "4", "5"}));
  const std::string missing = Bring(*job, {"id", "major"}, {{kAfter, {Int(1), Int(9)}}}).ToString();
  EXPECT_NE(missing.find("no value in its version column"), std::string::npos) << missing;
}

TEST_F(PostgresRulesTest, B36_DeadlinesLeaveOutWhatIsTooOldAlsoWithVersions) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, at timestamptz, v int); INSERT INTO one VALUES (2, NULL, 9)");
  const auto job = Started({{"deadlines", Object({{"at", Text("5m")}})}, {"version-columns", List({"v"})}});
  ASSERT_EQ(Bring(*job, {"id", "at", "v"},
                  {{kInsert, {Int(1), String("2001-01-01 00:00:00Z"), Int(1)}},
                   {kInsert, {Int(2), String("2999-01-01 00:00:00Z"), Int(1)}},
                   {kInsert, {Int(3), String("2999-01-01 00:00:00Z"), Int(1)}},
                   {kInsert, {Int(4), Value::Null(), Int(1)}}})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT id, v FROM one ORDER BY id"), (Lines{"2|9", "3|1", "4|1"}));
  EXPECT_EQ(job->Counter("conflicts", "public.one"), 2U);
}

TEST_F(PostgresRulesTest, DeletionsMayBeIgnored) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY); INSERT INTO one VALUES (1)");
  const auto job = Started({{"delete", Text("ignore")}});
  ASSERT_EQ(Bring(*job, {"id"}, {{kDelete, {Int(1)}}}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT id FROM one"), (Lines{"1"}));
}

TEST_F(PostgresRulesTest, ATableThatRefersToItselfComparesVersionsToo) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, up int REFERENCES one, v int NOT NULL);"
      "INSERT INTO one VALUES (1, NULL, 5)");
  const auto job = Started({{"version-columns", List({"v"})}});
  ASSERT_EQ(Bring(*job, {"id", "up", "v"},
                  {{kInsert, {Int(1), Int(3), Int(4)}},
                   {kInsert, {Int(2), Int(3), Int(1)}},
                   {kInsert, {Int(3), Int(1), Int(1)}}})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM one ORDER BY id"), (Lines{"1|null|5", "2|3|1", "3|1|1"}));
}

TEST_F(PostgresRulesTest, case_H52_Weakness_j_ADeletedRowDoesNotComeBackWithAnOlderVersion) {
  world_.Run("CREATE TABLE one (a int, b text, u numeric(30,10), PRIMARY KEY (a, b))");
  const Lines columns = {"a", "b", "u"};
  const auto row = [](RowKind kind, const char* u, const char* b = "x") {
    return TestRow{kind, {Int(1), String(b), Number(u)}};
  };
  for (const char* ordering : {"foreign-keys", "arrival"}) {
    const auto job = Started({}, {{"version-column", Text("u")}, {"ordering", Text(ordering)}});
    ASSERT_EQ(Bring(*job, columns, {row(kAfter, "1.1"), row(kAfter, "2.0"), row(kDelete, "3.0000000002")}).ToString(),
              "ok");
    EXPECT_EQ(world_.Query("SELECT count(*) FROM one"), (Lines{"0"}));
    ASSERT_EQ(Bring(*job, columns, {row(kAfter, "1.1"), row(kAfter, "2.0")}).ToString(), "ok");
    ASSERT_EQ(
        Bring(*job, columns, {row(kDelete, "1.2"), row(kAfter, "3.0000000001"), row(kAfter, "0.5", "y")}).ToString(),
        "ok");
    EXPECT_EQ(world_.Query("SELECT b, u FROM one"), (Lines{"y|0.5000000000"}));
    EXPECT_EQ(world_.Query("SELECT target, key, version FROM weir_deleted"),
              (Lines{"public.one|[1, \"x\"]|{3.0000000002}"}));
    EXPECT_GE(job->Counter("conflicts", "public.one"), 3U);
    ASSERT_EQ(Bring(*job, columns, {row(kAfter, "4.0")}).ToString(), "ok");
    EXPECT_EQ(world_.Query("SELECT count(*) FROM one WHERE b = 'x'"), (Lines{"1"}));
    // What is older than the retention goes with the next transaction.
    world_.Run("UPDATE weir_deleted SET at = now() - interval '25 hours'");
    ASSERT_EQ(Bring(*job, columns, {row(kAfter, "5.0", "z")}).ToString(), "ok");
    EXPECT_EQ(world_.Query("SELECT count(*) FROM weir_deleted"), (Lines{"0"}));
    world_.Run("TRUNCATE one");
  }
}

TEST_F(PostgresRulesTest, case_H59_OfTwoJobsOnOneTableTheNewestRowWins) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, u numeric(30,10), n text)");
  const auto start = [&](const std::string& name) {
    auto job = std::make_unique<PostgresJob>(
        world_, Definition{{"table-column", Text("t")}, {"version-column", Text("u")}}, 1, name);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  };
  const auto first = start("first");
  const auto second = start("second");
  const Lines columns = {"id", "u", "n"};
  const auto row = [](RowKind kind, int64_t id, const char* u, const char* n) {
    return TestRow{kind, {Int(id), Number(u), String(n)}};
  };
  ASSERT_EQ(Bring(*first, columns,
                  {row(kAfter, 1, "20.0", "first"), row(kAfter, 2, "10.0", "first"), row(kDelete, 3, "30.0", "first")})
                .ToString(),
            "ok");
  ASSERT_EQ(Bring(*second, columns,
                  {row(kAfter, 1, "10.0", "second"), row(kAfter, 2, "20.0", "second"), row(kAfter, 3, "20.0", "second"),
                   row(kDelete, 1, "15.0", "second")})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM one ORDER BY id"), (Lines{"1|20.0000000000|first", "2|20.0000000000|second"}));
}

TEST_F(PostgresRulesTest, ProblemsNameTheTable) {
  EXPECT_EQ(ProblemsOf({{"connection", Text("host=x")},
                        {"table-column", Text("t")},
                        {"tables", Object({{"one", Object({{"deadlines", Object({{"at", Text("soon")}})}})}})}}),
            (Lines{"/deadlines/at: deadlines: \"soon\" is no duration like 5m (soon)"}));
  EXPECT_EQ(ProblemsOf({{"connection", Text("host=x")}, {"table", Text("t")}, {"tables", Object({})}}),
            (Lines{"/tables: tables has a meaning only with table-column ()"}));
}

}  // namespace
}  // namespace weir::postgres_test
