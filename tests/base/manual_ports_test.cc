// The clock and the workers that stand still until a test moves them.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"

namespace weir::simulation {
namespace {

TEST(ManualClockTest, MovesOnlyWhenToldTo) {
  ManualClock clock(1'000);
  const MonotonicTime start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(std::chrono::milliseconds(5));
  EXPECT_EQ(clock.Now() - start, std::chrono::milliseconds(5));
  EXPECT_EQ(clock.WallNs(), 5'001'000);
  clock.JumpWall(-std::chrono::milliseconds(10));
  EXPECT_EQ(clock.Now() - start, std::chrono::milliseconds(5));
  EXPECT_EQ(clock.WallNs(), -4'999'000);
  clock.AdvanceTo(start + std::chrono::seconds(1));
  EXPECT_EQ(clock.Now() - start, std::chrono::seconds(1));
}

TEST(ManualWorkerTest, RunsJobsOfAWorkerInOrderAndOnlyWhenAsked) {
  ManualWorkerFactory factory;
  const std::unique_ptr<Worker> worker = factory.NewWorker("one");
  std::string ran;
  worker->Submit([&] { ran += "1"; });
  worker->Submit([&] {
    ran += "2";
    worker->Submit([&] { ran += "3"; });
  });
  EXPECT_EQ(ran, "");
  EXPECT_EQ(factory.runnable(), 1U);
  SeededRandom random(1);
  EXPECT_TRUE(factory.RunOne(random));
  EXPECT_EQ(ran, "1");
  factory.RunAll();
  EXPECT_EQ(ran, "123");
  EXPECT_FALSE(factory.RunOne(random));
}

TEST(ManualWorkerTest, ChoosesAmongWorkersBySeed) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ManualWorkerFactory factory;
    const std::unique_ptr<Worker> a = factory.NewWorker("a");
    const std::unique_ptr<Worker> b = factory.NewWorker("b");
    std::string ran;
    for (const char* name : {"a", "A"}) a->Submit([&ran, name] { ran += name; });
    b->Submit([&ran] { ran += "b"; });
    SeededRandom random(seed);
    while (factory.RunOne(random)) {
    }
    orders.insert(ran);
  }
  EXPECT_EQ(orders, std::set<std::string>({"aAb", "abA", "baA"}));
}

TEST(ManualWorkerTest, RunsTheFirstJobOfTheWorkersOfOneName) {
  ManualWorkerFactory factory;
  const std::unique_ptr<Worker> other = factory.NewWorker("other");
  const std::unique_ptr<Worker> idle = factory.NewWorker("one");
  const std::unique_ptr<Worker> busy = factory.NewWorker("one");
  std::string ran;
  other->Submit([&] { ran += "other"; });
  busy->Submit([&] { ran += "one"; });
  EXPECT_TRUE(factory.RunOneOf("one"));
  EXPECT_FALSE(factory.RunOneOf("one"));
  EXPECT_EQ(ran, "one");
}

TEST(ManualWorkerTest, TheEndOfAWorkerRunsWhatWaitsAndADeathDropsIt) {
  ManualWorkerFactory factory;
  std::string ran;
  std::unique_ptr<Worker> worker = factory.NewWorker("one");
  worker->Submit([&] { ran += "1"; });
  worker.reset();
  EXPECT_EQ(ran, "1");
  worker = factory.NewWorker("two");
  worker->Submit([&] { ran += "2"; });
  factory.DropAll();
  worker.reset();
  EXPECT_EQ(ran, "1");
}

}  // namespace
}  // namespace weir::simulation
