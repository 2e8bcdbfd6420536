// The SQL text of the sink's statements.
#include "connectors/postgres/sql.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::connectors {
namespace {

TargetTable Table() {
  return {.name = {"public", "t"},
          .columns = {{.name = "id", .type = "bigint"},
                      {.name = "odd\"name", .type = "character varying"},
                      {.name = "v", .type = "numeric"},
                      {.name = "auto", .type = "integer", .always_identity = true}},
          .primary_key = {"id"}};
}

TEST(PostgresSqlTest, IdentifiersAreQuoted) {
  EXPECT_EQ(QuotedIdentifier("Plain"), "\"Plain\"");
  EXPECT_EQ(QuotedIdentifier("a\"; DROP"), "\"a\"\"; DROP\"");
}

TEST(PostgresSqlTest, UpsertSetsAllButTheKey) {
  const PostgresTarget target{.table = {"public", "t"}, .upsert = true, .key = {"id"}};
  EXPECT_EQ(InsertSql(Table(), target, std::array<size_t, 2>{0, 1}),
            "INSERT INTO \"public\".\"t\" AS t (\"id\", \"odd\"\"name\") SELECT r.c0::bigint AS c0, r.c1::character "
            "varying AS c1 FROM unnest($1::text[], $2::text[]) AS r(c0, c1) ON CONFLICT (\"id\") DO UPDATE SET "
            "\"odd\"\"name\" = EXCLUDED.\"odd\"\"name\"");
  EXPECT_EQ(InsertSql(Table(), target, std::array<size_t, 1>{0}),
            "INSERT INTO \"public\".\"t\" AS t (\"id\") SELECT r.c0::bigint AS c0 FROM unnest($1::text[]) AS r(c0) ON "
            "CONFLICT (\"id\") DO NOTHING");
}

TEST(PostgresSqlTest, AVersionColumnGuardsUpdatesAndDeletions) {
  const PostgresTarget target{.table = {"public", "t"}, .upsert = true, .key = {"id"}, .version_column = "v"};
  EXPECT_TRUE(InsertSql(Table(), target, std::array<size_t, 2>{0, 2})
                  .ends_with("SET \"v\" = EXCLUDED.\"v\" WHERE t.\"v\" IS NULL OR t.\"v\" <= EXCLUDED.\"v\""));
  EXPECT_EQ(DeleteSql(Table(), target, std::array<size_t, 2>{0, 2}),
            "DELETE FROM \"public\".\"t\" AS t USING (SELECT r.c0::bigint AS c0, r.c1::numeric AS c1 FROM "
            "unnest($1::text[], $2::text[]) AS r(c0, c1)) AS d WHERE t.\"id\" = d.c0 AND (t.\"v\" IS NULL OR t.\"v\" "
            "<= d.c1)");
}

TEST(PostgresSqlTest, AppendHasNoConflictAndIdentityIsOverridden) {
  const PostgresTarget target{.table = {"public", "t"}};
  EXPECT_EQ(InsertSql(Table(), target, std::array<size_t, 1>{3}),
            "INSERT INTO \"public\".\"t\" AS t (\"auto\") OVERRIDING SYSTEM VALUE SELECT r.c0::integer AS c0 FROM "
            "unnest($1::text[]) AS r(c0)");
}

}  // namespace
}  // namespace weir::connectors
