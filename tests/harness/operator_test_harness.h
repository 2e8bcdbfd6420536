// Runs one operator type as the engine does, at some parallelism, over the real keyed state (on the simulated disk),
// and between any two inputs may take a snapshot, throw every instance away and go on with new ones restored from it,
// at another parallelism too. Every operator's test runs in all modes and must see the same output:
//
//   class MyTest : public testing::TestWithParam<HarnessMode> {};
//   OperatorTestHarness harness(AggregateType(), R"({"keys": "k", "aggregates": {...}})", {.mode = GetParam(), .keys =
//   {"k"}}); harness.Process({R"(+I {"k": 1, "amount": 2.50})"}); EXPECT_EQ(harness.Take(), Rows{R"(+I
//   {"k":1,"total":2.50})"});
//
// A row is its kind and a JSON object; "+I" may be left out. Numbers keep their text; integers are int64. Member
// "@time" gives the event time in ns, with a fraction its logical part ("7.0000000002"). A failure of set-up fails the
// test.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/batch_column.h"
#include "operators/registry.h"
#include "state/local_store.h"
#include "state/state_budget.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::operators {

using Rows = std::vector<std::string>;

enum class HarnessMode : uint8_t {
  kPlain,    // one subtask, no snapshot
  kRestore,  // one subtask, restored before each input but the first
  kRescale,  // the same, at parallelism 1, 2, 3, 1, ... in turn
};
std::string HarnessModeName(HarnessMode mode);

// A batch for each run of rows with the same members.
std::vector<Batch> BatchesOf(const Rows& rows);
// "+U {\"k\":1}" for each row.
void AppendRowTexts(const Batch& batch, Rows& out);
// Checked options of `specs` from JSON; fails the test where they have a problem.
Options OptionsOf(const std::vector<OptionSpec>& specs, std::string_view json);
// The problems of `json` as options of `type`, its own check included: "path: message".
Rows ProblemsOf(const OperatorType& type, std::string_view json);

struct HarnessOptions {
  HarnessMode mode = HarnessMode::kPlain;
  std::vector<std::string> keys = {};  // columns by which rows are keyed and go to subtasks; empty: no keys
  uint32_t key_groups = 128;
  const Clock* clock = nullptr;
  uint64_t state_bytes = 64 << 20;  // budget of all subtasks' state; what exceeds it is flushed between two inputs
};

class OperatorTestHarness {
 public:
  OperatorTestHarness(OperatorType type, std::string_view options_json, HarnessOptions options);
  ~OperatorTestHarness();

  // One input: the rows go to their subtasks in order, those of one subtask in one batch as long as no other's is
  // between. Returns the operator's first failure.
  Status Process(const Rows& rows, int input = 0);
  // To all subtasks, or to one.
  Status ProcessWatermark(Watermark watermark, std::optional<uint32_t> subtask = std::nullopt);
  // What operators do by themselves, as often as they want to.
  Status Continue();
  Status Finish();
  // Snapshot, and new instances at `parallelism`. Called by Process according to the mode; a test may call it too.
  Status SnapshotAndRestore(uint32_t parallelism);

  // From the next restore on.
  void SetOptions(std::string_view options_json);

  // What was emitted since the last call.
  Rows Take();
  Rows TakeSide(std::string_view tag);
  // Entries of the named states in all subtasks.
  size_t StateEntries(const std::vector<std::string>& states);
  // How often state had to ask its store since the last start.
  uint64_t StoreReads() const;
  const SubtaskMetrics& metrics() const { return metrics_; }
  // The counter or gauge of that name without labels; -1: there is none.
  double NamedMetric(std::string_view name) const;

 private:
  struct Subtask;
  class CollectingOutput;

  void Start(uint32_t parallelism, const std::vector<state::SubtaskStateHandle>& handles);
  Status Between();
  Status Deliver(uint32_t subtask, Batch batch, int input);

  const OperatorType type_;
  Options options_;
  const HarnessOptions harness_options_;
  simulation::SimFileSystem fs_;
  std::unique_ptr<state::LocalStoreFactory> stores_;
  state::StateBudget budget_;
  SubtaskMetrics metrics_;
  std::vector<BatchColumn> keys_;
  std::vector<std::unique_ptr<Subtask>> subtasks_;
  std::unique_ptr<CollectingOutput> output_;
  uint64_t inputs_ = 0;
  uint64_t checkpoints_ = 0;
};

}  // namespace weir::operators
