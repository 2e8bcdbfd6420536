// What `sequence` costs, in one subtask over the real state: rows of 5 columns and about 250 bytes, 100 k keys, times
// that rise by one a row with a little disorder.
//
//   sequence_bench steady ROWS STEP BUDGET_MB DIR   a watermark each STEP rows, one STEP behind
//   sequence_bench queue ROWS STEP BUDGET_MB DIR    ROWS wait, then leave in steps of STEP
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "bench/own_cost.h"
#include "operators/sequence.h"
#include "state/key_groups.h"
#include "state/rocksdb_store.h"
#include "state/table_state.h"

namespace weir::operators {
namespace {

using bench::CpuSeconds;
using bench::Must;
using bench::PeakResidentMb;
using bench::WallSeconds;

constexpr int64_t kKeys = 100'000;
constexpr uint64_t kDisorder = 64;

// Counts, and holds that times do not fall.
class CheckingOutput final : public Output {
 public:
  Status Emit(Batch batch) override {
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (batch.time(i) < last_) return Status::Internal("the order is wrong");
      last_ = batch.time(i);
    }
    rows_ += static_cast<int64_t>(batch.rows());
    return Status::Ok();
  }
  Status EmitSide(std::string_view, Batch) override { return Status::Ok(); }
  bool HasSide(std::string_view) const override { return false; }
  int64_t rows() const { return rows_; }

 private:
  EventTime last_;
  int64_t rows_ = 0;
};

class Bench {
 public:
  Bench(uint64_t budget_bytes, const std::string& folder) : budget_(budget_bytes) {
    stores_ = state::NewRocksDbStoreFactory(budget_);
    state_ = Must(state::OpenSubtaskState({.fs = fs_.get(),
                                           .stores = stores_.get(),
                                           .budget = &budget_,
                                           .range = {},
                                           .local_dir = folder + "/local",
                                           .job_dir = folder + "/job",
                                           .unique_prefix = "bench-0-0-"},
                                          {}));
    operator_ = Must(SequenceType().create(OptionsOfDefault()));
    OperatorContext context;
    context.uid = "bench";
    context.state = state_.get();
    context.metrics = &metrics_;
    Must(operator_->Open(context));
  }

  void Steady(int64_t rows, int64_t step) {
    Measured("steady", rows, [&] {
      for (int64_t first = 0; first < rows; first += step) {
        Add(first, step);
        Release(first);
      }
      Release(rows + static_cast<int64_t>(kDisorder));
    });
    Expect(rows);
  }

  void Queue(int64_t rows, int64_t step) {
    Measured("fill", rows, [&] { Add(0, rows); });
    Measured("drain", rows, [&] {
      for (int64_t upto = step; upto < rows; upto += step) Release(upto);
      Release(rows + static_cast<int64_t>(kDisorder));
    });
    Expect(rows);
  }

 private:
  static Options OptionsOfDefault() {
    OptionValue fail;
    fail.type = OptionType::kEnum;
    fail.text = "fail";
    Options options;
    options.Set("on-error", std::move(fail));
    return options;
  }

  template <class Work>
  void Measured(const char* what, int64_t rows, Work work) {
    const double cpu = CpuSeconds();
    const double wall = WallSeconds();
    work();
    const double wall_s = WallSeconds() - wall;
    std::printf("%s rows=%lld cpu_s/M=%.2f rows/s=%.0f peak_rss_mb=%ld table_mb=%llu store_reads=%llu\n", what,
                static_cast<long long>(rows), (CpuSeconds() - cpu) / static_cast<double>(rows) * 1e6,
                static_cast<double>(rows) / wall_s, PeakResidentMb(),
                static_cast<unsigned long long>(state_->usage().table_bytes >> 20),
                static_cast<unsigned long long>(state_->usage().store_reads));
  }

  void Expect(int64_t rows) const {
    if (output_.rows() == rows) return;
    std::fprintf(stderr, "%lld rows have left\n", static_cast<long long>(output_.rows()));
    std::exit(1);
  }

  void Flush() {
    if (!state_->NeedsFlush()) return;
    Must(state_->Freeze(std::nullopt)->Write());
    state_->SnapshotWritten(Status::Ok());
  }

  void Add(int64_t first, int64_t count) {
    for (int64_t at = first; at < first + count;) {
      Batch batch(schema_);
      for (; at < first + count && !batch.full(); ++at) AddRow(batch, at);
      Flush();
      Must(operator_->ProcessBatch(0, std::move(batch), output_));
    }
  }

  void AddRow(Batch& batch, int64_t number) {
    Value* row = batch.AddRow(RowKind::kInsert, {number + static_cast<int64_t>(random_.Below(kDisorder)), 0});
    Arena& arena = batch.arena();
    const std::string key = "k" + std::to_string(number % kKeys);
    row[0] = Value::Int64(number);
    row[1] = Value::Text(ValueType::kString, arena.Copy(key));
    row[2] = Value::Text(ValueType::kDecimal, "12345.67");
    row[3] = Value::Text(ValueType::kString, text_);
    row[4] = Value::Null();
    const std::string_view bytes = row[1].text();
    batch.SetKey(batch.rows() - 1, {state::HashKey(bytes), bytes});
  }

  void Release(int64_t upto) {
    Flush();
    Must(operator_->ProcessWatermark({{upto, 0}}, output_));
  }

  state::StateBudget budget_;
  const std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
  std::unique_ptr<state::LocalStoreFactory> stores_;
  std::unique_ptr<state::SubtaskState> state_;
  SubtaskMetrics metrics_;
  std::unique_ptr<Operator> operator_;
  CheckingOutput output_;
  SeededRandom random_{1};
  const SchemaPtr schema_ =
      std::make_shared<const Schema>(std::vector<std::string>{"id", "account", "amount", "note", "closed"});
  const std::string text_ = std::string(220, 't');
};

int Main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = count == 6 ? arguments[1] : "";
  if (what != "steady" && what != "queue") {
    std::fprintf(stderr, "usage: sequence_bench steady|queue ROWS STEP BUDGET_MB DIR\n");
    return 2;
  }
  const int64_t rows = std::strtoll(arguments[2], nullptr, 10);
  const int64_t step = std::strtoll(arguments[3], nullptr, 10);
  Bench bench(std::strtoull(arguments[4], nullptr, 10) << 20, arguments[5]);
  if (what == "steady") {
    bench.Steady(rows, step);
  } else {
    bench.Queue(rows, step);
  }
  return 0;
}

}  // namespace
}  // namespace weir::operators

int main(int count, char** arguments) { return weir::operators::Main(count, arguments); }
