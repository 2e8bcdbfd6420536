// Public reports about sinks into tables, as whole jobs into a real PostgreSQL.
#include <gtest/gtest.h>

#include "tests/harness/postgres_server.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;
using Lines = std::vector<std::string>;

harness::PostgresServer& SharedPostgres() {
  static const std::unique_ptr<harness::PostgresServer> server = harness::StartPostgres();
  return *server;
}

// Rows of "in.jsonl", or of a changefeed, into table t.
class JobPostgresCaseTest : public testing::Test {
 protected:
  JobPostgresCaseTest() { Sql("DROP TABLE IF EXISTS t, \"Order Items\", child, parent, dead, weir_markers"); }

  void Sql(const std::string& statement) { EXPECT_EQ(postgres_.Run(statement).ToString(), "ok") << statement; }
  Lines Query(const std::string& query) { return postgres_.Query(query); }
  Json Job(const Json& source, const std::string& input, const Json& more = Json::object()) {
    Json job = EmptyJob(folder_, "tables");
    job["sources"] = {source};
    Json sink = {{"id", "out"},
                 {"connector", "postgres"},
                 {"input", input},
                 {"connection", postgres_.conninfo()},
                 {"table", "t"}};
    sink.update(more);
    job["sinks"] = {sink};
    return job;
  }
  // Runs to its end with what the file holds.
  Ended RunWith(const std::string& lines, const Json& more = Json::object()) {
    folder_.Write("in.jsonl", lines);
    return Again(more);
  }
  Ended Again(const Json& more = Json::object()) {
    const Json job = Job(FileSource(folder_, "in", "in.jsonl", false), "in", more);
    return RunToEnd(folder_, {"run", WriteJob(folder_, job), "--quiet"}, {}, seconds(30));
  }

  harness::PostgresServer& postgres_ = SharedPostgres();
  JobFolder folder_;
};

TEST_F(JobPostgresCaseTest, case_H29_AnErrorInALargeLoadSurfacesAndTheLoadGoesOnWhenTheTableIsMended) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY, n bigint CONSTRAINT small CHECK (n < 10))");
  std::string lines;
  for (int i = 0; i < 10'000; ++i) {
    lines += "{\"id\":" + std::to_string(i) + ",\"n\":" + (i == 7'777 ? "99" : "1") + "}\n";
  }
  const Ended refused = RunWith(lines);
  EXPECT_EQ(refused.code, kJobFailed) << refused.output;
  ExpectSays(refused.output, {"public.t", "(id)=(7777)", "small"});
  Sql("ALTER TABLE t DROP CONSTRAINT small");
  const Ended mended = Again();
  EXPECT_EQ(mended.code, kOk) << mended.output;
  EXPECT_EQ(Query("SELECT count(*), max(n) FROM t"), (Lines{"10000|99"}));
}

TEST_F(JobPostgresCaseTest, case_H38_NamesInUpperCaseReservedOrQuoted) {
  Sql(R"(CREATE TABLE "Order Items" ("ID" bigint PRIMARY KEY, "createdAt" text, "select" bigint, "a""b" text))");
  const Ended ended = RunWith(R"({"ID":1,"createdAt":"x","select":1,"a\"b":"q"})"
                              "\n"
                              R"({"ID":1,"createdAt":"y","select":2,"a\"b":"r"})"
                              "\n",
                              {{"table", "Order Items"}});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(Query(R"(SELECT "ID", "createdAt", "select", "a""b" FROM "Order Items")"), (Lines{"1|y|2|r"}));
}

TEST_F(JobPostgresCaseTest, case_H43_NumbersWithAnExponent) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY, amt numeric(20,8))");
  const Ended ended = RunWith(
      "{\"id\":1,\"amt\":7E+3}\n{\"id\":2,\"amt\":7E-3}\n{\"id\":3,\"amt\":5.25E9}\n{\"id\":4,\"amt\":\"-3E-7\"}\n");
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(Query("SELECT id, amt FROM t ORDER BY id"),
            (Lines{"1|7000.00000000", "2|0.00700000", "3|5250000000.00000000", "4|-0.00000030"}));
}

TEST_F(JobPostgresCaseTest, case_H43_AnIntegerColumnTakesWhatIsWholeAndRefusesTheRest) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
  const Ended ended = RunWith("{\"id\":1,\"n\":7E+3}\n{\"id\":2,\"n\":7E-3}\n", {{"dead-letter-table", "dead"}});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(Query("SELECT id, n FROM t"), (Lines{"1|7000"}));
  EXPECT_EQ(Query("SELECT key FROM dead"), (Lines{"(id)=(2)"}));
}

TEST_F(JobPostgresCaseTest, case_H48_AZeroByteInAStringStopsTheJobOrGoesToTheDeadLetters) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY, note text, more jsonb)");
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    const std::string note = i == 7 ? R"(a\u0000b)" : "ab";
    const std::string more = i == 8 ? R"(a\u0000b)" : "ab";
    lines += R"({"id":)" + std::to_string(i) + R"(,"note":")" + note + R"(","more":{"x":")" + more + "\"}}\n";
  }
  const Ended refused = RunWith(lines);
  EXPECT_EQ(refused.code, kJobFailed) << refused.output;
  ExpectSays(refused.output, {"id=7", "column \"note\"", "null character"});
  const Ended applied = Again({{"dead-letter-table", "dead"}});
  EXPECT_EQ(applied.code, kOk) << applied.output;
  EXPECT_EQ(Query("SELECT count(*) FROM t"), (Lines{"98"}));
  EXPECT_EQ(Query("SELECT key FROM dead ORDER BY key"), (Lines{"(id)=(7)", "(id)=(8)"}));
}

TEST_F(JobPostgresCaseTest, case_H64_TheSameKeyManyTimesInOneBatch) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += "{\"id\":1,\"n\":" + std::to_string(i) + "}\n";
    lines += "{\"id\":" + std::to_string(100 + i) + ",\"n\":0}\n";
  }
  const Ended ended = RunWith(lines);
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(Query("SELECT count(*), sum(n) FROM t"), (Lines{"101|99"}));
}

// The same rows as a changefeed tells them.
class JobPostgresChangefeedCaseTest : public JobPostgresCaseTest {
 protected:
  JobPostgresChangefeedCaseTest() : topic_(world_->NewName("in")) {
    EXPECT_EQ(world_->CreateTopic(topic_, 1).ToString(), "ok");
    Json source = KafkaSource(*world_, "in", topic_, "cockroachdb");
    source["key-columns"] = {"id"};
    definition_ = WriteJob(folder_, Job(source, "in"));
  }
  void Change(int id, const std::string& after) {
    world_->Append(topic_, 0, {{.key = "[" + std::to_string(id) + "]", .value = "{\"after\":" + after + "}"}});
  }
  bool Becomes(const std::string& query, const Lines& rows) {
    return Eventually(seconds(30), [&] { return Query(query) == rows; });
  }

  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  const std::string topic_;
  std::string definition_;
};

TEST_F(JobPostgresChangefeedCaseTest, case_H65_ATableOfKeyColumnsAlone) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY)");
  Weir weir(folder_, {"run", definition_, "--quiet"});
  Change(1, R"({"id":1})");
  Change(1, R"({"id":1})");
  EXPECT_TRUE(Becomes("SELECT id FROM t", {"1"})) << weir.Output();
  Change(1, R"({"id":1})");
  Change(2, R"({"id":2})");
  EXPECT_TRUE(Becomes("SELECT id FROM t ORDER BY id", {"1", "2"})) << weir.Output();
  Change(1, "null");
  EXPECT_TRUE(Becomes("SELECT id FROM t", {"2"})) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
}

TEST_F(JobPostgresChangefeedCaseTest, case_H66_GeneratedAndIdentityColumns) {
  Sql("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, qty bigint, price bigint, "
      "total bigint GENERATED ALWAYS AS (qty * price) STORED)");
  Weir weir(folder_, {"run", definition_, "--quiet"});
  Change(5, R"({"id":5,"qty":2,"price":3,"total":6})");
  EXPECT_TRUE(Becomes("SELECT id, total FROM t", {"5|6"})) << weir.Output();
  Change(5, R"({"id":5,"qty":4,"price":3,"total":12})");
  EXPECT_TRUE(Becomes("SELECT id, total FROM t", {"5|12"})) << weir.Output();
  Change(5, "null");  // its key changes
  Change(6, R"({"id":6,"qty":4,"price":3,"total":12})");
  EXPECT_TRUE(Becomes("SELECT id, total FROM t", {"6|12"})) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
}

// One topic of many tables; what goes wrong with a record, on its way and in the target, costs that record alone.
TEST_F(JobPostgresCaseTest, B38_Weakness_b_EveryBadRecordGoesToTheDeadLettersByTopicPartitionAndOffset) {
  Sql("CREATE TABLE parent (id bigint PRIMARY KEY, name varchar(3), n bigint CONSTRAINT low CHECK (n < 10));"
      "CREATE TABLE child (id bigint PRIMARY KEY, parent bigint NOT NULL REFERENCES parent);"
      "CREATE TABLE dead (at timestamptz NOT NULL DEFAULT now(), target text NOT NULL, kind text NOT NULL, key text, "
      "row json, sqlstate text, error text)");  // as older releases made it
  const auto world = kafka_test::NewRealWorld();
  const std::string topic = world->NewName("all");
  ASSERT_EQ(world->CreateTopic(topic, 1).ToString(), "ok");
  Json source = KafkaSource(*world, "in", topic, "cockroachdb");
  source["metadata"] = {{"table", "t"}, {"key", "k"}, {"topic", "topic"}, {"partition", "part"}, {"offset", "at"}};
  source["on-error"] = "dead-letter";
  Json job = Job(source, "in",
                 {{"table-column", "t"},
                  {"key-column", "k"},
                  {"without-columns", {"topic", "part", "at"}},
                  {"on-missing-table", "dead-letter"},
                  {"dead-letter-table", "dead"}});
  job["sinks"][0].erase("table");
  job["sinks"].push_back(FileSink(folder_, "undecodable", "in.dead-letter"));
  const auto send = [&](const char* key, const std::string& value) { world->Append(topic, 0, {{key, value}}); };
  send("[1]", R"({"topic":"parent","after":{"id":1,"name":"one","n":1}})");
  send("[2]", R"({"topic":"parent","after":{"id":2)");
  send("[3]", R"({"topic":"nowhere","after":{"id":3}})");
  send("[4,4]", R"({"topic":"parent","after":null})");
  send("[5]", R"({"topic":"parent","after":{"id":5,"n":99}})");
  send("[6]", R"({"topic":"child","after":{"id":6,"parent":77}})");
  send("[7]", R"({"topic":"parent","after":{"id":7,"name":"too long"}})");
  send("[8]", R"({"topic":"parent","after":{"id":8,"name":"a\u0000"}})");
  send("[9]", R"({"topic":"parent","after":{"id":9,"unknown":1}})");
  send("[10]", R"({"topic":"child","after":{"id":10,"parent":1}})");
  const auto goes_on = [&](const Lines& children) {
    return Eventually(seconds(30), [&] { return Query("SELECT id FROM child ORDER BY id") == children; });
  };
  Weir weir(folder_, {"run", WriteJob(folder_, job), "--quiet"});
  EXPECT_TRUE(goes_on({"10"})) << weir.Output();
  send("[11]", R"({"topic":"child","after":{"id":11,"parent":1}})");
  EXPECT_TRUE(goes_on({"10", "11"})) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Query("SELECT * FROM parent"), (Lines{"1|one|1"}));
  EXPECT_EQ(Query("SELECT origin->>'at', target, kind, key, sqlstate FROM dead WHERE error <> '' AND "
                  "origin->>'topic' = '" +
                  topic + "' AND origin->>'part' = '0' ORDER BY (origin->>'at')::int"),
            (Lines{"2|public.nowhere|write|(k)=([3])|42P01", "3|public.parent|delete|(k)=([4,4])|23502",
                   "4|public.parent|write|(id)=(5)|23514", "5|public.child|write|(id)=(6)|23503",
                   "6|public.parent|write|(id)=(7)|22001", "7|public.parent|write|(id)=(8)|22021",
                   "8|public.parent|write|(k)=([9])|42703"}));
  EXPECT_EQ(Query("SELECT count(*) FROM dead"), (Lines{"7"}));
  const Lines undecodable = OutLines(folder_, "undecodable");
  ASSERT_EQ(undecodable.size(), 1U);
  ExpectSays(undecodable[0],
             {"\"topic\":\"" + topic + "\"", "\"partition\":0", "\"offset\":1", "\"key\":\"WzJd\"", "\"error\":\""});
}

}  // namespace
}  // namespace weir::job_test
