// What the postgres sink makes of rows, on a real server: values, names, keys, deletions, versions, refused rows.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/random.h"
#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {
namespace {

using operators::RowKind;
using operators::Value;
using operators::ValueType;
using Lines = std::vector<std::string>;

constexpr RowKind kInsert = RowKind::kInsert;
constexpr RowKind kBefore = RowKind::kUpdateBefore;
constexpr RowKind kAfter = RowKind::kUpdateAfter;
constexpr RowKind kDelete = RowKind::kDelete;

class PostgresSinkTest : public testing::Test {
 protected:
  std::unique_ptr<PostgresJob> Started(Definition definition, uint64_t attempt = 1) {
    auto job = std::make_unique<PostgresJob>(world_, std::move(definition), attempt);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  // Writes and applies by a new start.
  Status Bring(Definition definition, const Lines& columns, const std::vector<TestRow>& rows) {
    const auto job = Started(std::move(definition));
    WEIR_RETURN_IF_ERROR(job->Write(columns, rows));
    return job->Checkpoint();
  }

  RealPostgresWorld world_;
};

TEST_F(PostgresSinkTest, EveryTypeOfValueArrivesExactly) {
  world_.Run(
      "CREATE TABLE t (id bigint PRIMARY KEY, b boolean, i integer, n numeric, d double precision, s text, x bytea, "
      "day date, at time, ts timestamp, tz timestamptz, j json, jb jsonb)");
  const Lines columns = {"id", "b", "i", "n", "d", "s", "x", "day", "at", "ts", "tz", "j", "jb"};
  const int64_t us = 1'709'211'845'123'456;  // 2024-02-29 13:04:05.123456
  const auto json = Value::Text(ValueType::kJson, R"({"a": [1.0, 2]})");
  const auto bytes = Value::Text(ValueType::kBytes, std::string_view("\0\xff\\'\"", 5));
  const std::vector<TestRow> rows = {
      {kInsert,
       {Int(INT64_MAX), Value::Bool(true), Number("5.00"), Number("12345678901234567890123456789012345678"),
        Value::Double(0.1), String("it's \"q\"\\ {,} \xc3\xa9\n"), bytes, Value::Temporal(ValueType::kDate, 19'782),
        Value::Temporal(ValueType::kTime, 46'801'250'000), Value::Temporal(ValueType::kTimestamp, us),
        Value::Temporal(ValueType::kTimestampTz, us), json, json}},
      {kInsert,
       {Int(INT64_MIN), Value::Bool(false), Int(-7), Number("-0.000000000000000000000000000000000000123"),
        Value::Double(1e300), String(""), Value::Text(ValueType::kBytes, ""), Value::Temporal(ValueType::kDate, -1),
        Value::Temporal(ValueType::kTime, 0), Value::Temporal(ValueType::kTimestamp, -1),
        Value::Temporal(ValueType::kTimestampTz, -1), Value::Text(ValueType::kJson, "null"),
        Value::Text(ValueType::kJson, "[]")}},
      {kInsert,
       {Int(0), Value::Null(), Value::Absent(), Number("NaN"), Value::Double(-INFINITY), Value::Null(), Value::Null(),
        Value::Null(), Value::Null(), Value::Null(), Value::Null(), Value::Null(), Value::Null()}},
      {kInsert,
       {Int(1), Value::Null(), Number("7E+3"), Number("7E+3"), Value::Double(NAN), Value::Null(), Value::Null(),
        Value::Null(), Value::Null(), Value::Null(), Value::Null(), Value::Null(), Value::Null()}}};
  ASSERT_EQ(Bring({{"table", Text("t")}}, columns, rows).ToString(), "ok");
  EXPECT_EQ(
      world_.Query("SELECT * FROM t ORDER BY id"),
      (Lines{"-9223372036854775808|f|-7|-0.000000000000000000000000000000000000123|1e+300||\\x|1969-12-31|00:00:00|"
             "1969-12-31 23:59:59.999999|1969-12-31 23:59:59.999999+00|null|[]",
             "0|null|null|NaN|-Infinity|null|null|null|null|null|null|null|null",
             "1|null|7000|7000|NaN|null|null|null|null|null|null|null|null",
             "9223372036854775807|t|5|12345678901234567890123456789012345678|0.1|it's \"q\"\\ {,} \xc3\xa9\n|"
             "\\x00ff5c2722|2024-02-29|13:00:01.25|2024-02-29 13:04:05.123456|2024-02-29 13:04:05.123456+00|"
             "{\"a\": [1.0, 2]}|{\"a\": [1.0, 2]}"}));
}

TEST_F(PostgresSinkTest, NamesAreTakenAsTheyAre) {
  world_.Run(R"(CREATE SCHEMA "Odd.Schema"; CREATE TABLE "Odd.Schema"."sel""ect; DROP" )"
             R"(("Order" text, "a""b" text, "from" text, PRIMARY KEY ("Order", "a""b")))");
  const Lines columns = {"Order", "a\"b", "from"};
  const Definition definition = {{"table", Text(R"("Odd.Schema"."sel""ect; DROP")")}};
  const auto job = Started(definition);
  ASSERT_EQ(job->Write(columns, {{kInsert, {String("1"), String("2"), String("'); DROP TABLE x; --")}},
                                 {kInsert, {String("x"), String("y"), String("z")}}})
                .ToString(),
            "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  ASSERT_EQ(job->Write(columns, {{kDelete, {String("x"), String("y"), Value::Null()}}}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_.Query(R"(SELECT * FROM "Odd.Schema"."sel""ect; DROP")"), (Lines{"1|2|'); DROP TABLE x; --"}));
  world_.Run(R"(DROP SCHEMA "Odd.Schema" CASCADE)");
}

TEST_F(PostgresSinkTest, TheLastVersionOfAKeyWinsAndDeletionsDelete) {
  world_.Run("CREATE TABLE t (id numeric PRIMARY KEY, n text); INSERT INTO t VALUES (9, 'old'), (8, 'gone')");
  const std::vector<TestRow> rows = {
      {kInsert, {Int(1), String("a")}},   {kAfter, {Number("1.0"), String("b")}},  // the same number
      {kInsert, {Int(2), String("x")}},   {kDelete, {Int(2), String("x")}},       {kDelete, {Int(8), String("gone")}},
      {kDelete, {Int(9), String("old")}}, {kInsert, {Int(9), String("new")}},     {kBefore, {Int(1), String("b")}},
      {kAfter, {Int(1), String("c")}},    {kInsert, {Int(5), String("from")}},    {kBefore, {Int(5), String("from")}},
      {kAfter, {Int(6), String("to")}}};  // the key changes
  ASSERT_EQ(Bring({{"table", Text("t")}}, {"id", "n"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM t ORDER BY id"), (Lines{"1|c", "6|to", "9|new"}));
}

TEST_F(PostgresSinkTest, AnUpdateIsNoDeletion) {
  world_.Run(
      "CREATE TABLE t (id int PRIMARY KEY, n text); INSERT INTO t VALUES (1, 'a');"
      "CREATE TABLE child (id int REFERENCES t ON DELETE RESTRICT); INSERT INTO child VALUES (1)");
  const std::vector<TestRow> rows = {{kBefore, {Int(1), String("a")}}, {kAfter, {Int(1), String("b")}}};
  ASSERT_EQ(Bring({{"table", Text("t")}}, {"id", "n"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM t"), (Lines{"1|b"}));
}

TEST_F(PostgresSinkTest, AColumnThatARowLacksIsLeftAlone) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, a text, b text DEFAULT 'default')");
  const std::vector<TestRow> rows = {
      {kInsert, {Int(1), String("a"), Value::Absent()}},     {kAfter, {Int(1), Value::Absent(), String("b")}},
      {kInsert, {Int(2), String("a"), Value::Null()}},       {kInsert, {Int(3), String("x"), String("y")}},
      {kDelete, {Int(3), Value::Absent(), Value::Absent()}}, {kInsert, {Int(3), String("again"), Value::Absent()}}};
  ASSERT_EQ(Bring({{"table", Text("t")}}, {"id", "a", "b"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM t ORDER BY id"), (Lines{"1|a|b", "2|a|null", "3|again|default"}));
}

TEST_F(PostgresSinkTest, AppendAddsEveryRowInOrder) {
  world_.Run("CREATE TABLE t (seq bigserial, n text)");
  std::vector<TestRow> rows;
  for (int i = 0; i < 2500; ++i) rows.push_back({kInsert, {String(i % 2 == 0 ? "even" : "odd")}});
  rows.push_back({kBefore, {String("not written")}});
  rows.push_back({kAfter, {String("last")}});
  ASSERT_EQ(Bring({{"table", Text("t")}, {"mode", Text("append")}}, {"n"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*), sum((n = CASE seq % 2 WHEN 1 THEN 'even' ELSE 'odd' END)::int) FROM t"),
            (Lines{"2501|2500"}));
  EXPECT_EQ(world_.Query("SELECT n FROM t ORDER BY seq DESC LIMIT 1"), (Lines{"last"}));
  const auto job = Started({{"table", Text("t")}, {"mode", Text("append")}});
  const Status refused = job->Write({"n"}, {{kDelete, {String("x")}}});
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("public.t"), std::string::npos) << refused.ToString();
}

TEST_F(PostgresSinkTest, ManyRowsOfFewKeysAreTheirLast) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, n int)");
  std::vector<TestRow> rows;
  for (int i = 0; i < 5000; ++i) rows.push_back({kAfter, {Int(i % 1700), Int(i)}});
  ASSERT_EQ(Bring({{"table", Text("t")}}, {"id", "n"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*), min(n), max(n) FROM t"), (Lines{"1700|3300|4999"}));
}

TEST_F(PostgresSinkTest, GeneratedColumnsAreLeftOutAndIdentityIsGiven) {
  world_.Run(
      "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int, "
      "twice int GENERATED ALWAYS AS (n * 2) STORED)");
  const std::vector<TestRow> rows = {{kInsert, {Int(41), Int(1), Int(77)}}, {kAfter, {Int(41), Int(3), Int(77)}}};
  const auto job = Started({{"table", Text("t")}});
  for (const TestRow& row : rows) {
    ASSERT_EQ(job->Write({"id", "n", "twice"}, {row}).ToString(), "ok");
    ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  }
  EXPECT_EQ(world_.Query("SELECT * FROM t"), (Lines{"41|3|6"}));
}

TEST_F(PostgresSinkTest, AnotherKeyThanThePrimaryOne) {
  world_.Run("CREATE TABLE t (seq bigserial PRIMARY KEY, a text, b int, n int, UNIQUE (b, a))");
  const auto job = Started({{"table", Text("t")}, {"key", List({"a", "b"})}});
  for (const int64_t n : {10, 20}) {
    ASSERT_EQ(job->Write({"a", "b", "n"}, {{kInsert, {String("x"), Int(1), Int(n)}}}).ToString(), "ok");
    ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  }
  EXPECT_EQ(world_.Query("SELECT a, b, n FROM t"), (Lines{"x|1|20"}));
}

TEST_F(PostgresSinkTest, ATableThatDoesNotFitIsToldBeforeAnythingIsSealed) {
  const auto refusal = [&](Definition definition, const Lines& columns) {
    const auto job = Started(std::move(definition));
    return job->Write(columns, {{kInsert, std::vector<Value>(columns.size(), Int(1))}}).ToString();
  };
  EXPECT_EQ(refusal({{"table", Text("lost")}}, {"id"}), "failed precondition: there is no table public.lost");
  world_.Run("CREATE TABLE t (id int, n int)");
  EXPECT_EQ(refusal({{"table", Text("t")}}, {"id"}),
            "failed precondition: table public.t has no primary key: mode upsert needs one, or the option key");
  EXPECT_EQ(refusal({{"table", Text("t")}, {"key", List({"no"})}}, {"id"}),
            "failed precondition: table public.t has no column \"no\"; its columns: id, n");
  EXPECT_EQ(refusal({{"table", Text("t")}, {"mode", Text("append")}}, {"id", "Extra"}),
            "failed precondition: table public.t has no column \"Extra\", which the rows have; its columns: id, n "
            "(unknown-columns says what else may become of it)");
  const Definition ignore = {{"table", Text("t")}, {"mode", Text("append")}, {"unknown-columns", Text("ignore")}};
  ASSERT_EQ(Bring(ignore, {"id", "Extra"}, {{kInsert, {Int(1), String("x")}}}).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM t"), (Lines{"1|null"}));
}

TEST_F(PostgresSinkTest, UnknownColumnsGatherInOneObject) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, n int, more jsonb)");
  const Definition definition = {
      {"table", Text("t")}, {"unknown-columns", Text("extras")}, {"extras-column", Text("more")}};
  const Lines columns = {"id", "n", "a", "b", "c\"", "d"};
  const auto json = Value::Text(ValueType::kJson, "[1]");
  ASSERT_EQ(Bring(definition, columns,
                  {{kInsert, {Int(1), Int(1), Number("0.10"), Value::Bool(true), String("x\"y"), json}},
                   {kInsert, {Int(2), Int(2), Number("NaN"), Value::Null(), Value::Absent(), Value::Absent()}},
                   {kInsert, {Int(3), Int(3), Int(3), Value::Absent(), Value::Absent(), Value::Absent()}},
                   {kAfter, {Int(3), Int(4), Value::Absent(), Value::Absent(), Value::Absent(), Value::Absent()}}})
                .ToString(),
            "ok");
  EXPECT_EQ(
      world_.Query("SELECT * FROM t ORDER BY id"),
      (Lines{R"(1|1|{"a": 0.10, "b": true, "d": [1], "c\"": "x\"y"})", R"(2|2|{"a": "NaN", "b": null})", "3|4|null"}));
  const auto job = Started(definition, 2);
  ASSERT_EQ(job->Write({"id", "more"}, {{kInsert, {Int(1), Int(1)}}}).ToString(), "ok");
  EXPECT_EQ(job->Checkpoint().ToString(),
            "failed precondition: the rows for table public.t have a column \"more\" of their own, which extras-column "
            "names: expected another name");
}

TEST_F(PostgresSinkTest, ARefusedRowIsNamedAndStays) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 1000))");
  std::vector<TestRow> rows;
  for (int i = 0; i < 1500; ++i) rows.push_back({kInsert, {Int(i), Int(i == 777 ? 5000 : 1)}});
  auto job = Started({{"table", Text("t")}});
  ASSERT_EQ(job->Write({"id", "n"}, rows).ToString(), "ok");
  const auto sealed = job->Seal();
  ASSERT_TRUE(sealed.has_value());
  const Status refused = job->Apply(*sealed);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  for (const char* part : {"table public.t", "(id)=(777)", "23514", "t_n_check"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part << " in " << refused.ToString();
  }
  EXPECT_EQ(world_.Query("SELECT count(*) FROM t"), (Lines{"0"}));
  world_.Run("ALTER TABLE t DROP CONSTRAINT t_n_check");
  job = Started({{"table", Text("t")}}, 2);
  ASSERT_EQ(job->Apply(*sealed).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT count(*), max(n) FROM t"), (Lines{"1500|5000"}));
}

TEST_F(PostgresSinkTest, ADeferredConstraintIsToldBeforeTheCommit) {
  world_.Run(
      "CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES "
      "parent DEFERRABLE INITIALLY DEFERRED)");
  const Status refused = Bring({{"table", Text("t")}}, {"id", "parent"}, {{kInsert, {Int(1), Int(4)}}});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  for (const char* part : {"23503", "public.t", "(parent)=(4)"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part << " in " << refused.ToString();
  }
}

TEST_F(PostgresSinkTest, B38_RefusedRowsGoToTheDeadLetterTableInTheSameTransaction) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 1000), s varchar(3))");
  std::vector<TestRow> rows;
  for (int i = 0; i < 1200; ++i) rows.push_back({kInsert, {Int(i), Int(i % 500 == 7 ? 5000 : 1), String("abc")}});
  rows.push_back({kInsert, {Int(5000), Int(1), String("too long")}});
  rows.push_back({kInsert, {String("word"), Int(1), String("x")}});
  rows.push_back({kInsert, {Value::Null(), Int(1), String("\xff")}});
  rows.push_back({kInsert, {Int(5001), Int(1), String("\xff")}});
  rows.push_back({kInsert, {String("\xfe"), Int(1), String("x")}});
  ASSERT_EQ(Bring({{"table", Text("t")}, {"dead-letter-table", Text("dead")}}, {"id", "n", "s"}, rows).ToString(),
            "ok");
  EXPECT_EQ(world_.Query("SELECT count(*) FROM t"), (Lines{"1197"}));
  EXPECT_EQ(world_.Query("SELECT target, kind, key, row, sqlstate FROM dead ORDER BY key"),
            (Lines{R"(public.t|write|(id)=(1007)|{"id":"1007","n":"5000","s":"abc"}|23514)",
                   R"(public.t|write|(id)=(5000)|{"id":"5000","n":"1","s":"too long"}|22001)",
                   R"(public.t|write|(id)=(5001)|{"id":"5001","n":"1","s":"\\xff"}|22021)",
                   R"(public.t|write|(id)=(507)|{"id":"507","n":"5000","s":"abc"}|23514)",
                   R"(public.t|write|(id)=(7)|{"id":"7","n":"5000","s":"abc"}|23514)",
                   R"(public.t|write|(id)=(\xfe)|{"id":"\\xfe","n":"1","s":"x"}|22021)",
                   R"(public.t|write|(id)=(null)|{"id":null,"n":"1","s":"\\xff"}|23502)",
                   R"(public.t|write|(id)=(word)|{"id":"word","n":"1","s":"x"}|22P02)"}));
}

TEST_F(PostgresSinkTest, KeysThatOnlyTheServerKnowsToBeOneAreWrittenInOrder) {
  world_.Run("CREATE TABLE t (id uuid PRIMARY KEY, n int)");
  const std::vector<TestRow> rows = {{kInsert, {String("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), Int(1)}},
                                     {kInsert, {String("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"), Int(2)}}};
  ASSERT_EQ(Bring({{"table", Text("t")}}, {"id", "n"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT n FROM t"), (Lines{"2"}));
}

// Random changes against a map that applies them one by one: partial rows, deletions, changed keys, small and large
// checkpoints, an attempt that is refused halfway and repeated with care.
TEST_F(PostgresSinkTest, RandomChangesAreAsOneByOne) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, a int, b int, c int CHECK (c <> 13))");
  const auto job = Started({{"table", Text("t")}, {"dead-letter-table", Text("dead")}});
  SeededRandom random(5);
  using Cells = std::array<std::optional<int64_t>, 3>;
  std::map<int64_t, Cells> expected;
  for (int checkpoint = 0; checkpoint < 40; ++checkpoint) {
    const int64_t keys = checkpoint % 2 == 0 ? 30 : 3000;
    std::vector<TestRow> rows;
    const size_t count = random.Below(checkpoint % 3 == 0 ? 2500 : 50) + 1;
    const bool refused_ones = checkpoint % 5 == 4;
    while (rows.size() < count) {
      const auto id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(keys)));
      const uint64_t what = random.Below(10);
      if (what < 2) {
        rows.push_back({what == 0 ? kDelete : kBefore, {Int(id), Value::Null(), Value::Absent(), Value::Null()}});
        expected.erase(id);
        if (what == 0) continue;
      }
      // Behind a -U: the same key, or another one. Only the whole row says what an update makes of it.
      const int64_t key = what == 1 && random.OneIn(2) ? id + 1 : id;
      TestRow row{what == 1 ? kAfter : kInsert, {Int(key)}};
      if (what == 1 && expected.contains(key)) expected.erase(key);
      Cells& cells = expected[key];
      for (std::optional<int64_t>& cell : cells) {
        const uint64_t kind = what == 1 ? 1 : random.Below(6);
        if (kind == 0) {
          row.values.push_back(Value::Null());
          cell.reset();
        } else if (kind < 5) {
          cell = static_cast<int64_t>(random.Below(12));
          row.values.push_back(Int(*cell));
        } else {
          row.values.push_back(Value::Absent());
        }
      }
      rows.push_back(row);
      // The server refuses it; what was there stays.
      if (refused_ones && random.OneIn(20)) rows.push_back({kInsert, {Int(key + 100'000), Int(1), Int(1), Int(13)}});
    }
    ASSERT_EQ(job->Write({"id", "a", "b", "c"}, rows).ToString(), "ok");
    ASSERT_EQ(job->Checkpoint().ToString(), "ok");
    Lines lines;
    for (const auto& [key, cells] : expected) {
      std::string line = std::to_string(key);
      for (const auto& cell : cells) line += "|" + (cell.has_value() ? std::to_string(*cell) : "null");
      lines.push_back(line);
    }
    ASSERT_EQ(world_.Query("SELECT * FROM t ORDER BY id"), lines) << "checkpoint " << checkpoint;
  }
}

TEST_F(PostgresSinkTest, Weakness_j_AnOlderVersionNeverOverwritesANewerOne) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, v int, n text); INSERT INTO t VALUES (1, 10, 'newer'), (4, 9, 'x')");
  const std::vector<TestRow> rows = {
      {kAfter, {Int(1), Int(9), String("late")}}, {kInsert, {Int(2), Int(5), String("a")}},
      {kAfter, {Int(2), Int(4), String("late")}}, {kAfter, {Int(2), Int(6), String("b")}},
      {kInsert, {Int(3), Int(5), String("a")}},   {kDelete, {Int(3), Int(5), String("a")}},
      {kDelete, {Int(4), Int(8), String("late")}}};
  ASSERT_EQ(Bring({{"table", Text("t")}, {"version-column", Text("v")}}, {"id", "v", "n"}, rows).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT * FROM t ORDER BY id"), (Lines{"1|10|newer", "2|6|b", "4|9|x"}));
}

TEST_F(PostgresSinkTest, B16_AtLeastOnceWritesAtTheBarrierWithoutAMarker) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 10))");
  const auto job = Started({{"table", Text("t")}, {"delivery", Text("at-least-once")}});
  EXPECT_EQ(job->sink().system(), "");
  ASSERT_EQ(job->Write({"id", "n"}, {{kInsert, {Int(1), Int(1)}}, {kAfter, {Int(1), Int(2)}}}).ToString(), "ok");
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(world_.Query("SELECT * FROM t"), (Lines{"1|2"}));
  // A session that has ended in the meantime is made again.
  world_.Query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weir'");
  ASSERT_EQ(job->Write({"id", "n"}, {{kAfter, {Int(1), Int(3)}}}).ToString(), "ok");
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(world_.Query("SELECT * FROM t"), (Lines{"1|3"}));
  ASSERT_EQ(job->Write({"id", "n"}, {{kInsert, {Int(2), Int(99)}}}).ToString(), "ok");
  const auto refused = job->Seal();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find("(id)=(2)"), std::string::npos) << refused.error().ToString();
  EXPECT_EQ(world_.Query("SELECT to_regclass('weir_markers')"), (Lines{"null"}));
}

// A batch goes out when it is large enough, when nothing more comes for now (as behind a resolved message), and at the
// latest at the barrier, which comes by the clock whatever the traffic is.
TEST_F(PostgresSinkTest, B15_AtLeastOnceSendsBySizeInAPauseAndAtTheBarrier) {
  world_.Run("CREATE TABLE t (id int PRIMARY KEY, v text)");
  const auto job = Started({{"table", Text("t")}, {"delivery", Text("at-least-once")}});
  const auto write = [&](int64_t id, std::string_view v) {
    ASSERT_EQ(job->Write({"id", "v"}, {{kInsert, {Int(id), String(v)}}}).ToString(), "ok");
    world_.workers().RunAll();
  };
  const auto count = [&] { return world_.Query("SELECT count(*) FROM t"); };
  write(1, "small");
  EXPECT_EQ(count(), Lines{"0"});
  const std::string large(300'000, 'x');
  write(2, large);
  EXPECT_EQ(count(), Lines{"2"}) << "by size";
  write(3, "small");
  EXPECT_EQ(count(), Lines{"2"});
  ASSERT_EQ(job->Pause().ToString(), "ok");
  EXPECT_EQ(count(), Lines{"3"}) << "in a pause";
  write(4, "small");
  ASSERT_TRUE(job->Seal().has_value());
  EXPECT_EQ(count(), Lines{"4"}) << "at the barrier";
}

}  // namespace
}  // namespace weir::postgres_test
