// The exactly-once half of the postgres sink on the simulated server and on a real one: rows and marker in one
// transaction, fences, takeovers, lost sessions, upserts.
#include <gtest/gtest.h>

#include "base/fault_site.h"
#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {
namespace {

using operators::Value;
using Lines = std::vector<std::string>;

class PostgresConformanceTest : public testing::TestWithParam<bool> {
 protected:
  PostgresConformanceTest() { world_->CreateTable("t", {"id", "n"}, {}); }
  ~PostgresConformanceTest() override { ArmFaultSites({}); }

  std::unique_ptr<PostgresJob> NewJob(uint64_t attempt, Definition more = {}) {
    more.emplace_back("table", Text("t"));
    more.emplace_back("mode", Text("append"));
    more.emplace_back("fence-timeout", Text("300ms"));
    return std::make_unique<PostgresJob>(*world_, std::move(more), attempt);
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
  Lines Ids() { return world_->Rows("t", {"id"}); }
  // Ends all sessions but the test's own, at the named place.
  void EndSessionsAt(const std::string& site) {
    ArmFaultSites([this, site](std::string_view reached) {
      if (reached == site) world_->EndSessions();
    });
  }

  const std::unique_ptr<PostgresWorld> world_ = GetParam() ? std::unique_ptr<PostgresWorld>(new RealPostgresWorld)
                                                           : std::unique_ptr<PostgresWorld>(new SimPostgresWorld);
};

TEST_P(PostgresConformanceTest, TheMarkerIsWhatWasSignedOrApplied) {
  const auto job = NewJob(1);
  ASSERT_EQ(job->Start().ToString(), "ok");
  EXPECT_EQ(job->committer().ReadMarker()->value(), job->MarkerOf(0));
  ASSERT_EQ(job->Apply(Sealed(*job, 1)).ToString(), "ok");
  EXPECT_EQ(job->committer().ReadMarker()->value(), job->MarkerOf(1));
  ASSERT_EQ(job->Apply(Sealed(*job, 2)).ToString(), "ok");
  EXPECT_EQ(job->committer().Peek()->value(), job->MarkerOf(2));
  EXPECT_EQ(Ids(), (Lines{"1", "2"}));
}

TEST_P(PostgresConformanceTest, AFirstStartFindsNoMarkerAndAFenceLeavesNone) {
  const auto job = NewJob(1);
  const auto committer = *job->sink().CreateCommitter({.job = "orders",
                                                       .attempt = {1, 1},
                                                       .file_system = &world_->file_system(),
                                                       .output_folder = world_->output_folder(),
                                                       .clock = &world_->clock()});
  EXPECT_FALSE(committer->Peek()->has_value());
  ASSERT_EQ(committer->Fence().ToString(), "ok");
  EXPECT_FALSE(committer->ReadMarker()->has_value());
  EXPECT_FALSE(committer->Peek()->has_value());
}

TEST_P(PostgresConformanceTest, WhoIsFencedAppliesNothing) {
  const auto first = Started(1);
  const auto sealed = Sealed(*first, 1);
  const auto second = Started(2);
  EXPECT_EQ(first->Apply(sealed).code(), StatusCode::kFenced);
  EXPECT_EQ(first->committer().Peek()->value(), second->MarkerOf(0));
  EXPECT_EQ(Ids(), Lines());
  ASSERT_EQ(second->Apply(sealed).ToString(), "ok");
  EXPECT_EQ(Ids(), (Lines{"1"}));
}

TEST_P(PostgresConformanceTest, TwoJobsDoNotMeet) {
  const auto orders = Started(1);
  PostgresJob other(*world_, {{"table", Text("t")}, {"mode", Text("append")}}, 1, "other");
  ASSERT_EQ(other.Start().ToString(), "ok");
  ASSERT_EQ(orders->Apply(Sealed(*orders, 1)).ToString(), "ok");
  ASSERT_EQ(other.Apply(Sealed(other, 2)).ToString(), "ok");
  EXPECT_EQ(world_->Rows("weir_markers", {"job", "number"}), (Lines{"orders|1", "other|1"}));
}

TEST_P(PostgresConformanceTest, Scenario19_AFrozenPredecessorThatHoldsTheMarkerRowIsEnded) {
  const auto first = Started(1);
  const auto sealed = Sealed(*first, 1);
  std::unique_ptr<PostgresJob> second;
  bool met = false;
  ArmFaultSites([&](std::string_view site) {
    if (site != "postgres.before-commit" || met) return;
    met = true;
    second = Started(2);  // while the first one stands before its COMMIT
  });
  EXPECT_EQ(first->Apply(sealed).code(), StatusCode::kUnavailable);
  ArmFaultSites({});
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(Ids(), Lines());
  EXPECT_EQ(first->committer().Peek()->value(), second->MarkerOf(0));
  ASSERT_EQ(second->Apply(sealed).ToString(), "ok");
  EXPECT_EQ(Ids(), (Lines{"1"}));
}

TEST_P(PostgresConformanceTest, AConnectionLostBeforeTheCommitLeavesNothing) {
  auto job = Started(1);
  const auto sealed = Sealed(*job, 1);
  EndSessionsAt("postgres.before-commit");
  EXPECT_EQ(job->Apply(sealed).code(), StatusCode::kUnavailable);
  ArmFaultSites({});
  EXPECT_EQ(job->Apply(sealed).code(), StatusCode::kUnavailable) << "without a fence";
  EXPECT_EQ(job->committer().Peek()->value(), job->MarkerOf(0));
  ASSERT_EQ(job->committer().Fence().ToString(), "ok");
  EXPECT_EQ(job->committer().ReadMarker()->value(), job->MarkerOf(0));
  ASSERT_EQ(job->committer().Sign(job->MarkerOf(0), {}).ToString(), "ok");
  ASSERT_EQ(job->Apply(sealed).ToString(), "ok");
  EXPECT_EQ(Ids(), (Lines{"1"}));
}

TEST_P(PostgresConformanceTest, AConnectionLostBehindTheCommitIsSeenByTheMarker) {
  auto job = Started(1);
  const auto sealed = Sealed(*job, 1);
  EndSessionsAt("postgres.after-commit");
  ASSERT_EQ(job->Apply(sealed).ToString(), "ok");
  ArmFaultSites({});
  EXPECT_EQ(job->Apply(Sealed(*job, 2)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(job->committer().Peek()->value(), job->MarkerOf(1));
  EXPECT_EQ(Ids(), (Lines{"1"}));
}

TEST_P(PostgresConformanceTest, ARowThatIsGoneFencesAndIsFoundMissing) {
  const auto job = Started(1);
  ASSERT_EQ(job->Apply(Sealed(*job, 1)).ToString(), "ok");
  world_->DeleteMarker("orders");
  EXPECT_EQ(job->Apply(Sealed(*job, 2)).code(), StatusCode::kFenced);
  EXPECT_FALSE(job->committer().Peek()->has_value());
  EXPECT_EQ(Ids(), (Lines{"1"}));
}

TEST_P(PostgresConformanceTest, ADamagedSegmentLeavesNothingBehind) {
  const auto job = Started(1);
  std::vector<checkpoint::Committable> sealed = Sealed(*job, 1);
  const auto more = Sealed(*job, 2);
  sealed.insert(sealed.end(), more.begin(), more.end());
  ASSERT_EQ(world_->file_system().Remove(JoinPath(world_->output_folder(), sealed[1].segment)).ToString(), "ok");
  EXPECT_FALSE(job->Apply(sealed).ok());
  EXPECT_EQ(Ids(), Lines());
}

TEST_P(PostgresConformanceTest, UpsertsAndDeletionsOfAKeyEndAsTheLastOfThem) {
  using operators::RowKind;
  world_->CreateTable("u", {"id", "n"}, {"id"});
  PostgresJob job(*world_, {{"table", Text("u")}}, 1);
  ASSERT_EQ(job.Start().ToString(), "ok");
  const auto write = [&](const std::vector<TestRow>& rows) {
    ASSERT_EQ(job.Write({"id", "n"}, rows).ToString(), "ok");
    ASSERT_EQ(job.Checkpoint().ToString(), "ok");
  };
  write({{RowKind::kInsert, {Int(1), String("a")}},
         {RowKind::kUpdateAfter, {Int(1), String("b")}},
         {RowKind::kInsert, {Int(2), String("c")}},
         {RowKind::kInsert, {Int(3), String("d")}},
         {RowKind::kDelete, {Int(3), String("d")}}});
  EXPECT_EQ(world_->Rows("u", {"id", "n"}), (Lines{"1|b", "2|c"}));
  write({{RowKind::kDelete, {Int(1), Value::Null()}},
         {RowKind::kInsert, {Int(1), Value::Absent()}},
         {RowKind::kUpdateBefore, {Int(2), String("c")}},
         {RowKind::kUpdateAfter, {Int(4), String("c")}}});
  EXPECT_EQ(world_->Rows("u", {"id", "n"}), (Lines{"1|null", "4|c"}));
}

TEST_P(PostgresConformanceTest, ATableThatIsNotThereIsNamed) {
  PostgresJob job(*world_, {{"table", Text("lost")}}, 1);
  ASSERT_EQ(job.Start().ToString(), "ok");
  EXPECT_EQ(job.Write({"id"}, {{operators::RowKind::kInsert, {Int(1)}}}).ToString(),
            "failed precondition: there is no table public.lost");
}

INSTANTIATE_TEST_SUITE_P(Worlds, PostgresConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) {
                           return world.param ? "RealServer" : "Simulated";
                         });

}  // namespace
}  // namespace weir::postgres_test
