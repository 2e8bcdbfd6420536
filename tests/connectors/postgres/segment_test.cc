// Rows for PostgreSQL in output segments: what goes in comes out, and damage is told.
#include "connectors/postgres/segment.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "connectors/postgres/row_frames.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::RowKind;
using operators::Value;
using operators::ValueType;

class PostgresSegmentTest : public testing::Test {
 protected:
  static Batch Rows(const std::vector<std::string>& columns,
                    const std::vector<std::pair<RowKind, std::vector<Value>>>& rows) {
    Batch batch(std::make_shared<const operators::Schema>(columns), rows.size());
    for (const auto& [kind, values] : rows) std::copy(values.begin(), values.end(), batch.AddRow(kind, {}));
    return batch;
  }
  static Value Text(std::string_view text) { return Value::Text(ValueType::kString, text); }
  // "schema.table(key) +I a=1 b=null", absent ones left out.
  Status Read(const std::string& bytes, std::vector<std::string>& rows) {
    rows.clear();
    auto file = fs_.OpenForWrite("/segment", WriteMode::kTruncate);
    EXPECT_EQ((*file)->Append(bytes).ToString(), "ok");
    EXPECT_EQ((*file)->Close().ToString(), "ok");
    return ReadPostgresSegment(fs_, "/segment", [&](const SegmentRow& row) {
      std::string line = row.target.table.ToString() + "(";
      for (const std::string& key : row.target.key) line += key;
      line += ") " + std::string(operators::RowKindName(row.kind));
      for (size_t i = 0; i < row.values.size(); ++i) {
        const SegmentValue& value = row.values[i];
        if (!value.absent) line += " " + row.columns[i] + "=" + std::string(value.text.value_or("null"));
      }
      rows.push_back(line);
      return Status::Ok();
    });
  }

  simulation::SimFileSystem fs_{1};
};

TEST_F(PostgresSegmentTest, RowsNameTheirTablesAndEachTableIsNamedOnce) {
  const PostgresTarget target{.table = {"s", ""}, .upsert = true, .named_by_row = true, .key_column = "k"};
  PostgresRowColumns columns{.table_column = "t", .without_columns = {"x"}};
  columns.tables["b"] = {.table = "B2",
                         .renames = {{"n", "m"}},
                         .deadlines = {{"at", "5"}},
                         .keeps_deleted = true,
                         .on_conflict = PostgresOnConflict::kMerge,
                         .merged = {{"n", "$target"}},
                         .unmerged = PostgresOnConflict::kOverwrite};
  PostgresRowFrames frames(target, columns);
  const auto one = Rows({"t", "x", "n"}, {{RowKind::kInsert, {Text("a"), Text("no"), Text("1")}},
                                          {RowKind::kInsert, {Text("b"), Text("no"), Text("2")}},
                                          {RowKind::kDelete, {Text("a"), Text("no"), Text("3")}}});
  std::string bytes;
  ASSERT_EQ(frames.Append(one, bytes).value_or(0), 3U);
  const size_t first = bytes.size();
  ASSERT_TRUE(frames.Append(one, bytes).has_value());
  EXPECT_LT(bytes.size() - first, 20U) << "the second time by number";
  AppendSegmentFrontier(bytes, {3, {1'700'000'000'000'000'000, 7}});
  AppendPostgresSegmentEnd(bytes);
  std::vector<std::string> rows;
  ASSERT_EQ(Read(bytes, rows).ToString(), "ok");
  const std::vector<std::string> expected = {"s.a() +I n=1", "s.B2() +I n=2", "s.a() -D n=3"};
  EXPECT_EQ(std::vector<std::string>(rows.begin(), rows.begin() + 3), expected);
  EXPECT_EQ(std::vector<std::string>(rows.begin() + 3, rows.end()), expected);
  std::optional<SegmentFrontier> frontier;
  PostgresTarget of_b;
  const auto take = [&](const SegmentRow& row) {
    if (row.target.table.table == "B2") of_b = row.target;
    return Status::Ok();
  };
  ASSERT_EQ(ReadPostgresSegment(fs_, "/segment", take, &frontier).ToString(), "ok");
  EXPECT_EQ(frontier, (SegmentFrontier{3, {1'700'000'000'000'000'000, 7}}));
  PostgresTableRules rules = columns.tables["b"];
  rules.table.clear();
  EXPECT_EQ(of_b.rules, rules);
  EXPECT_EQ(of_b.key_column, "k");
}

TEST_F(PostgresSegmentTest, B38_WhereARowComesFromTravelsForTheDeadLettersAlone) {
  const PostgresTarget target{.table = {"s", "t"}, .upsert = true, .key = {"id"}};
  const PostgresRowColumns columns{.without_columns = {"topic", "at", "x"}};
  const auto batch = Rows({"id", "topic", "at", "x"},
                          {{RowKind::kInsert, {Text("1"), Text("a\"b"), Value::Int64(7), Value::Null()}},
                           {RowKind::kInsert, {Text("2"), Value::Absent(), Value::Absent(), Value::Absent()}},
                           {RowKind::kInsert, {Text("3"), Value::Absent(), Value::Int64(8), Value::Absent()}}});
  for (const bool dead_letters : {true, false}) {
    PostgresRowFrames frames(target, columns, dead_letters);
    std::string bytes;
    ASSERT_TRUE(frames.Append(batch, bytes).has_value());
    std::vector<std::string> origins;
    const auto take = [&](const SegmentRow& row) {
      EXPECT_EQ(row.columns, std::vector<std::string>{"id"});
      origins.emplace_back(row.origin);
      return Status::Ok();
    };
    ASSERT_EQ(ReadPostgresRows(bytes, take).ToString(), "ok");
    const std::vector<std::string> expected = {R"({"topic":"a\"b","at":7,"x":null})", "", R"({"at":8})"};
    EXPECT_EQ(origins, dead_letters ? expected : std::vector<std::string>(3));
  }
}

TEST_F(PostgresSegmentTest, RulesOfAnOlderReleaseSayNothingOfConflicts) {
  // 'T' s t, upsert, named by the row, rules without flag 16; then a row without columns.
  const std::string bytes("T\001s\001t\007\000\000\000\000\000\000\000\001\001v\000C\000R\000", 21);
  PostgresTarget target;
  const auto take = [&](const SegmentRow& row) {
    target = row.target;
    return Status::Ok();
  };
  ASSERT_EQ(ReadPostgresRows(bytes, take).ToString(), "ok");
  EXPECT_EQ(target.rules, (PostgresTableRules{.version_columns = {"v"}}));
  EXPECT_FALSE(target.compares());
}

TEST_F(PostgresSegmentTest, TimesOfRowsComeBackAlsoNegativeOnesAndNone) {
  const PostgresTarget target{.table = {"s", ""}, .upsert = true, .named_by_row = true};
  PostgresRowFrames frames(target, {.table_column = "t"});
  const std::vector<operators::EventTime> times = {{}, {-1, 0}, {-1, 0}, {5, 2'147'483'647}, {}};
  Batch batch(std::make_shared<const operators::Schema>(std::vector<std::string>{"t"}), times.size());
  for (const operators::EventTime time : times) batch.AddRow(RowKind::kInsert, time)[0] = Text("a");
  std::string bytes;
  ASSERT_TRUE(frames.Append(batch, bytes).has_value());
  std::vector<operators::EventTime> read;
  const auto take = [&](const SegmentRow& row) {
    read.push_back(row.time);
    return Status::Ok();
  };
  ASSERT_EQ(ReadPostgresRows(bytes, take).ToString(), "ok");
  EXPECT_EQ(read, times);
}

TEST_F(PostgresSegmentTest, GivesBackWhatWasAppended) {
  const PostgresTarget target{.table = {"s", "t"}, .upsert = true, .key = {"id"}, .version_column = "v"};
  PostgresRowFrames frames(target);
  std::string bytes;
  ASSERT_TRUE(frames
                  .Append(Rows({"id", "n"}, {{RowKind::kInsert, {Value::Int64(1), Text("a")}},
                                             {RowKind::kUpdateBefore, {Value::Int64(1), Value::Null()}},
                                             {RowKind::kUpdateAfter, {Value::Int64(2), Value::Absent()}}}),
                          bytes)
                  .has_value());
  ASSERT_TRUE(frames.Append(Rows({"id"}, {{RowKind::kDelete, {Text("")}}}), bytes).has_value());
  AppendPostgresSegmentEnd(bytes);
  std::vector<std::string> rows;
  ASSERT_EQ(Read(bytes, rows).ToString(), "ok");
  EXPECT_EQ(rows, (std::vector<std::string>{"s.t(id) +I id=1 n=a", "s.t(id) -U id=1 n=null", "s.t(id) +U id=2",
                                            "s.t(id) -D id="}));
}

TEST_F(PostgresSegmentTest, ReadsFilesLargerThanAPiece) {
  const PostgresTarget target{.table = {"s", "t"}};
  PostgresRowFrames frames(target);
  SeededRandom random(1);
  std::string bytes;
  std::vector<std::string> expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) texts.emplace_back(random.Below(100'000), 'x');
  for (const std::string& text : texts) {
    ASSERT_TRUE(frames.Append(Rows({"n"}, {{RowKind::kInsert, {Text(text)}}}), bytes).has_value());
    expected.push_back("s.t() +I n=" + text);
  }
  AppendPostgresSegmentEnd(bytes);
  std::vector<std::string> rows;
  ASSERT_EQ(Read(bytes, rows).ToString(), "ok");
  EXPECT_TRUE(rows == expected);
}

TEST_F(PostgresSegmentTest, EveryCutIsToldAndEveryChangedKind) {
  const PostgresTarget target{.table = {"s", "t"}, .upsert = true, .key = {"id"}};
  PostgresRowFrames frames(target);
  std::string bytes;
  ASSERT_TRUE(frames.Append(Rows({"id"}, {{RowKind::kInsert, {Value::Int64(1)}}}), bytes).has_value());
  AppendPostgresSegmentEnd(bytes);
  std::vector<std::string> rows;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Read(bytes.substr(0, size), rows).code(), StatusCode::kCorruption) << size;
  }
  EXPECT_EQ(Read(bytes + "S", rows).code(), StatusCode::kCorruption);
  bytes[0] = 'X';
  const Status status = Read(bytes, rows);
  EXPECT_EQ(status.ToString(), "corruption: segment /segment, byte 0: a frame of unknown kind");
}

TEST_F(PostgresSegmentTest, ValuesAreTextAsPostgresReadsIt) {
  const auto text = [](const Value& value) {
    std::string out;
    AppendPostgresText(out, value);
    return out;
  };
  EXPECT_EQ(text(Value::Bool(true)), "true");
  EXPECT_EQ(text(Value::Int64(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(text(Value::Double(0.1)), "0.1");
  EXPECT_EQ(text(Value::Double(-std::numeric_limits<double>::infinity())), "-Infinity");
  EXPECT_EQ(text(Value::Text(ValueType::kDecimal, "0.10")), "0.10");
  EXPECT_EQ(text(Value::Text(ValueType::kBytes, std::string_view("\0\xfe", 2))), "\\x00fe");
  EXPECT_EQ(text(Value::Temporal(ValueType::kTimestampTz, 0)), "1970-01-01 00:00:00+00");
}

TEST_F(PostgresSegmentTest, WhatATableCanNotHaveIsRefusedBeforeItIsSealed) {
  const PostgresTarget append{.table = {"s", "t"}};
  PostgresRowFrames frames(append);
  std::string bytes;
  const auto null_character = frames.Append(Rows({"n"}, {{RowKind::kInsert, {Text({"a\0b", 3})}}}), bytes);
  EXPECT_EQ(null_character.error().ToString(),
            "invalid argument: row \"n=a b\": column \"n\" has a text with a null character, which PostgreSQL "
            "can't store");
  PostgresRowFrames with_dead_letters(append, {}, true);
  EXPECT_EQ(*with_dead_letters.Append(Rows({"n"}, {{RowKind::kInsert, {Text({"a\0b", 3})}}}), bytes), 1U);
  const auto deletion = frames.Append(Rows({"n"}, {{RowKind::kDelete, {Text("a")}}}), bytes);
  EXPECT_EQ(deletion.error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*frames.Append(Rows({"n"}, {{RowKind::kUpdateBefore, {Text("a")}}}), bytes), 0U);
}

}  // namespace
}  // namespace weir::connectors
