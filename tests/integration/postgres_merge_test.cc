// Two- and three-way merges into the target's rows, on a real server.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/integration/postgres_merge_world.h"

namespace weir::postgres_test {
namespace {

using operators::RowKind;
using operators::Value;
using Lines = std::vector<std::string>;

constexpr RowKind kInsert = RowKind::kInsert;
constexpr RowKind kBefore = RowKind::kUpdateBefore;
constexpr RowKind kAfter = RowKind::kUpdateAfter;
constexpr RowKind kDelete = RowKind::kDelete;

// What a type has: three values, and the first written in another way.
struct TypeCase {
  const char* type;
  const char* x;
  const char* y;
  const char* z;
  const char* x_too;
};

constexpr TypeCase kTypes[] = {
    {"numeric", "1.0", "2", "3", "1.00"},
    {"numeric(10,2)", "1.004", "2", "3", "1"},
    {"text", "a", "b", "c", "a"},
    {"varchar(3)", "a", "b", "c", "a"},
    {"boolean[]", "{t}", "{f}", "{t,f}", "{true}"},
    {"int[]", "{1,2}", "{1,3}", "{}", "{ 1, 2 }"},
    {"jsonb", R"({"a": 1, "b": [2]})", "null", R"({"b": [2]})", R"({"b":[2.0], "a":1})"},
    {"json", R"({"a": 1, "b": [2]})", "null", R"({"b": [2]})", R"({"b":[2.0], "a":1})"},
    {"json[]", R"({"{\"a\":1}"})", "{null}", "{}", R"({"{ \"a\": 1 }"})"},
    {"timestamptz(0)", "2026-01-02 03:04:05.4+00", "2026-01-02 03:04:06+00", "infinity", "2026-01-02 05:04:05+02"},
    {"double precision", "NaN", "0.1", "1e308", "nan"},
    {"uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000",
     "10000000-0000-0000-0000-000000000000", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"},
    {"bytea", "\\x00ff", "\\x", "\\x01", "\\x00FF"},
    {"point", "(1,2)", "(1,3)", "(0,0)", "1,2"},
    {"xml", "<a/>", "<b/>", "<c/>", "<a/>"},
    {"interval", "1 day", "2 days", "3 days", "24 hours"},
};

constexpr const char* kAbsent = "absent";

// Old value, the target's, the new one, and what the target has afterwards: no text is NULL; "!": in conflict.
std::vector<std::array<const char*, 4>> CasesOf(const TypeCase& type) {
  const char* const x = type.x;
  const char* const y = type.y;
  const char* const z = type.z;
  return {{x, x, y, y},
          {x, y, x, y},
          {x, y, y, y},
          {x, y, z, "!"},
          {x, x, x, x},
          {x, type.x_too, y, y},
          {type.x_too, x, y, y},
          {x, y, type.x_too, y},
          {nullptr, nullptr, y, y},
          {x, x, nullptr, nullptr},
          {x, nullptr, x, nullptr},
          {x, nullptr, nullptr, nullptr},
          {x, nullptr, y, "!"},
          {nullptr, y, z, "!"},
          {nullptr, y, nullptr, y},
          {x, y, nullptr, "!"},
          {kAbsent, nullptr, y, y},
          {kAbsent, x, y, "!"},
          {kAbsent, y, y, y},
          {kAbsent, x, nullptr, "!"},
          {x, y, kAbsent, y},
          {kAbsent, y, kAbsent, y}};
}

TEST_P(PostgresMergeTest, B37_EachBranchOfAThreeWayMergeForEachType) {
  for (const TypeCase& type : kTypes) {
    SCOPED_TRACE(type.type);
    const auto cases = CasesOf(type);
    world_.Run(std::string("DROP TABLE IF EXISTS one, expected, dead; CREATE TABLE one (id int PRIMARY KEY, v ") +
               type.type + "); CREATE TABLE expected (id int, v " + type.type + ")");
    std::vector<TestRow> rows;
    Lines clashes;
    const auto value = [&](const char* text) {
      if (text == nullptr) return Value::Null();
      return text == kAbsent ? Value::Absent() : String(text);
    };
    const auto quoted = [](const char* text) { return text == nullptr ? "NULL" : "'" + std::string(text) + "'"; };
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto& [before, target, proposed, becomes] = cases[i];
      const bool clash = becomes != nullptr && becomes == std::string("!");
      const std::string id = std::to_string(i);
      world_.Run("INSERT INTO one VALUES (" + id + ", " + quoted(target) + "); INSERT INTO expected VALUES (" + id +
                 ", " + quoted(clash ? target : becomes) + ")");
      if (clash) clashes.push_back("(id)=(" + id + ")|conflict");
      rows.push_back({kBefore, {Int(static_cast<int64_t>(i)), value(before)}});
      rows.push_back({kAfter, {Int(static_cast<int64_t>(i)), value(proposed)}});
    }
    const auto job = Merging("dead-letter");
    ASSERT_EQ(Bring(*job, {"id", "v"}, rows).ToString(), "ok");
    EXPECT_EQ(world_.Query("SELECT o.id, o.v::text, e.v::text FROM one o JOIN expected e USING (id) "
                           "WHERE o.v::text IS DISTINCT FROM e.v::text"),
              Lines());
    Lines dead = world_.Query("SELECT key, kind FROM dead");
    std::ranges::sort(dead);
    std::ranges::sort(clashes);
    EXPECT_EQ(dead, clashes);
    // Once more: what was written is there, and what was refused is refused again.
    ASSERT_EQ(Bring(*job, {"id", "v"}, rows).ToString(), "ok");
    EXPECT_EQ(world_.Query("SELECT count(*) FROM one o JOIN expected e USING (id) "
                           "WHERE o.v::text IS DISTINCT FROM e.v::text"),
              (Lines{"0"}));
    EXPECT_EQ(world_.Query("SELECT count(*), count(DISTINCT key) FROM dead"),
              (Lines{std::to_string(2 * clashes.size()) + "|" + std::to_string(clashes.size())}));
  }
}

TEST_P(PostgresMergeTest, B37_B38_BothChangesAreKeptAndTheFallbackDecidesOnTheRest) {
  const auto before = [](int64_t id) { return TestRow{kBefore, {Int(id), Int(1), Int(1)}}; };
  const auto after = [](int64_t id, int64_t a, int64_t b) {
    return TestRow{kAfter, {Int(id), Int(a), Int(b)}, {9, 0}};
  };
  const Lines columns = {"id", "a", "b"};
  const std::vector<TestRow> rows = {before(1), after(1, 2, 1), before(2), after(2, 2, 2),
                                     before(3), after(3, 2, 1), before(4), after(4, 4, 4)};
  struct Case {
    const char* otherwise;
    Lines expected;
    std::string counts;
  };
  const Case cases[] = {{"drop", {"1|2|1|x", "2|7|1|x", "3|2|7|x", "4|4|4|x"}, "2 1 1 0 0"},
                        {"dead-letter", {"1|2|1|x", "2|7|1|x", "3|2|7|x", "4|4|4|x"}, "2 1 0 1 0"},
                        {"overwrite", {"1|2|1|x", "2|2|2|x", "3|2|7|x", "4|4|4|x"}, "2 1 0 0 1"},
                        {"fail", {"1|1|1|x", "2|7|1|x", "3|1|7|x"}, "0 0 0 0 0"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.otherwise);
    world_.Run(
        "DROP TABLE IF EXISTS one; CREATE TABLE one (id int PRIMARY KEY, a int, b int, mine text DEFAULT 'x');"
        "INSERT INTO one VALUES (1, 1, 1), (2, 7, 1), (3, 1, 7)");
    const auto job = Merging(one.otherwise);
    const std::string status = Bring(*job, columns, rows).ToString();
    EXPECT_EQ(status, one.otherwise == std::string("fail")
                          ? "failed precondition: table public.one refuses the row with key (id)=(2) of 9.0000000000: "
                            "conflict: the target's row has other values in a than before the change; table public.one"
                          : "ok");
    EXPECT_EQ(One(), one.expected);
    EXPECT_EQ(Counts(*job), one.counts);
  }
  EXPECT_EQ(world_.Query("SELECT key, row FROM dead"),
            (Lines{"(id)=(2)|{\"proposed\":{\"id\":\"2\",\"a\":\"2\",\"b\":\"2\"},\"before\":{\"a\":\"1\",\"b\":\"1\"},"
                   "\"target\":{\"id\":\"2\",\"a\":\"7\",\"b\":\"1\",\"mine\":\"x\"}}"}));
}

TEST_P(PostgresMergeTest, B37_AnExpressionMergesWhatBothHaveChanged) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, qty int, tags text[], n text);"
      "INSERT INTO one VALUES (1, 15, '{a,b}', '$proposed'), (2, 15, '{a}', 'theirs'), (3, 15, NULL, 'x')");
  const auto job = Merging(
      "drop", {{"qty", Text("$target + ($proposed - coalesce($before, 0))")},
               {"tags", Text("(SELECT array_agg(DISTINCT x ORDER BY x) FROM unnest($target || $proposed) x)")}});
  const Lines columns = {"id", "qty", "tags", "n"};
  ASSERT_EQ(Bring(*job, columns,
                  {{kBefore, {Int(1), Int(10), String("{a}"), String("x")}},
                   {kAfter, {Int(1), Int(7), String("{a,c}"), String("x")}},
                   {kBefore, {Int(2), Int(10), String("{a}"), String("x")}},
                   {kAfter, {Int(2), Int(7), String("{a}"), String("ours")}},
                   // Two-way: there is no old value.
                   {kInsert, {Int(3), Int(7), String("{z}"), String("x")}}})
                .ToString(),
            "ok");
  EXPECT_EQ(One(), (Lines{"1|12|{a,b,c}|$proposed", "2|15|{a}|theirs", "3|22|{z}|x"}));
  EXPECT_EQ(Counts(*job), "3 2 1 0 0") << "a column that nothing merges spoils the row";
}

TEST_P(PostgresMergeTest, B37_WithoutAnOldImageARowThatDiffersIsAConflict) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, a int, b int); INSERT INTO one VALUES (1, 1, NULL), (2, 1, 1)");
  const auto job = Merging("dead-letter");
  ASSERT_EQ(Bring(*job, {"id", "a", "b"},
                  {{kAfter, {Int(1), Int(1), Int(2)}},
                   {kInsert, {Int(2), Int(1), Int(2)}},
                   {kInsert, {Int(3), Int(1), Int(2)}},
                   {kAfter, {Int(2), Int(1), Value::Absent()}}})
                .ToString(),
            "ok");
  EXPECT_EQ(One(), (Lines{"1|1|2", "2|1|1", "3|1|2"}));
  EXPECT_EQ(Dead(), (Lines{"(id)=(2)|conflict|conflict: the target's row has other values in b, and it has no old "
                           "image to tell its changes (changefeeds WITH diff have one); table public.one"}));
}

TEST_P(PostgresMergeTest, B37_DeletionsAndRowsThatAreMissing) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, a int, b int);"
      "INSERT INTO one VALUES (1, 1, 1), (2, 7, 1), (3, 7, 1), (4, 1, 1), (5, 7, 1), (6, 1, 1)");
  const auto job = Merging("drop");
  const Value absent = Value::Absent();
  ASSERT_EQ(Bring(*job, {"id", "a", "b"},
                  {{kDelete, {Int(1), Int(1), Int(1)}},
                   {kDelete, {Int(2), Int(1), Int(1)}},  // somebody has changed it
                   {kDelete, {Int(3), absent, absent}},  // nobody knows what it was
                   {kBefore, {Int(4), Int(1), Int(1)}},  // another key: away, and there
                   {kAfter, {Int(40), Int(2), Int(2)}},
                   {kBefore, {Int(5), Int(1), Int(1)}},
                   {kAfter, {Int(50), Int(2), Int(2)}},
                   {kDelete, {Int(6), Int(1), Int(1)}},  // and comes back
                   {kInsert, {Int(6), Int(3), absent}},
                   {kBefore, {Int(8), Int(1), Int(1)}},  // the target lacks it
                   {kAfter, {Int(8), Int(2), Int(1)}},
                   {kDelete, {Int(9), Int(1), Int(1)}}})
                .ToString(),
            "ok");
  EXPECT_EQ(One(), (Lines{"2|7|1", "5|7|1", "6|3|null", "8|2|1", "40|2|2", "50|2|2"}));
  EXPECT_EQ(Counts(*job), "2 0 2 0 0");
  const auto overwriting = Merging("overwrite");
  ASSERT_EQ(Bring(*overwriting, {"id", "a", "b"}, {{kDelete, {Int(2), Int(1), Int(1)}}}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*) FROM one WHERE id = 2"), (Lines{"0"}));
}

TEST_P(PostgresMergeTest, B37_WhatAVersionRefusesIsMergedAndItsVersionStays) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, v int, a int, b int);"
      "INSERT INTO one VALUES (1, 9, 1, 7), (2, 9, 7, 1), (3, 1, 7, 7)");
  const auto job = Merging("drop", {}, {{"version-columns", List({"v"})}});
  std::vector<TestRow> rows;
  for (int64_t id = 1; id <= 3; ++id) {
    rows.push_back({kBefore, {Int(id), Int(4), Int(1), Int(1)}});
    rows.push_back({kAfter, {Int(id), Int(5), Int(2), Int(1)}});
  }
  ASSERT_EQ(Bring(*job, {"id", "v", "a", "b"}, rows).ToString(), "ok");
  EXPECT_EQ(One(), (Lines{"1|9|2|7", "2|9|7|1", "3|5|2|1"}));
  EXPECT_EQ(Counts(*job), "2 1 1 0 0");
}

TEST_P(PostgresMergeTest, B37_EveryVersionOfAKeyIsMergedForItself) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, a int, b int); INSERT INTO one VALUES (1, 0, 7), (2, 5, 0)");
  const auto job = Merging("drop", {{"a", Text("$target + $proposed - $before")}});
  std::vector<TestRow> rows;
  for (int64_t n = 0; n < 100; ++n) {
    for (int64_t id = 1; id <= 2; ++id) {
      rows.push_back({kBefore, {Int(id), Int(n), Int(0)}});
      rows.push_back({kAfter, {Int(id), Int(n + 1), Int(0)}});
    }
  }
  ASSERT_EQ(Bring(*job, {"id", "a", "b"}, rows).ToString(), "ok");
  EXPECT_EQ(One(), (Lines{"1|100|7", "2|105|0"}));
}

TEST_P(PostgresMergeTest, B37_ManyRowsNeedFewStatements) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, a int, b int);"
      "INSERT INTO one SELECT n, n, CASE WHEN n % 2 = 0 THEN n ELSE -1 END FROM generate_series(0, 9999) n");
  const auto job = Merging("fail");
  std::vector<TestRow> rows;
  for (int64_t id = 0; id < 10'000; ++id) {
    rows.push_back({kBefore, {Int(id), Int(id), Int(id)}});
    rows.push_back({kAfter, {Int(id), Int(id + 1), Int(id)}});
  }
  const uint64_t statements = world_.statements();
  const uint64_t round_trips = world_.round_trips();
  ASSERT_EQ(Bring(*job, {"id", "a", "b"}, rows).ToString(), "ok");
  EXPECT_LE(world_.statements() - statements, 40U);
  EXPECT_LE(world_.round_trips() - round_trips, 40U);
  EXPECT_EQ(world_.Query("SELECT count(*) FROM one WHERE a = id + 1 AND b = CASE WHEN id % 2 = 0 THEN id ELSE -1 END"),
            (Lines{"10000"}));
  EXPECT_EQ(Counts(*job), "5000 5000 0 0 0");
}

TEST_P(PostgresMergeTest, B37_B38_ARowThatTheServerRefusesIsFoundAmongMergedOnes) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, a int CHECK (a < 1000), b int);"
      "INSERT INTO one SELECT n, n, n FROM generate_series(0, 99) n; UPDATE one SET a = 7 WHERE id = 40");
  const auto job = Merging("dead-letter");
  std::vector<TestRow> rows;
  for (int64_t id = 0; id < 100; ++id) {
    rows.push_back({kBefore, {Int(id), Int(id), Int(id)}});
    rows.push_back({kAfter, {Int(id), id == 50 ? String("no number") : Int(id == 30 ? 1000 : id + 1), Int(id)}});
  }
  ASSERT_EQ(Bring(*job, {"id", "a", "b"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT id, a FROM one WHERE a <> id + 1 ORDER BY id"), (Lines{"30|30", "40|7", "50|50"}));
  EXPECT_EQ(world_.Query("SELECT key, kind, sqlstate FROM dead ORDER BY key"),
            (Lines{"(id)=(30)|write|23514", "(id)=(40)|conflict|", "(id)=(50)|write|22P02"}));
  EXPECT_EQ(Counts(*job), "1 0 0 1 0");
}

// It is written in two steps where the order is that of foreign keys.
TEST_P(PostgresMergeTest, B37_ATableThatRefersToItself) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, up int REFERENCES one DEFERRABLE INITIALLY DEFERRED, a int);"
      "INSERT INTO one VALUES (1, NULL, 1), (2, 1, 7), (3, 1, 1)");
  const auto job = Merging("dead-letter");
  const Value none = Value::Null();
  ASSERT_EQ(Bring(*job, {"id", "up", "a"},
                  {{kBefore, {Int(1), none, Int(1)}},
                   {kAfter, {Int(1), Int(5), Int(1)}},
                   {kBefore, {Int(2), Int(1), Int(1)}},
                   {kAfter, {Int(2), Int(5), Int(1)}},
                   {kBefore, {Int(4), Int(1), Int(1)}},  // the target lacks it
                   {kAfter, {Int(4), Int(6), Int(2)}},
                   {kBefore, {Int(4), Int(6), Int(2)}},
                   {kAfter, {Int(4), Int(5), Int(3)}},
                   {kInsert, {Int(5), none, Int(5)}},
                   {kDelete, {Int(6), Int(5), Int(5)}},
                   {kInsert, {Int(6), Int(4), Int(6)}},
                   {kDelete, {Int(3), Int(1), Int(1)}}})
                .ToString(),
            "ok");
  EXPECT_EQ(One(), (Lines{"1|5|1", "2|5|7", "4|5|3", "5|null|5", "6|4|6"}));
  EXPECT_EQ(Counts(*job), "1 1 0 0 0");
}

// Columns differ between a row and its old image, and so do the sets of rows behind each other.
TEST_P(PostgresMergeTest, B37_OldImageAndRowMayHaveOtherColumns) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, a int, b int, rest jsonb); INSERT INTO one VALUES (1, 7, 1, '{}')");
  const auto job = Merging("dead-letter", {}, {{"extras-column", Text("rest")}});
  ASSERT_EQ(job->Write({"t", "id", "b", "gone"}, {{kBefore, {String("one"), Int(1), Int(1), Int(3)}}}).ToString(),
            "ok");
  ASSERT_EQ(job->Write({"t", "b", "id"}, {{kAfter, {String("one"), Int(2), Int(1)}}}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Dead(), (Lines{"(id)=(1)|conflict|conflict: the target's row has other values in rest than before the "
                           "change; table public.one"}));
  world_.Run("UPDATE one SET rest = '{\"gone\": 3}'");
  ASSERT_EQ(job->Write({"t", "id", "b", "gone"}, {{kBefore, {String("one"), Int(1), Int(1), Int(3)}}}).ToString(),
            "ok");
  ASSERT_EQ(job->Write({"t", "b", "id"}, {{kAfter, {String("one"), Int(2), Int(1)}}}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(One(), (Lines{"1|7|2|null"}));
  // A deletion that has only its key is compared with nothing.
  ASSERT_EQ(job->Write({"t", "id"}, {{kDelete, {String("one"), Int(1)}}}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(One(), Lines());
}

INSTANTIATE_TEST_SUITE_P(Orderings, PostgresMergeTest, testing::Values("arrival", "foreign-keys"), [](const auto& one) {
  return one.param == std::string("arrival") ? "Arrival" : "ForeignKeys";
});

}  // namespace
}  // namespace weir::postgres_test
