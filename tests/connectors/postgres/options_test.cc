// What a postgres sink's definition may say, and what is said of one that can't work. No server.
#include "connectors/postgres/options.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "connectors/postgres/libpq_client.h"
#include "connectors/postgres/sink.h"
#include "operators/options_check.h"

namespace weir::connectors {
namespace {

using operators::RawKind;
using operators::RawValue;
using Definition = std::vector<std::pair<std::string, std::string>>;

class PostgresOptionsTest : public testing::Test {
 protected:
  std::vector<std::string> ProblemsOf(const Definition& definition) {
    RawValue object;
    object.kind = RawKind::kObject;
    for (const auto& [name, text] : definition) {
      RawValue member;
      member.kind = RawKind::kString;
      member.text = text;
      member.path = "/" + name;
      object.members.emplace_back(name, std::move(member));
    }
    operators::Problems problems;
    options_ = operators::CheckOptions(object, type_.options, problems);
    if (problems.empty()) type_.check(options_, problems);
    std::vector<std::string> lines;
    for (const operators::Problem& problem : problems) {
      lines.push_back(problem.path + " is " + problem.value + ": " + problem.message);
    }
    return lines;
  }
  std::unique_ptr<operators::Sink> Sink(const Definition& definition) {
    EXPECT_EQ(ProblemsOf(definition), std::vector<std::string>());
    return std::move(*type_.create(options_));
  }

  const std::unique_ptr<PostgresClientFactory> factory_ = NewLibpqClientFactory();
  const operators::SinkType type_ = PostgresSinkType(*factory_);
  operators::Options options_;
};

TEST_F(PostgresOptionsTest, WaitingForParentsNeedsUpserts) {
  const Definition wait = {{"connection", "host=db"}, {"table", "t"}, {"on-missing-parent", "wait"}};
  ASSERT_EQ(ProblemsOf(wait), std::vector<std::string>());
  EXPECT_EQ(ParsePostgresSinkOptions(options_).policies.waiting, (PostgresTableName{"public", "weir_waiting"}));
  Definition append = wait;
  append.emplace_back("mode", "append");
  EXPECT_EQ(ProblemsOf(append),
            std::vector<std::string>{"/on-missing-parent is : on-missing-parent has a meaning only with mode upsert"});
}

TEST_F(PostgresOptionsTest, DefaultsAreExactlyOnceUpsertsByThePrimaryKey) {
  ASSERT_EQ(ProblemsOf({{"connection", "host=db dbname=shop"}, {"table", "sales.Orders"}}), std::vector<std::string>());
  const PostgresSinkOptions options = ParsePostgresSinkOptions(options_);
  EXPECT_TRUE(options.exactly_once);
  EXPECT_EQ(options.target, (PostgresTarget{.table = {"sales", "Orders"}, .upsert = true, .key = {}}));
  EXPECT_EQ(options.policies.unknown_columns, PostgresUnknownColumns::kFail);
  EXPECT_FALSE(options.policies.dead_letters.has_value());
  EXPECT_EQ(options.connection.conninfo, "host=db dbname=shop");
  EXPECT_EQ(options.marker_schema, "public");
}

TEST_F(PostgresOptionsTest, TablesAreNamedAsInSqlButCaseSensitive) {
  const auto parse = [](std::string_view text) { return PostgresTableName::Parse(text); };
  EXPECT_EQ(*parse("Orders"), (PostgresTableName{"public", "Orders"}));
  EXPECT_EQ(*parse("a.b"), (PostgresTableName{"a", "b"}));
  EXPECT_EQ(*parse(R"("a.b"."c""d")"), (PostgresTableName{"a.b", "c\"d"}));
  EXPECT_EQ(parse(R"("a.b"."c""d")")->Quoted(), R"("a.b"."c""d")");
  for (const char* wrong : {"", "a.", ".a", "a.b.c", "\"a"}) EXPECT_FALSE(parse(wrong).has_value()) << wrong;
}

TEST_F(PostgresOptionsTest, ProblemsNameTheOptionAndNeverTheConnection) {
  EXPECT_EQ(ProblemsOf({{"connection", "host=db password hush"}, {"table", "a.b.c"}, {"dead-letter-table", "x."}}),
            (std::vector<std::string>{
                "/connection is <secret>: connection is no libpq connection text or URI",
                "/table is a.b.c: table: a.b.c is not a table like orders or sales.orders",
                "/dead-letter-table is x.: dead-letter-table: x. is not a table like orders or sales.orders"}));
  // A password that is not escaped ends at its '@' or '/'.
  for (const char* cut : {"postgresql://weir:ab@hush@db/shop", "postgresql://weir:ab/hush@db:1/shop",
                          "host=db port=hush", "host=db dbname=postgresql://weir:hush@db"}) {
    EXPECT_EQ(ProblemsOf({{"connection", cut}, {"table", "t"}}),
              (std::vector<std::string>{"/connection is <secret>: connection is no libpq connection text or URI"}))
        << cut;
  }
  EXPECT_EQ(
      ProblemsOf(
          {{"connection", "host=db"}, {"table", "t"}, {"mode", "append"}, {"key", "id"}, {"version-column", "v"}}),
      (std::vector<std::string>{"/key is : key has a meaning only with mode upsert",
                                "/version-column is : version-column has a meaning only with mode upsert"}));
}

TEST_F(PostgresOptionsTest, B01_ATargetIsATableOrAColumnThatNamesIt) {
  EXPECT_EQ(ProblemsOf({{"connection", "host=db"}}),
            (std::vector<std::string>{"/table is : table is missing: expected table, or table-column"}));
  EXPECT_EQ(ProblemsOf({{"connection", "host=db"}, {"table", "a"}, {"table-column", "t"}}),
            (std::vector<std::string>{"/table is : table and table-column exclude each other"}));
  EXPECT_EQ(ProblemsOf({{"connection", "host=db"}, {"table", "a"}, {"schema", "s"}, {"key-column", "k"}}),
            (std::vector<std::string>{"/schema is : schema has a meaning only with table-column",
                                      "/key-column is : key-column has a meaning only with table-column"}));
  EXPECT_EQ(ProblemsOf({{"connection", "host=db"}, {"table-column", "t"}, {"on-missing-table", "dead-letter"}}),
            (std::vector<std::string>{
                "/dead-letter-table is : dead-letter-table is needed with on-missing-table dead-letter"}));
}

TEST_F(PostgresOptionsTest, ExtrasNeedAColumn) {
  EXPECT_EQ(ProblemsOf({{"connection", "host=db"}, {"table", "t"}, {"unknown-columns", "extras"}}),
            (std::vector<std::string>{"/extras-column is : extras-column is needed with unknown-columns extras"}));
  EXPECT_EQ(
      ProblemsOf({{"connection", "host=db"}, {"table", "t"}, {"extras-column", "x"}}),
      (std::vector<std::string>{"/extras-column is : extras-column has a meaning only with unknown-columns extras"}));
}

TEST_F(PostgresOptionsTest, TheSystemIsTheAddressWithoutSecrets) {
  EXPECT_EQ(Sink({{"connection", "postgresql://me:hush@db.example.com:6432/shop"}, {"table", "t"}})->system(),
            "postgres:db.example.com:6432/shop");
  EXPECT_EQ(Sink({{"connection", "host=db port=5433 user=me password=hush"}, {"table", "t"}})->system(),
            "postgres:db:5433/me");
  EXPECT_EQ(Sink({{"connection", "host=db"}, {"table", "t"}, {"delivery", "at-least-once"}})->system(), "");
}

TEST_F(PostgresOptionsTest, SinksOfOneCommitterSayTheSameOfItButNotOfTheirTables) {
  const Definition one = {{"connection", "host=db port=1 dbname=d"}, {"table", "t"}};
  Definition other = one;
  other[1].second = "u";
  other.emplace_back("mode", "append");
  EXPECT_EQ(Sink(one)->committer_settings(), Sink(other)->committer_settings());
  other.emplace_back("dead-letter-table", "dead");
  EXPECT_NE(Sink(one)->committer_settings(), Sink(other)->committer_settings());
}

TEST(PostgresErrorTest, SqlStatesAreRetriedRefusedOrInternal) {
  for (const char* state : {"40001", "40P01", "57P01", "57014", "53300", "08006", "55P03", "25P03"}) {
    EXPECT_EQ(CodeOfSqlState(state), StatusCode::kUnavailable) << state;
  }
  for (const char* state : {"22P02", "23505", "42P01", "42501", "44000", "P0001", "21000"}) {
    EXPECT_EQ(CodeOfSqlState(state), StatusCode::kFailedPrecondition) << state;
  }
  EXPECT_EQ(CodeOfSqlState("XX000"), StatusCode::kInternal);
  EXPECT_TRUE(IsRowRefusal({.sqlstate = "23505"}));
  EXPECT_FALSE(IsRowRefusal({.sqlstate = "42P01"}));
  EXPECT_FALSE(IsRowRefusal({}));
}

}  // namespace
}  // namespace weir::connectors
