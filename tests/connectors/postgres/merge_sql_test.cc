// The SQL text by which rows are compared with their target's and merged.
#include "connectors/postgres/merge_sql.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::connectors {
namespace {

const TargetTable kTable = {
    .name = {"public", "t"},
    .columns = {{.name = "id", .type = "bigint", .exact_type = "bigint"},
                {.name = "n", .type = "numeric", .exact_type = "numeric(10,2)"},
                {.name = "doc", .type = "json", .exact_type = "json"},
                {.name = "s", .type = "character varying", .exact_type = "character varying(3)"},
                {.name = "v", .type = "integer", .exact_type = "integer"},
                {.name = "g", .type = "integer", .generated = true}},
    .primary_key = {"id"}};

PostgresTarget Target() {
  return {.table = {"public", "t"},
          .upsert = true,
          .key = {"id"},
          .rules = {.on_conflict = PostgresOnConflict::kMerge, .merged = {{"n", "$target+$proposed-$before"}}}};
}

TEST(PostgresMergeSqlTest, AColumnIsMergedByItsOldValue) {
  const PostgresTarget target = Target();
  const std::array<size_t, 2> columns = {0, 1};
  const std::array<size_t, 1> before = {1};
  EXPECT_EQ(MergeSql({kTable, target, columns, before}),
            "UPDATE \"public\".\"t\" AS t SET \"n\" = CASE "
            "WHEN NOT (r.b0::numeric(10,2) IS DISTINCT FROM r.c1::numeric(10,2)) THEN t.\"n\" "
            "WHEN NOT (t.\"n\" IS DISTINCT FROM r.b0::numeric(10,2)) THEN r.c1 "
            "WHEN t.\"n\" IS NOT DISTINCT FROM r.c1::numeric(10,2) THEN t.\"n\" "
            "ELSE (t.\"n\"+r.c1-r.b0)::numeric END "
            "FROM (SELECT r.n, r.c0::bigint AS c0, r.c1::numeric AS c1, r.b0::numeric AS b0 "
            "FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r(c0, c1, b0, n)) AS r "
            "WHERE t.\"id\" = r.c0");
  EXPECT_NE(MergeSql({kTable, target, columns, {}}).find("ELSE (t.\"n\"+r.c1-NULL::numeric)::numeric END"),
            std::string::npos)
      << "no old value";
}

TEST(PostgresMergeSqlTest, JsonIsComparedByItsValueAndTextInFullLength) {
  const PostgresTarget target = Target();
  const std::array<size_t, 3> columns = {0, 2, 3};
  const std::array<size_t, 2> before = {2, 3};
  const std::string sql = CompareSql({kTable, target, columns, before}, {});
  EXPECT_NE(sql.find("WHEN t.there AND t.t2::jsonb IS NOT DISTINCT FROM r.c1::jsonb AND t.t3 IS NOT DISTINCT FROM r.c2 "
                     "THEN 'same'"),
            std::string::npos)
      << sql;
  EXPECT_NE(sql.find("t.t2::jsonb IS DISTINCT FROM r.b0::jsonb OR t.t3 IS DISTINCT FROM r.b1 THEN 'moved'"),
            std::string::npos)
      << sql;
}

TEST(PostgresMergeSqlTest, TheTargetsRowIsLockedWhereItIsThere) {
  const PostgresTarget target = Target();
  const std::array<size_t, 2> columns = {0, 1};
  EXPECT_TRUE(
      CompareSql({kTable, target, columns, {}}, {})
          .ends_with(" LEFT JOIN LATERAL (SELECT true, t.\"id\", t.\"n\", t.\"doc\", t.\"s\", t.\"v\", t.\"g\" FROM "
                     "\"public\".\"t\" AS t WHERE t.\"id\" = r.c0 FOR NO KEY UPDATE) AS t(there, t0, t1, t2, t3, "
                     "t4, t5) ON true"));
}

TEST(PostgresMergeSqlTest, VersionsAreComparedAndNeverMerged) {
  PostgresTarget target = Target();
  target.rules.version_columns = {"v"};
  const std::array<size_t, 3> columns = {0, 1, 4};
  const std::string sql = CompareSql({kTable, target, columns, {}}, {});
  EXPECT_NE(sql.find("WHEN ROW(t.t4) IS NULL OR ROW(t.t4) < ROW(r.c2) THEN 'write' ELSE 'moved' END"),
            std::string::npos)
      << sql;
  EXPECT_EQ(MergeSql({kTable, target, columns, {}}).find("\"v\""), std::string::npos);
  target.rules.on_conflict = PostgresOnConflict::kFail;
  EXPECT_NE(CompareSql({kTable, target, columns, {}}, "gone").find("THEN 'write' ELSE 'refused' END, ''"),
            std::string::npos);
}

TEST(PostgresMergeSqlTest, OnlyThreeNamesAreValues) {
  EXPECT_EQ(WrongMergeName("$target || '$' || $before || $proposed || '5 $ and $'"), "");
  EXPECT_EQ(WrongMergeName("$target + $1"), "$1");
  EXPECT_EQ(WrongMergeName("$targets"), "$targets");
  EXPECT_EQ(WrongMergeName("$$text$$"), "$text");
}

}  // namespace
}  // namespace weir::connectors
