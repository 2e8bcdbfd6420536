// What the engine itself costs: source -> operator -> exchange -> sink with rows of two columns and nothing else to do.
// Reported as CPU seconds of the process per million rows.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "operators/runtime/task.h"
#include "tests/operators/runtime/test_pieces.h"
#include "tests/operators/runtime/test_state.h"

namespace weir::operators {
namespace {

constexpr int64_t kKeys = 4096;

// Rows of ready-made keys, `rows` of them, then the end.
class RowsReader final : public SourceReader {
 public:
  explicit RowsReader(int64_t rows) : left_(rows) {
    for (int64_t i = 0; i < kKeys; ++i) {
      keys_.push_back("order-" + std::to_string(i));
      hashes_.push_back(state::HashKey(keys_.back()));
    }
  }
  Status Open(ReaderContext&) override { return Status::Ok(); }
  Status AddSplits(std::vector<SourceSplit>) override { return Status::Ok(); }
  void NoMoreSplits() override {}
  Result<PollStatus> PollNext(SourceOutput& output) override {
    if (left_ == 0) return PollStatus::kFinished;
    Batch batch(KeySeqSchema());
    for (; left_ > 0 && !batch.full(); --left_) {
      const auto key = static_cast<size_t>(left_ % kKeys);
      AddKeySeq(batch, keys_[key], left_);
      batch.SetKey(batch.rows() - 1, {hashes_[key], batch.at(batch.rows() - 1, 0).text()});
    }
    WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    return PollStatus::kMore;
  }
  std::vector<SourceSplit> SnapshotState(CheckpointId) override { return {}; }
  Status NotifyCheckpointApplied(CheckpointId) override { return Status::Ok(); }

 private:
  int64_t left_;
  std::vector<std::string> keys_;
  std::vector<uint32_t> hashes_;
};

class PassOn final : public Operator {
 public:
  Status Open(OperatorContext&) override { return Status::Ok(); }
  Status ProcessBatch(int, Batch batch, Output& output) override { return output.Emit(std::move(batch)); }
};

// Hears when all rows have come.
class Counter final : public checkpoint::Acknowledger {
 public:
  explicit Counter(int64_t rows) : left_(rows) {}
  void Count(int64_t rows) {
    std::lock_guard lock(mutex_);
    left_ -= rows;
    if (left_ == 0) changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
  }
  void Acknowledge(SubtaskId, CheckpointId, Result<checkpoint::SubtaskSnapshot>) override {}
  void TaskFailed(SubtaskId, Status cause) override {
    check_internal::Fail(__FILE__, __LINE__, "task", cause.message());
  }
  void TaskFinished(SubtaskId) override {}

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t left_;
};

class CountingOnlyWriter final : public SinkWriter {
 public:
  explicit CountingOnlyWriter(Counter& counter) : counter_(counter) {}
  Status Open(WriterContext&) override { return Status::Ok(); }
  bool CanWrite() override { return true; }
  Status Write(Batch batch) override {
    counter_.Count(static_cast<int64_t>(batch.rows()));
    return Status::Ok();
  }
  Result<bool> ReadyForBarrier() override { return true; }
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    return std::vector<checkpoint::Committable>();
  }

 private:
  Counter& counter_;
};

// One source task and `sinks` sink tasks on as many threads.
void RunExchange(int64_t rows, uint32_t sinks) {
  SystemClock clock;
  const std::unique_ptr<WorkerFactory> workers = NewThreadWorkerFactory();
  const std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {.threads = sinks});
  std::unique_ptr<Worker> snapshots = workers->NewWorker("snapshots");
  TestStateStorage storage;
  Counter counter(rows);
  EnumeratorHostOptions host_options;
  host_options.enumerator = std::make_unique<CountingEnumerator>(CountingOptions{});
  NoWakeup none;
  host_options.wakeup = &none;
  EnumeratorHost host(std::move(host_options));
  Executor::Slot& source_slot = executor->AddSlot(0);
  TaskOptions source;
  source.name = "rows";
  source.source = {"rows", std::make_unique<RowsReader>(rows), &host};
  source.operators.push_back({"pass", std::make_unique<PassOn>()});
  source.state = std::make_unique<TestState>(storage);
  source.snapshots = snapshots.get();
  source.clock = &clock;
  source.acknowledger = &counter;
  source.wakeup = &source_slot.wakeup();
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<Task>> tasks;
  std::vector<Executor::Slot*> slots;
  OutputEdge edge{"pass", "", Partitioning::kHash, {}};
  for (uint32_t i = 0; i < sinks; ++i) {
    slots.push_back(&executor->AddSlot(i));
    channels.push_back(std::make_unique<Channel>(ChannelOptions{}, source_slot.wakeup(), slots[i]->wakeup()));
    edge.channels.push_back(channels[i].get());
    TaskOptions sink;
    sink.id = {1, i};
    sink.name = "count";
    sink.inputs = {{channels[i].get(), 0}};
    sink.sink = {"count", std::make_unique<CountingOnlyWriter>(counter)};
    sink.clock = &clock;
    sink.acknowledger = &counter;
    sink.wakeup = &slots[i]->wakeup();
    tasks.push_back(std::make_unique<Task>(std::move(sink)));
  }
  source.outputs.push_back(std::move(edge));
  Task source_task(std::move(source));
  for (uint32_t i = 0; i < sinks; ++i) slots[i]->Run(*tasks[i]);
  source_slot.Run(source_task);
  counter.Wait();
  executor->Stop();
  snapshots.reset();
}

void SourceExchangeSink(benchmark::State& state) {
  constexpr int64_t kRows = 4'000'000;
  for (auto _ : state) RunExchange(kRows, static_cast<uint32_t>(state.range(0)));
  state.counters["cpu_s_per_million"] = benchmark::Counter(static_cast<double>(state.iterations() * kRows) / 1e6,
                                                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(SourceExchangeSink)->Arg(1)->Arg(2)->Arg(4)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::operators

BENCHMARK_MAIN();
