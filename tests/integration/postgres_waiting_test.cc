// Rows that wait for their parents, on a real server.
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

class PostgresWaitingTest : public testing::Test {
 protected:
  PostgresWaitingTest() {
    world_.Run(
        "CREATE TABLE parent (id int PRIMARY KEY, v int);"
        "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent, v int);"
        "CREATE TABLE grandchild (id int PRIMARY KEY, child int NOT NULL REFERENCES child, v int)");
  }

  std::unique_ptr<PostgresJob> Started(Definition more = {}, uint64_t attempt = 1, uint32_t parallelism = 1) {
    more.emplace_back("table-column", Text("t"));
    more.emplace_back("on-missing-parent", Text("wait"));
    auto job = std::make_unique<PostgresJob>(world_, std::move(more), attempt, "orders", parallelism);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  static Status Bring(PostgresJob& job, const Lines& columns, const std::vector<TestRow>& rows) {
    WEIR_RETURN_IF_ERROR(job.Write(columns, rows));
    return job.Checkpoint();
  }
  static TestRow Parent(RowKind kind, int64_t id, int64_t v = 0) { return {kind, {String("parent"), Int(id), Int(v)}}; }
  static TestRow Child(RowKind kind, int64_t id, int64_t parent, int64_t v = 0) {
    return {kind, {String("child"), Int(id), Int(parent), Int(v)}};
  }
  static TestRow Grandchild(RowKind kind, int64_t id, int64_t child) {
    return {kind, {String("grandchild"), Int(id), Int(child)}};
  }
  const Lines of_parent_ = {"t", "id", "v"};
  const Lines of_child_ = {"t", "id", "parent", "v"};
  const Lines of_grandchild_ = {"t", "id", "child"};

  Lines Waiting() { return world_.Query("SELECT target, key, why FROM weir_waiting ORDER BY seq"); }
  Lines Children() { return world_.Query("SELECT * FROM child ORDER BY id"); }

  RealPostgresWorld world_;
};

TEST_F(PostgresWaitingTest, B21_AChildWaitsForItsParentAndIsThereWithIt) {
  const auto job = Started();
  ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 1, 7, 10), Child(kInsert, 2, 8, 20)}).ToString(), "ok");
  EXPECT_EQ(Children(), Lines());
  EXPECT_EQ(Waiting(), (Lines{"public.child|[1]|child_parent_fkey: not in public.parent",
                              "public.child|[2]|child_parent_fkey: not in public.parent"}));
  EXPECT_EQ(job->Counter("rows_waited", "public.child"), 2U);
  EXPECT_EQ(job->Gauge("rows_waiting"), 2);
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 7)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"1|7|10"}));
  EXPECT_EQ(job->Gauge("rows_waiting"), 1);
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 8)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"1|7|10", "2|8|20"}));
  EXPECT_EQ(Waiting(), Lines());
  EXPECT_EQ(job->Gauge("rows_waiting"), 0);
  EXPECT_EQ(job->Counter("upserts", "public.child"), 2U);
}

TEST_F(PostgresWaitingTest, AChainOfParentsIsFreedInOneTransaction) {
  const auto job = Started();
  ASSERT_EQ(job->Write(of_grandchild_, {Grandchild(kInsert, 1, 2)}).ToString(), "ok");
  ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 2, 3)}).ToString(), "ok");
  EXPECT_EQ(Waiting().size(), 2U);
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 3)}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM grandchild"), (Lines{"1|2|null"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, RowsOfAKeyKeepTheirOrder) {
  const auto job = Started();
  world_.Run("INSERT INTO parent VALUES (1)");
  ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 5, 9, 1)}).ToString(), "ok");
  // Its parent is there, but an older row of the key waits.
  ASSERT_EQ(Bring(*job, of_child_, {Child(kAfter, 5, 1, 2)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"5|1|2"})) << "both were tried as one, so that the older one's parent need never come";
  EXPECT_EQ(Waiting(), Lines());
  ASSERT_EQ(Bring(*job, of_child_, {Child(kAfter, 5, 9, 3)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"5|1|2"}));
  ASSERT_EQ(Bring(*job, of_child_, {Child(kAfter, 5, 9, 4)}).ToString(), "ok");
  EXPECT_EQ(Waiting().size(), 2U);
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 9)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"5|9|4"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, ADeletionIsTheLastWordOfWhatWaits) {
  const auto job = Started();
  ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 1, 7), Child(kInsert, 2, 7)}).ToString(), "ok");
  ASSERT_EQ(Bring(*job, of_child_, {Child(kDelete, 1, 7)}).ToString(), "ok");
  EXPECT_EQ(Waiting(), (Lines{"public.child|[2]|child_parent_fkey: not in public.parent"}));
  // Behind it the key begins anew.
  ASSERT_EQ(Bring(*job, of_child_, {Child(kDelete, 2, 7), Child(kInsert, 2, 8)}).ToString(), "ok");
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 7)}).ToString(), "ok");
  EXPECT_EQ(Children(), Lines());
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 8)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"2|8|0"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, AParentThatHasChildrenIsDeletedWhenTheyAreGone) {
  const auto job = Started();
  world_.Run("INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (5, 1), (6, 2)");
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kDelete, 1), Parent(kDelete, 2)}).ToString(), "ok");
  EXPECT_EQ(Waiting(), (Lines{"public.parent|[1]|child_parent_fkey: still referred to by public.child",
                              "public.parent|[2]|child_parent_fkey: still referred to by public.child"}));
  // One child moves to a parent that comes again, the other one goes.
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 1, 11)}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM parent ORDER BY id"), (Lines{"1|11", "2|null"}));
  ASSERT_EQ(Bring(*job, of_child_, {Child(kDelete, 6, 2)}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM parent ORDER BY id"), (Lines{"1|11"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, TheChildOfADeletedParentWaitsUntilItMovesOrGoes) {
  const auto job = Started();
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 1), Parent(kDelete, 1)}).ToString(), "ok");
  ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 5, 1), Child(kInsert, 6, 1)}).ToString(), "ok");
  EXPECT_EQ(Waiting().size(), 2U);
  ASSERT_EQ(Bring(*job, of_child_, {Child(kDelete, 5, 1), {kAfter, {String("child"), Int(6), Value::Null(), Int(1)}}})
                .ToString(),
            "ok");
  EXPECT_EQ(Children(), (Lines{"6|null|1"}));
  EXPECT_EQ(Waiting(), Lines());
}

// Somebody else edits the target meanwhile: what waits is merged by the old image that came with it.
TEST_F(PostgresWaitingTest, B37_ARowThatWaitsKeepsItsOldImage) {
  world_.Run(
      "INSERT INTO parent VALUES (1); INSERT INTO child VALUES (5, 1, 10), (6, 1, 10);"
      "ALTER TABLE child ADD note text");
  const Definition merge = {{"columns", Object({{"v", Text("$target + ($proposed - $before)")}})},
                            {"otherwise", Text("fail")}};
  const auto job =
      Started({{"tables", Object({{"child", Object({{"on-conflict", Text("merge")}, {"merge", Object(merge)}})}})}});
  const auto update = [&](int64_t id, int64_t parent, int64_t new_parent, int64_t v, int64_t new_v) {
    return Bring(*job, of_child_, {Child(RowKind::kUpdateBefore, id, parent, v), Child(kAfter, id, new_parent, new_v)});
  };
  ASSERT_EQ(update(5, 1, 7, 10, 12).ToString(), "ok");
  ASSERT_EQ(update(5, 7, 7, 12, 15).ToString(), "ok");
  EXPECT_EQ(Waiting().size(), 2U);
  world_.Run("UPDATE child SET v = v + 100, note = 'theirs' WHERE id = 5");
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 7)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"5|7|115|theirs", "6|1|10|null"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, B40_SparseRowsThatWaitAreOneRow) {
  const auto job = Started();
  const Value absent = Value::Absent();
  world_.Run("INSERT INTO child VALUES (6, NULL, 60)");
  ASSERT_EQ(Bring(*job, of_child_,
                  {{kAfter, {String("child"), Int(5), Int(9), absent}},
                   {kAfter, {String("child"), Int(5), absent, Int(2)}},
                   {kAfter, {String("child"), Int(6), Int(9), absent}}})
                .ToString(),
            "ok");
  ASSERT_EQ(Bring(*job, of_child_, {{kAfter, {String("child"), Int(5), absent, Int(3)}}}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"6|null|60"}));
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 9)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"5|9|3", "6|9|60"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, CompositeKeysAndNulls) {
  world_.Run(
      "CREATE TABLE place (a int, b text, PRIMARY KEY (a, b));"
      "CREATE TABLE visit (id text PRIMARY KEY, a int, b text DEFAULT 'x', FOREIGN KEY (b, a) REFERENCES place (b, "
      "a))");
  const auto job = Started();
  const Lines columns = {"t", "id", "a", "b"};
  const Value absent = Value::Absent();
  ASSERT_EQ(Bring(*job, columns,
                  {{kInsert, {String("visit"), String("it's"), Int(1), String("x")}},
                   {kInsert, {String("visit"), String("null"), Int(1), Value::Null()}},
                   {kInsert, {String("visit"), String("part"), Int(2), absent}}})
                .ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM visit"), (Lines{"null|1|null"}));
  ASSERT_EQ(
      Bring(*job, {"t", "a", "b"},
            {{kInsert, {String("place"), Int(1), String("x")}}, {kInsert, {String("place"), Int(2), String("x")}}})
          .ToString(),
      "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM visit ORDER BY id"), (Lines{"it's|1|x", "null|1|null", "part|2|x"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, ATableThatRefersToItself) {
  world_.Run(
      "CREATE TABLE node (id int PRIMARY KEY, up int REFERENCES node, n int NOT NULL);"
      "CREATE TABLE ring (id int PRIMARY KEY, up int NOT NULL REFERENCES ring)");
  const auto job = Started();
  const Lines columns = {"t", "id", "up", "n"};
  const auto node = [](RowKind kind, int64_t id, Value up) {
    return TestRow{kind, {String("node"), Int(id), up, Int(id)}};
  };
  ASSERT_EQ(Bring(*job, columns, {node(kInsert, 1, Int(2)), node(kInsert, 2, Int(3))}).ToString(), "ok");
  EXPECT_EQ(Waiting(), (Lines{"public.node|[2]|node_up_fkey: not in public.node"}));
  ASSERT_EQ(Bring(*job, columns, {node(kInsert, 3, Value::Null())}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM node ORDER BY id"), (Lines{"1|2|1", "2|3|2", "3|null|3"}));
  ASSERT_EQ(Bring(*job, columns, {node(kDelete, 3, Value::Null())}).ToString(), "ok");
  EXPECT_EQ(Waiting(), (Lines{"public.node|[3]|node_up_fkey: still referred to by public.node"}));
  ASSERT_EQ(Bring(*job, columns, {node(kDelete, 2, Value::Null()), node(kDelete, 1, Value::Null())}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*) FROM node"), (Lines{"0"}));
  // Its column can't be emptied: rows of one statement may refer to each other.
  ASSERT_EQ(Bring(*job, {"t", "id", "up"},
                  {{kInsert, {String("ring"), Int(1), Int(2)}},
                   {kInsert, {String("ring"), Int(2), Int(1)}},
                   {kInsert, {String("ring"), Int(3), Int(4)}}})
                .ToString(),
            "ok");
  EXPECT_EQ(Waiting(), (Lines{"public.ring|[3]|ring_up_fkey: not in public.ring"}));
  ASSERT_EQ(Bring(*job, {"t", "id", "up"}, {{kInsert, {String("ring"), Int(4), Int(3)}}}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM ring ORDER BY id"), (Lines{"1|2", "2|1", "3|4", "4|3"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, VersionsDecideWhereThereAreSome) {
  world_.Run("INSERT INTO parent VALUES (1)");
  uint64_t attempt = 0;
  for (const char* delivery : {"exactly-once", "at-least-once"}) {
    world_.Run("DELETE FROM child; DROP TABLE IF EXISTS weir_deleted");
    const auto job = Started({{"version-column", Text("v")}, {"delivery", Text(delivery)}}, ++attempt);
    ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 5, 9, 10), Child(kInsert, 6, 9, 10)}).ToString(), "ok");
    EXPECT_EQ(Waiting().size(), 2U);
    // The newer one goes past it, and the older one then has no say.
    ASSERT_EQ(Bring(*job, of_child_, {Child(kAfter, 5, 1, 20)}).ToString(), "ok");
    EXPECT_EQ(Children(), (Lines{"5|1|20"}));
    EXPECT_EQ(Waiting(), (Lines{"public.child|[6]|child_parent_fkey: not in public.parent"}));
    ASSERT_EQ(Bring(*job, of_child_, {Child(kDelete, 6, 9, 30)}).ToString(), "ok");
    EXPECT_EQ(Waiting(), Lines()) << "what was deleted by version stays deleted";
    ASSERT_EQ(Bring(*job, of_child_, {Child(kAfter, 6, 9, 25)}).ToString(), "ok");
    EXPECT_EQ(Children(), (Lines{"5|1|20"}));
    EXPECT_EQ(Waiting(), Lines());
  }
}

TEST_F(PostgresWaitingTest, B35_OtherRefusalsAreAsBefore) {
  world_.Run("ALTER TABLE child ADD CHECK (v < 100)");
  {
    const auto job = Started({{"dead-letter-table", Text("dead")}});
    ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 1, 7, 500), Child(kInsert, 2, 7, 5)}).ToString(), "ok");
    EXPECT_EQ(Waiting().size(), 2U) << "its parent counts first";
    ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 7)}).ToString(), "ok");
    EXPECT_EQ(Children(), (Lines{"2|7|5"}));
    EXPECT_EQ(world_.Query("SELECT key, sqlstate FROM dead"), (Lines{"(id)=(1)|23514"}));
    EXPECT_EQ(Waiting(), Lines());
    ASSERT_EQ(Bring(*job, {"t", "id", "parent", "v"},
                    {{kInsert, {String("child"), String("no number"), Int(9), Int(1)}}, Child(kInsert, 3, 9)})
                  .ToString(),
              "ok");
    EXPECT_EQ(world_.Query("SELECT sqlstate FROM dead ORDER BY 1"), (Lines{"22P02", "23514"}));
    EXPECT_EQ(Waiting(), (Lines{"public.child|[3]|child_parent_fkey: not in public.parent"}));
  }
  const auto job = Started({}, 2);
  const std::string error = Bring(*job, of_child_, {Child(kInsert, 1, 7, 500)}).ToString();
  EXPECT_NE(error.find("table public.child refuses the row with key (id)=(1)"), std::string::npos) << error;
}

TEST_F(PostgresWaitingTest, TwentyThousandChildrenBeforeTheirParentsTakeNoCare) {
  const auto job = Started();
  constexpr int64_t kRows = 20'000;
  std::vector<TestRow> children;
  std::vector<TestRow> parents;
  for (int64_t i = 0; i < kRows; ++i) {
    children.push_back(Child(kInsert, i, i % 1'000));
    if (i < 1'000) parents.push_back(Parent(kInsert, i));
  }
  ASSERT_EQ(Bring(*job, of_child_, children).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*) FROM weir_waiting"), (Lines{"20000"}));
  EXPECT_EQ(job->Counter("apply_errors", "public.child"), 0U) << "nothing had to be done again";
  ASSERT_EQ(Bring(*job, of_parent_, parents).ToString(), "ok");
  for (int i = 0; i < 100 && job->Gauge("rows_waiting") > 0; ++i) ASSERT_EQ(job->Apply({}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*), sum(parent) FROM child"), (Lines{"20000|9990000"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, WhatWaitsOutlivesServerAndProcess) {
  {
    const auto job = Started();
    ASSERT_EQ(Bring(*job, of_child_, {Child(kInsert, 1, 7, 10)}).ToString(), "ok");
  }
  world_.server().Crash();
  ASSERT_EQ(world_.server().Restart().ToString(), "ok");
  const auto job = Started({}, 2);
  EXPECT_EQ(Waiting().size(), 1U);
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 7)}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"1|7|10"}));
}

TEST_F(PostgresWaitingTest, AStartThatWouldForgetWhatWaitsIsRefused) {
  ASSERT_EQ(Bring(*Started(), of_child_, {Child(kInsert, 1, 7)}).ToString(), "ok");
  PostgresJob job(world_, {{"table-column", Text("t")}}, 2);
  EXPECT_EQ(job.Start().ToString(),
            "failed precondition: rows of job orders still wait in table public.weir_waiting: expected "
            "on-missing-parent wait until none does, or that they are deleted");
  PostgresJob other(world_, {{"table-column", Text("t")}}, 3, "other");
  EXPECT_EQ(other.Start().ToString(), "ok");
}

TEST_F(PostgresWaitingTest, ASinkOfOneTableHasItsRowsWaitToo) {
  operators::RawValue yes;
  yes.kind = operators::RawKind::kBool;
  yes.boolean = true;
  PostgresJob job(world_, {{"table", Text("child")}, {"on-missing-parent", Text("wait")}, {"frontier", yes}});
  ASSERT_EQ(job.Start().ToString(), "ok");
  ASSERT_EQ(job.Write({"id", "parent"}, {{kInsert, {Int(1), Int(7)}, {30, 0}}}).ToString(), "ok");
  ASSERT_EQ(job.Watermark({40, 0}).ToString(), "ok");
  ASSERT_EQ(job.Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT key, time FROM weir_waiting"), (Lines{"[1]|30.0000000000"}));
  EXPECT_EQ(world_.Query("SELECT frontier, newest FROM weir_markers"), (Lines{"null|30.0000000000"}));
  world_.Run("INSERT INTO parent VALUES (7)");
  ASSERT_EQ(job.Watermark({50, 0}).ToString(), "ok");
  ASSERT_EQ(job.Checkpoint().ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"1|7|null"}));
  EXPECT_EQ(world_.Query("SELECT frontier FROM weir_markers"), (Lines{"50.0000000000"}));
}

TEST_F(PostgresWaitingTest, ASubtaskFreesWhatAnotherOnesParentWaitedFor) {
  const auto job = Started({{"delivery", Text("at-least-once")}}, 1, 2);
  ASSERT_EQ(job->Write(of_child_, {Child(kInsert, 1, 7)}, 0).ToString(), "ok");
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(Waiting().size(), 1U);
  ASSERT_EQ(job->Write(of_parent_, {Parent(kInsert, 7)}, 1).ToString(), "ok");
  ASSERT_TRUE(job->Seal().has_value());
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(Children(), (Lines{"1|7|0"}));
  EXPECT_EQ(Waiting(), Lines());
}

TEST_F(PostgresWaitingTest, InOrderOfArrivalItWaitsToo) {
  const auto job = Started({{"ordering", Text("arrival")}});
  ASSERT_EQ(job->Write(of_child_, {Child(kInsert, 1, 7)}).ToString(), "ok");
  ASSERT_EQ(Bring(*job, of_parent_, {Parent(kInsert, 7)}).ToString(), "ok");
  ASSERT_EQ(job->Apply({}).ToString(), "ok");
  EXPECT_EQ(Children(), (Lines{"1|7|0"}));
  ASSERT_EQ(job->Write(of_parent_, {Parent(kDelete, 7), Parent(kInsert, 8)}).ToString(), "ok");
  ASSERT_EQ(Bring(*job, of_child_, {Child(kDelete, 1, 7), Child(kInsert, 2, 9)}).ToString(), "ok");
  ASSERT_EQ(job->Apply({}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT id FROM parent"), (Lines{"8"}));
  EXPECT_EQ(Waiting(), (Lines{"public.child|[2]|child_parent_fkey: not in public.parent"}));
}

TEST_F(PostgresWaitingTest, B20_TheFrontierIsShownOnlyWhereItIsTrue) {
  const auto frontier = [&] { return world_.Query("SELECT frontier, newest FROM weir_markers").at(0); };
  auto job = Started();
  const auto bring = [&](const Lines& columns, TestRow row, int64_t time, int64_t watermark) {
    row.time = {time, 0};
    ASSERT_EQ(job->Write(columns, {row}).ToString(), "ok");
    ASSERT_EQ(job->Watermark({watermark, 0}).ToString(), "ok");
    ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  };
  bring(of_parent_, Parent(kInsert, 1), 5, 10);
  EXPECT_EQ(frontier(), "10.0000000000|5.0000000000");
  bring(of_parent_, Parent(kInsert, 2), 15, 11);
  EXPECT_EQ(frontier(), "null|15.0000000000") << "a row above it";
  bring(of_child_, Child(kInsert, 1, 9), 14, 20);
  EXPECT_EQ(frontier(), "null|15.0000000000") << "a row waits";
  bring(of_parent_, Parent(kInsert, 9), 21, 30);
  EXPECT_EQ(frontier(), "30.0000000000|21.0000000000");
  // An older savepoint: the target is ahead of what is written again.
  job = Started({}, 2);
  job->UseStorage({.high = 7, .low = 7});
  bring(of_parent_, Parent(kInsert, 2), 15, 18);
  EXPECT_EQ(frontier(), "null|21.0000000000");
  bring(of_parent_, Parent(kInsert, 9), 21, 22);
  EXPECT_EQ(frontier(), "22.0000000000|21.0000000000");
  // The end of the input: everything leaves.
  bring(of_parent_, Parent(kInsert, 10), 40, 22);
  EXPECT_EQ(frontier(), "null|40.0000000000");
}

}  // namespace
}  // namespace weir::postgres_test
