// What becomes of rows that their target's row does not suit, and of those whose target's row changes meanwhile, on a
// real server; the same by random changes and a merge in memory.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/random.h"
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

class PostgresConflictTest : public PostgresMergeTest {
 protected:
  // The table "one" is made by `table`.
  void ChangeBothSides(const std::string& table);
};

TEST_P(PostgresConflictTest, B36_B38_ConflictsOfVersionsFailOrGoToTheDeadLetters) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, v int, n text); INSERT INTO one VALUES (1, 5, 'old')");
  const Lines columns = {"id", "v", "n"};
  const std::vector<TestRow> rows = {{kAfter, {Int(2), Int(1), String("new")}},
                                     {kAfter, {Int(1), Int(4), String("new")}, {1700, 3}},
                                     {kAfter, {Int(1), Int(5), String("old")}}};
  auto job = Started({{"version-columns", List({"v"})}, {"on-conflict", Text("fail")}});
  EXPECT_EQ(Bring(*job, columns, rows).ToString(),
            "failed precondition: table public.one refuses the row with key (id)=(1) of 1700.0000000003: conflict: the "
            "target's row has a version that is not smaller; table public.one");
  EXPECT_EQ(One(), (Lines{"1|5|old"})) << "nothing of the checkpoint";
  job = Started({{"version-columns", List({"v"})}, {"on-conflict", Text("dead-letter")}});
  ASSERT_EQ(Bring(*job, columns, rows).ToString(), "ok");
  EXPECT_EQ(One(), (Lines{"1|5|old", "2|1|new"}));
  EXPECT_EQ(
      world_.Query("SELECT target, kind, key, row FROM dead"),
      (Lines{"public.one|conflict|(id)=(1)|{\"proposed\":{\"id\":\"1\",\"v\":\"4\",\"n\":\"new\"},\"before\":null,"
             "\"target\":{\"id\":\"1\",\"v\":\"5\",\"n\":\"old\"}}"}));
  EXPECT_EQ(Counts(*job), "1 0 0 1 0") << "what the target has already is no conflict";
  EXPECT_EQ(job->Counter("upserts", "public.one"), 2U);
  // A deletion that the version refuses is one.
  ASSERT_EQ(
      Bring(*job, columns, {{kDelete, {Int(1), Int(4), Value::Null()}}, {kDelete, {Int(2), Int(1), Value::Null()}}})
          .ToString(),
      "ok");
  EXPECT_EQ(One(), (Lines{"1|5|old"}));
  EXPECT_EQ(world_.Query("SELECT row->>'proposed', row->'target'->>'v' FROM dead ORDER BY at DESC LIMIT 1"),
            (Lines{"null|5"}));
}

TEST_P(PostgresConflictTest, B36_ConflictsOfDeadlinesAndOfKeysThatANewerRowDeleted) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, v int, at timestamptz)");
  const auto job = Started({{"version-columns", List({"v"})},
                            {"deadlines", Object({{"at", Text("5m")}})},
                            {"on-conflict", Text("dead-letter")}});
  const Lines columns = {"id", "v", "at"};
  const auto row = [](RowKind kind, int64_t id, int64_t v, const char* at) {
    return TestRow{kind, {Int(id), Int(v), String(at)}};
  };
  ASSERT_EQ(
      Bring(*job, columns,
            {row(kAfter, 1, 1, "2001-01-01Z"), row(kAfter, 2, 1, "2999-01-01Z"), row(kDelete, 3, 7, "2001-01-01Z")})
          .ToString(),
      "ok");
  ASSERT_EQ(Bring(*job, columns, {row(kAfter, 3, 7, "2999-01-01Z"), row(kAfter, 3, 8, "2999-01-01Z")}).ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT id, v FROM one ORDER BY id"), (Lines{"2|1", "3|8"}));
  EXPECT_EQ(Dead(), (Lines{"(id)=(1)|conflict|conflict: it is past its deadline; table public.one",
                           "(id)=(3)|conflict|conflict: its key was deleted by a version that is not smaller; table "
                           "public.one"}));
  EXPECT_EQ(Counts(*job), "2 0 0 2 0");
}

// A deletion and a newer row of its key in one checkpoint are no conflict, whatever their order at the server.
TEST_P(PostgresConflictTest, B36_ADeletionInFrontOfANewerRowIsNone) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, v int); INSERT INTO one VALUES (1, 1)");
  const auto job = Started({{"version-columns", List({"v"})}, {"on-conflict", Text("fail")}});
  ASSERT_EQ(Bring(*job, {"id", "v"}, {{kDelete, {Int(1), Int(2)}}, {kInsert, {Int(1), Int(3)}}}).ToString(), "ok");
  EXPECT_EQ(One(), (Lines{"1|3"}));
}

TEST_P(PostgresConflictTest, B37_ARowThatSomebodyElseInsertsMeanwhileIsMerged) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, a int, b int); INSERT INTO one VALUES (1, 1, 1)");
  const auto job = Merging("drop");
  bool inserted = false;
  world_.Watch([&](const std::string& sql) {
    if (inserted || !sql.starts_with("WITH i AS (INSERT INTO \"public\".\"one\"")) return;
    inserted = true;
    world_.Run("INSERT INTO one VALUES (2, 1, 7), (3, 7, 1)");
  });
  std::vector<TestRow> rows;
  for (int64_t id = 1; id <= 4; ++id) {
    rows.push_back({kBefore, {Int(id), Int(1), Int(1)}});
    rows.push_back({kAfter, {Int(id), Int(2), Int(1)}});
  }
  ASSERT_EQ(Bring(*job, {"id", "a", "b"}, rows).ToString(), "ok");
  EXPECT_TRUE(inserted);
  EXPECT_EQ(One(), (Lines{"1|2|1", "2|2|7", "3|7|1", "4|2|1"}));
  EXPECT_EQ(Counts(*job), "2 1 1 0 0");
  EXPECT_EQ(job->Counter("upserts", "public.one"), 3U);
}

TEST_P(PostgresConflictTest, B37_ATriggerThatLeavesOutANewRowIsNotAskedForEver) {
  world_.Run(
      "CREATE TABLE one (id int PRIMARY KEY, a int);"
      "CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id = 1 THEN RETURN NULL; END IF; "
      "RETURN NEW; END';"
      "CREATE TRIGGER leave_out BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION leave_out()");
  const auto job = Merging("fail");
  ASSERT_EQ(Bring(*job, {"id", "a"}, {{kInsert, {Int(1), Int(1)}}, {kInsert, {Int(2), Int(1)}}}).ToString(), "ok");
  EXPECT_EQ(One(), (Lines{"2|1"}));
}

// The target's row is locked from the comparison on.
TEST_P(PostgresConflictTest, B37_NobodyChangesTheTargetBetweenLookingAndWriting) {
  world_.Run("CREATE TABLE one (id int PRIMARY KEY, a int, b int); INSERT INTO one VALUES (1, 1, 1)");
  const auto job = Merging("fail");
  std::string refusal;
  world_.Watch([&](const std::string& sql) {
    if (!sql.starts_with("UPDATE \"public\".\"one\"")) return;
    refusal = world_.server().Run("SET lock_timeout = 50; UPDATE one SET b = 7").ToString();
  });
  ASSERT_EQ(Bring(*job, {"id", "a", "b"}, {{kBefore, {Int(1), Int(1), Int(1)}}, {kAfter, {Int(1), Int(2), Int(1)}}})
                .ToString(),
            "ok");
  EXPECT_NE(refusal.find("lock"), std::string::npos) << refusal;
  EXPECT_EQ(One(), (Lines{"1|2|1"}));
}

TEST(PostgresConflictOptionsTest, ProblemsSayWhatIsMissing) {
  const auto problems = [](Definition rules, Definition more = {}) {
    more.emplace_back("connection", Text("host=x"));
    more.emplace_back("table-column", Text("t"));
    more.emplace_back("tables", Object({{"one", Object(std::move(rules))}}));
    return ProblemsOf(more);
  };
  EXPECT_EQ(problems({{"on-conflict", Text("merge")}}), Lines());
  EXPECT_EQ(problems({{"on-conflict", Text("fail")}}, {{"version-column", Text("u")}}), Lines());
  EXPECT_EQ(problems({{"on-conflict", Text("fail")}}),
            (Lines{"/on-conflict: on-conflict fail has a meaning only with versions or deadlines, which refuse rows "
                   "(fail)"}));
  EXPECT_EQ(problems({{"on-conflict", Text("dead-letter")}, {"version-columns", Text("v")}}),
            (Lines{"/on-conflict: dead-letter-table is needed with on-conflict dead-letter (dead-letter)"}));
  EXPECT_EQ(problems({{"on-conflict", Text("merge")}}, {{"delivery", Text("at-least-once")}}),
            (Lines{"/on-conflict: on-conflict merge needs delivery exactly-once: rows that are written a second time "
                   "would look like conflicts (merge)"}));
  EXPECT_EQ(problems({{"merge", Object({{"otherwise", Text("dead-letter")}})}}),
            (Lines{"/merge: merge has a meaning only with on-conflict merge ()",
                   "/otherwise: dead-letter-table is needed with otherwise dead-letter (dead-letter)"}));
  EXPECT_EQ(problems({{"on-conflict", Text("merge")},
                      {"version-columns", List({"v"})},
                      {"merge", Object({{"columns", Object({{"v", Text("$target")},
                                                            {"a", Text("$target + $1 || '$'")},
                                                            {"b", Text("$targets")},
                                                            {"c", Text(" ")}})}})}}),
            (Lines{"/columns/v: columns: \"v\" is a version column, which keeps the greater value ($target)",
                   "/columns/a: columns: $1 in \"$target + $1 || '$'\" is none of $before, $target and $proposed "
                   "($target + $1 || '$')",
                   "/columns/b: columns: $targets in \"$targets\" is none of $before, $target and $proposed ($targets)",
                   "/columns/c: columns: \"c\" has no SQL ( )"}));
}

// The obvious merge, in memory.
using Cells = std::array<std::optional<int64_t>, 3>;
struct Model {
  // The last column adds up.
  void Update(int64_t id, const std::optional<Cells>& before, const Cells& proposed) {
    const auto there = target.find(id);
    if (there == target.end()) {
      target[id] = proposed;
      return;
    }
    Cells merged = there->second;
    for (size_t i = 0; i < merged.size(); ++i) {
      const auto t = there->second[i];
      const bool unchanged = before.has_value() && (*before)[i] == proposed[i];
      const bool free = before.has_value() ? t == (*before)[i] : !t.has_value();
      if (unchanged || t == proposed[i]) continue;
      if (!free && i < 2) return;
      const int64_t was = before.has_value() ? (*before)[i].value_or(0) : 0;
      merged[i] = free ? proposed[i] : std::optional(t.value_or(0) + proposed[i].value_or(0) - was);
    }
    there->second = merged;
  }
  void Delete(int64_t id, const std::optional<Cells>& before) {
    const auto there = target.find(id);
    if (there != target.end() && (!before.has_value() || there->second == *before)) target.erase(there);
  }
  Lines Rows() const {
    Lines lines;
    for (const auto& [id, cells] : target) {
      std::string& line = lines.emplace_back(std::to_string(id));
      for (const auto& cell : cells) line += "|" + (cell.has_value() ? std::to_string(*cell) : "null");
    }
    return lines;
  }
  std::map<int64_t, Cells> target;
};

void PostgresConflictTest::ChangeBothSides(const std::string& table) {
  const uint64_t seed = NewSystemRandom()->Next();
  SCOPED_TRACE(seed);
  SeededRandom random(seed);
  world_.Run(table);
  const auto job =
      Merging("drop", {{"c", Text("coalesce($target, 0) + coalesce($proposed, 0) - coalesce($before, 0)")}});
  Model model;
  std::map<int64_t, Cells> source;
  const auto cell = [&]() -> std::optional<int64_t> {
    const uint64_t n = random.Below(4);
    return n == 3 ? std::nullopt : std::optional(static_cast<int64_t>(n));
  };
  const auto row = [](RowKind kind, int64_t id, const Cells& cells) {
    TestRow made{kind, {Int(id)}};
    for (const auto& one : cells) made.values.push_back(one.has_value() ? Int(*one) : Value::Null());
    return made;
  };
  for (int checkpoint = 0; checkpoint < 80 && !HasFailure(); ++checkpoint) {
    // Somebody else.
    for (uint64_t i = random.Below(3); i > 0; --i) {
      const auto id = static_cast<int64_t>(10 + random.Below(6));
      const auto a = cell();
      const auto there = model.target.find(id);
      if (there == model.target.end()) continue;
      const size_t which = random.Below(3);
      there->second[which] = a;
      world_.Run("UPDATE one SET " + std::string(1, static_cast<char>('a' + which)) + " = " +
                 (a.has_value() ? std::to_string(*a) : "NULL") + " WHERE id = " + std::to_string(id));
    }
    std::vector<TestRow> rows;
    for (uint64_t i = random.Below(12); i > 0; --i) {
      const auto id = static_cast<int64_t>(10 + random.Below(6));
      const bool diff = random.Below(5) > 0;
      const auto known = source.find(id);
      const std::optional<Cells> before = known == source.end() || !diff ? std::nullopt : std::optional(known->second);
      if (known != source.end() && random.Below(4) == 0) {
        rows.push_back(row(kDelete, id, known->second));
        if (!before.has_value()) {
          for (size_t c = 1; c < rows.back().values.size(); ++c) rows.back().values[c] = Value::Absent();
        }
        model.Delete(id, before);
        source.erase(known);
        continue;
      }
      Cells proposed = known == source.end() ? Cells{cell(), cell(), cell()} : known->second;
      proposed[random.Below(3)] = cell();
      if (before.has_value()) rows.push_back(row(kBefore, id, *before));
      rows.push_back(row(before.has_value() ? kAfter : kInsert, id, proposed));
      model.Update(id, before, proposed);
      source[id] = proposed;
    }
    if (rows.empty()) continue;
    ASSERT_EQ(Bring(*job, {"id", "a", "b", "c"}, rows).ToString(), "ok");
    ASSERT_EQ(world_.Query("SELECT * FROM one WHERE id >= 10 ORDER BY id"), model.Rows()) << checkpoint;
  }
  EXPECT_GT(job->Counter("merges", "public.one"), 0U);
  EXPECT_GT(job->Counter("conflicts_dropped", "public.one"), 0U);
}

TEST_P(PostgresConflictTest, B37_RandomChangesOfBothSidesEndAsInMemory) {
  ChangeBothSides("CREATE TABLE one (id int PRIMARY KEY, a int, b int, c int)");
}

TEST_P(PostgresConflictTest, B37_RandomChangesOfATableThatRefersToItself) {
  ChangeBothSides(
      "CREATE TABLE one (id int PRIMARY KEY, a int REFERENCES one, b int REFERENCES one, c int);"
      "INSERT INTO one VALUES (0), (1), (2)");
}

INSTANTIATE_TEST_SUITE_P(Orderings, PostgresConflictTest, testing::Values("arrival", "foreign-keys"),
                         [](const auto& one) {
                           return one.param == std::string("arrival") ? "Arrival" : "ForeignKeys";
                         });

}  // namespace
}  // namespace weir::postgres_test
