// Whole jobs in this process as `weir run` builds them: the runtime's threads, the machine's clock and disk, RocksDB.
// The thread sanitizer's share of jobs/: lives that are stopped, abandoned and rescaled, checkpoints all the time.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/random.h"
#include "connectors/generator/orders.h"
#include "connectors/register_connectors.h"
#include "jobs/job.h"
#include "state/rocksdb_store.h"

namespace weir::jobs {
namespace {

constexpr uint64_t kGeneratedRows = 100'000;
// A life at this rate is ended before its rows are, however slow the machine is.
constexpr uint64_t kSlowRowsPerSecond = 500;
constexpr uint64_t kFileRows = 21'000;
constexpr uint64_t kStateBytesMax = 1 << 20;  // less than the customers take: the tables flush and read back
constexpr connectors::OrdersOptions kOrders = {.seed = 11, .splits = 6, .customers = 4'000};

// What a customer's rows must come to.
struct Total {
  uint64_t orders = 0;
  int64_t ids = 0;
};
using Totals = std::map<int64_t, Total>;

bool Kept(const connectors::Order& order) { return order.status != "returned"; }

void Count(const connectors::Order& order, Totals& totals) {
  if (!Kept(order)) return;
  Total& total = totals[order.customer_id];
  ++total.orders;
  total.ids += order.id;
}

class ThreadedJobTest : public testing::Test {
 protected:
  ThreadedJobTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    for (uint64_t row = 0; row < kGeneratedRows; ++row) {
      Count(OrderAt(kOrders, static_cast<uint32_t>(row % kOrders.splits), row / kOrders.splits), expected_);
    }
    // Splits that the generator does not have.
    for (const uint32_t split : {6U, 7U, 8U}) {
      std::ofstream file(folder_ + "/in-" + std::to_string(split) + ".jsonl");
      for (uint64_t row = 0; row < kFileRows / 3; ++row) {
        const connectors::Order order = OrderAt(kOrders, split, row);
        Count(order, expected_);
        file << R"({"customer_id":)" << order.customer_id << R"(,"id":)" << order.id << R"(,"status":")" << order.status
             << "\"}\n";
      }
    }
    operators::RegisterOperators(registry_);
    connectors::RegisterConnectors(registry_,
                                   {.file_system = fs_.get(), .kafka = nullptr, .working_directory = folder_});
  }
  ~ThreadedJobTest() override { std::filesystem::remove_all(folder_); }

  std::string Definition(uint32_t parallelism, uint64_t rows_per_second) const {
    return R"({"name": "threaded", "parallelism": )" + std::to_string(parallelism) +
           R"(, "checkpoint": {"storage": "checkpoints", "interval": "20ms"},
  "sources": [
    {"id": "made", "connector": "generator", "rows": )" +
           std::to_string(kGeneratedRows) + R"(, "rows-per-second": )" + std::to_string(rows_per_second) +
           R"(, "seed": )" + std::to_string(kOrders.seed) + R"(, "splits": )" + std::to_string(kOrders.splits) +
           R"(, "customers": )" + std::to_string(kOrders.customers) + R"(},
    {"id": "read", "connector": "file", "path": "in-*.jsonl", "format": "json"}],
  "operators": [
    {"id": "all", "type": "union", "inputs": ["made", "read"]},
    {"id": "kept", "type": "filter", "input": "all", "where": "status <> 'returned'"},
    {"id": "by_customer", "type": "key_by", "input": "kept", "keys": ["customer_id"]},
    {"id": "totals", "type": "aggregate", "input": "by_customer",
     "aggregates": {"n": {"function": "count"}, "ids": {"function": "sum", "column": "id"}}}],
  "sinks": [
    {"id": "rows", "connector": "file", "input": "totals", "path": "rows"},
    {"id": "nothing", "connector": "blackhole", "input": "totals"}]})";
  }

  // One process's worth of ports, and the job in it.
  class Life {
   public:
    // At 0 rows a second: as fast as it can.
    Life(ThreadedJobTest& test, uint32_t parallelism, uint32_t threads, uint64_t rows_per_second)
        : stores_(state::NewRocksDbStoreFactory(budget_)),
          executor_(operators::NewThreadExecutor(*workers_, clock_, {.threads = threads})) {
      DefinitionInputs inputs;
      inputs.file_name = "threaded.json";
      const std::string text = test.Definition(parallelism, rows_per_second);
      inputs.text = text;
      auto parsed = ParseJobDefinition(inputs, test.registry_);
      if (!parsed.has_value()) {
        for (const auto& problem : parsed.error()) ADD_FAILURE() << ToString(problem);
        return;
      }
      parsed->job.checkpoint.storage = test.folder_ + "/checkpoints";
      JobPorts ports;
      ports.clock = &clock_;
      ports.file_system = test.fs_.get();
      ports.random = random_.get();
      ports.workers = workers_.get();
      ports.executor = executor_.get();
      ports.registry = &test.registry_;
      ports.stores = stores_.get();
      ports.budget = &budget_;
      ports.on_done = [this] { done_.store(true); };
      auto job = Job::Start(std::move(parsed->job), {}, std::move(ports));
      EXPECT_TRUE(job.has_value()) << job.error().ToString();
      if (job.has_value()) job_ = std::move(*job);
    }
    ~Life() { executor_->Stop(); }

    bool started() const { return job_ != nullptr; }
    // Looks on as the status line does; ends early with the job.
    void UntilCheckpoints(uint64_t count) {
      while (job_->checkpoint_stats().completed < count && job_->state() <= JobState::kStopping) Look();
    }
    JobState UntilEnd() {
      while (!done_.load()) Look();
      EXPECT_EQ(job_->cause().ToString(), "ok");
      return job_->state();
    }
    JobState Stop() {
      job_->RequestStop(std::chrono::minutes(5));
      return UntilEnd();
    }

   private:
    void Look() {
      EXPECT_LE(job_->rates().rows_in, kGeneratedRows + kFileRows);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    SystemClock clock_;
    std::unique_ptr<Random> random_ = NewSystemRandom();
    std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
    state::StateBudget budget_{kStateBytesMax};
    std::unique_ptr<state::LocalStoreFactory> stores_;
    std::unique_ptr<operators::Executor> executor_;
    std::atomic<bool> done_ = false;
    std::unique_ptr<Job> job_;  // last: goes before the executor
  };

  // Each count of each customer once, and the last of them with the whole sum.
  void ExpectExactRows() const {
    std::map<int64_t, std::map<uint64_t, int64_t>> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/rows")) {
      if (entry.path().filename().string().starts_with(".")) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        long customer = 0, ids = 0;
        unsigned long n = 0;
        ASSERT_EQ(std::sscanf(line.c_str(), R"({"customer_id":%ld,"n":%lu,"ids":%ld})", &customer, &n, &ids), 3)
            << line;
        EXPECT_TRUE(found[customer].emplace(n, ids).second) << "twice: " << line;
      }
    }
    EXPECT_EQ(found.size(), expected_.size());
    for (const auto& [customer, expected] : expected_) {
      const auto& rows = found[customer];
      ASSERT_EQ(rows.size(), expected.orders) << "customer " << customer;
      EXPECT_EQ(rows.begin()->first, 1U) << "customer " << customer;
      EXPECT_EQ(rows.rbegin()->first, expected.orders) << "customer " << customer;
      EXPECT_EQ(rows.rbegin()->second, expected.ids) << "customer " << customer;
    }
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "weir-threaded-XXXXXX").string();
  std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
  operators::Registry registry_;
  Totals expected_;
};

TEST_F(ThreadedJobTest, StoppedAbandonedAndRescaledAJobIsExact) {
  {
    Life first(*this, 3, 3, kSlowRowsPerSecond);
    ASSERT_TRUE(first.started());
    first.UntilCheckpoints(3);
    EXPECT_EQ(first.Stop(), JobState::kStopped);
  }
  {
    // Its last rows, and whatever a snapshot or a commit was about, go with it.
    Life abandoned(*this, 2, 3, kSlowRowsPerSecond);
    ASSERT_TRUE(abandoned.started());
    abandoned.UntilCheckpoints(3);
  }
  {
    Life last(*this, 3, 2, 0);
    ASSERT_TRUE(last.started());
    EXPECT_EQ(last.UntilEnd(), JobState::kFinished);
  }
  ExpectExactRows();
}

TEST_F(ThreadedJobTest, AJobThatIsToldToStopAtOnceIsExactToo) {
  for (uint32_t life = 0; life < 6; ++life) {
    Life stopped(*this, 1 + life % 3, 3, kSlowRowsPerSecond);
    ASSERT_TRUE(stopped.started());
    stopped.UntilCheckpoints(life / 3);
    EXPECT_EQ(stopped.Stop(), JobState::kStopped);
  }
  {
    Life last(*this, 2, 3, 0);
    ASSERT_TRUE(last.started());
    EXPECT_EQ(last.UntilEnd(), JobState::kFinished);
  }
  ExpectExactRows();
}

}  // namespace
}  // namespace weir::jobs
