// Whole graphs on worker threads: the thread sanitizer's share.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/operators/runtime/graph_jobs.h"

namespace weir::operators {
namespace {

using checkpoint::AfterBarrier;

struct ThreadGraphTest : ::testing::Test {
  // The threads that run the job never wait for this one, which looks on in turns of the system's scheduler.
  static void Until(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
  }
  SystemClock clock;
  std::unique_ptr<WorkerFactory> workers = NewThreadWorkerFactory();
  TestStateStorage storage;
};

TEST_F(ThreadGraphTest, CheckpointsOfARunningJobAreConsistentAndItsEndIsExact) {
  auto world = std::make_shared<SinkWorld>();
  CountingOptions source;
  source.splits = 6;
  source.rows = 20'000;
  source.keys = 50;
  source.batch_rows = 100;
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {.threads = 3});
  TestJobOptions options;
  options.channel.rows_max = 500;
  options.flush_after_puts = 3000;
  TestJob job(*executor, clock, *workers, storage, KeyedSumJob(source, 2, 3, world), options, nullptr);
  while (true) {
    const size_t before = job.completed();
    const bool over = job.inputs_ended() == 2;
    job.RequestCheckpoint(AfterBarrier::kGoOn);
    Until([&] { return job.completed() > before || !job.failures().empty(); });
    ASSERT_TRUE(job.failures().empty());
    ExpectConsistentCut(*job.Newest(), storage, source);
    if (over) break;
  }
  EXPECT_TRUE(job.Newest()->AllFinished());
  EXPECT_EQ(ByKey(job.Committed(*world)), ExpectedSums(source));
  EXPECT_FALSE(job.committed_twice());
  executor->Stop();
}

TEST_F(ThreadGraphTest, AJobStoppedAndRescaledGoesOnExactly) {
  auto world = std::make_shared<SinkWorld>();
  CountingOptions source;
  source.splits = 4;
  source.rows = 3000;
  source.batch_rows = 10;
  Rows committed;
  std::optional<TestCheckpoint> newest;
  for (uint32_t parallelism = 1;; parallelism = 1 + parallelism % 3) {
    std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {.threads = 2});
    TestJob job(*executor, clock, *workers, storage, KeyedSumJob(source, parallelism, parallelism, world), {},
                newest.has_value() ? &*newest : nullptr);
    job.RequestCheckpoint(AfterBarrier::kStop);
    Until([&] { return job.completed() > 0 || !job.failures().empty(); });
    ASSERT_TRUE(job.failures().empty());
    executor->Stop();
    newest = job.Newest();
    ExpectConsistentCut(*newest, storage, source);
    const Rows more = job.Committed(*world);
    committed.insert(committed.end(), more.begin(), more.end());
    if (newest->AllFinished()) break;
    if (newest->barrier.id.number < 6) continue;
    // Let it run to its end.
    std::unique_ptr<Executor> last = NewThreadExecutor(*workers, clock, {.threads = 2});
    TestJob rest(*last, clock, *workers, storage, KeyedSumJob(source, 2, 2, world), {}, &*newest);
    Until([&] { return rest.inputs_ended() == 2; });
    rest.RequestCheckpoint(AfterBarrier::kGoOn);
    Until([&] { return rest.completed() > 0; });
    last->Stop();
    const Rows tail = rest.Committed(*world);
    committed.insert(committed.end(), tail.begin(), tail.end());
    break;
  }
  EXPECT_EQ(ByKey(committed), ExpectedSums(source));
}

}  // namespace
}  // namespace weir::operators
