// What only a real server can show of the exactly-once half of the postgres sink.
#include <gtest/gtest.h>

#include "base/fault_site.h"
#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {
namespace {

using Lines = std::vector<std::string>;

class PostgresCommitterTest : public testing::Test {
 protected:
  PostgresCommitterTest() { world_.Run("CREATE TABLE t (id int, n text)"); }
  ~PostgresCommitterTest() override { ArmFaultSites({}); }

  std::unique_ptr<PostgresJob> NewJob(uint64_t attempt, Definition more = {}) {
    more.emplace_back("table", Text("t"));
    more.emplace_back("mode", Text("append"));
    more.emplace_back("fence-timeout", Text("300ms"));
    return std::make_unique<PostgresJob>(world_, std::move(more), attempt);
  }
  std::unique_ptr<PostgresJob> Started(uint64_t attempt) {
    auto job = NewJob(attempt);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  // One row, sealed.
  std::vector<checkpoint::Committable> Sealed(PostgresJob& job, int64_t id) {
    EXPECT_EQ(job.Write({"id", "n"}, {{operators::RowKind::kInsert, {Int(id), String("x")}}}).ToString(), "ok");
    return job.Seal().value_or(std::vector<checkpoint::Committable>());
  }
  Lines Ids() { return world_.Query("SELECT id FROM t ORDER BY id"); }

  RealPostgresWorld world_;
};

TEST_F(PostgresCommitterTest, AHolderThatIsNoneOfOursIsWaitedForAndReported) {
  ASSERT_EQ(Started(1)->Apply({}).ToString(), "ok");
  world_.Run("BEGIN; SELECT 1 FROM weir_markers FOR UPDATE");
  const Status status = NewJob(2)->Start();
  world_.Run("COMMIT");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("public.weir_markers"), std::string::npos) << status.ToString();
}

// A commit waits for a standby that does not exist: done on this server, its answer never comes.
TEST_F(PostgresCommitterTest, ACommitWithoutAnAnswerIsKnownByTheMarker) {
  auto job = Started(1);
  const auto sealed = Sealed(*job, 1);
  bool met = false;
  ArmFaultSites([&](std::string_view site) {
    if (site != "postgres.before-commit" || met) return;
    met = true;
    world_.Query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    world_.Query("SELECT pg_reload_conf()");
    world_.Query("SELECT pg_sleep(0.2)");
    world_.server().Begin(
        "SELECT pg_sleep(0.3); SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = "
        "'weir' AND wait_event = 'SyncRep'");
  });
  const Status unknown = job->Apply(sealed);
  ArmFaultSites({});
  world_.server().Settle();
  world_.Query("ALTER SYSTEM RESET synchronous_standby_names");
  world_.Query("SELECT pg_reload_conf()");
  EXPECT_EQ(unknown.code(), StatusCode::kUnavailable) << unknown.ToString();
  EXPECT_EQ(job->committer().Peek()->value(), job->MarkerOf(1));
  ASSERT_EQ(job->committer().Fence().ToString(), "ok");
  EXPECT_EQ(job->committer().ReadMarker()->value(), job->MarkerOf(1));
  EXPECT_EQ(Ids(), (Lines{"1"}));
}

TEST_F(PostgresCommitterTest, AServerThatCanNotBeReachedIsUnavailableAndNoSecretIsTold) {
  operators::Options options;
  ASSERT_EQ(
      ProblemsOf({{"table", Text("t")}, {"connection", Text("postgresql://me:hush@127.0.0.1:1/db?connect_timeout=2")}},
                 &options),
      Lines());
  const auto session = world_.factory().Connect({.conninfo = options.String("connection"),
                                                 .connect_timeout = std::chrono::seconds(2),
                                                 .statement_timeout = std::chrono::seconds(2)});
  ASSERT_FALSE(session.has_value());
  EXPECT_EQ(session.error().code(), StatusCode::kUnavailable);
  EXPECT_NE(session.error().message().find("127.0.0.1:1/db"), std::string::npos) << session.error().ToString();
  EXPECT_EQ(session.error().message().find("hush"), std::string::npos) << session.error().ToString();
  const Lines problems = ProblemsOf({{"table", Text("t")}, {"connection", Text("host=db password hush")}});
  EXPECT_EQ(problems, (Lines{"/connection: connection is no libpq connection text or URI (<secret>)"}));
}

TEST_F(PostgresCommitterTest, AMarkerTableInASchemaOfItsOwn) {
  world_.Run("CREATE SCHEMA markers");
  const auto job = NewJob(1, {{"marker-schema", Text("markers")}});
  ASSERT_EQ(job->Start().ToString(), "ok");
  ASSERT_EQ(job->Apply(Sealed(*job, 1)).ToString(), "ok");
  EXPECT_EQ(world_.Query("SELECT job, number FROM markers.weir_markers"), (Lines{"orders|1"}));
  world_.Run("DROP SCHEMA markers CASCADE");
}

}  // namespace
}  // namespace weir::postgres_test
