// The file sink through every crash: a small job of two writers, a committer and four checkpoints runs on the simulated
// disk, dies at each of its steps, loses power by each model, comes back by the rules of the checkpoint protocol, and
// in the end the folder holds every row once. The checkpoint storage is played by the test and never fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_site.h"
#include "connectors/file/committer.h"
#include "connectors/file/writer.h"
#include "connectors/format/json_writer.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::connectors {
namespace {

using checkpoint::Committable;
using checkpoint::Marker;
using simulation::Fault;
using simulation::FaultAction;
using simulation::SimFileSystem;
using simulation::UnsyncedData;
using simulation::UnsyncedNames;

constexpr int64_t kRows = 120;  // of the whole job
constexpr int64_t kRowsOfCheckpoint = 30;
constexpr uint32_t kWriters = 2;
const std::string kFolder = "/data/out";

struct Durable {
  CheckpointId id;
  int64_t rows = 0;  // the source's position
  std::vector<Committable> committables = {};
};

struct PowerLossModel {
  UnsyncedData data;
  UnsyncedNames names;
};
constexpr PowerLossModel kModels[] = {{UnsyncedData::kDropped, UnsyncedNames::kDropped},
                                      {UnsyncedData::kPrefix, UnsyncedNames::kPrefix},
                                      {UnsyncedData::kSectors, UnsyncedNames::kSubset},
                                      {UnsyncedData::kTornLast, UnsyncedNames::kKept}};

class Job {
 public:
  explicit Job(SimFileSystem& fs) : fs_(fs), random_(5) {}

  // One attempt, from the start to the end of the input. An error ends it.
  Status Run() {
    workers_.DropAll();
    const UniqueId attempt = random_.NextId();
    FileCommitter committer(fs_, SinkFolder(kFolder, "job"));
    WEIR_RETURN_IF_ERROR(Start(committer, attempt));
    int64_t row = durable_.empty() ? 0 : durable_.back().rows;
    simulation::ManualClock clock;
    NoWakeup wakeup;
    std::vector<std::unique_ptr<FileSinkWriter>> writers;
    for (uint32_t i = 0; i < kWriters; ++i) {
      FileWriterOptions options{.path = kFolder, .roll_rows = 7};
      writers.push_back(std::make_unique<FileSinkWriter>(fs_, options, std::make_unique<JsonWriter>("")));
      operators::WriterContext context{.job = "job",
                                       .uid = "out",
                                       .subtask = i,
                                       .parallelism = kWriters,
                                       .attempt = attempt,
                                       .clock = &clock,
                                       .workers = &workers_,
                                       .wakeup = &wakeup};
      WEIR_RETURN_IF_ERROR(writers.back()->Open(context));
    }
    const Status status = Process(row, writers, committer, attempt);
    workers_.DropAll();
    return status;
  }

  const std::vector<Durable>& durable() const { return durable_; }

 private:
  static Status Write(FileSinkWriter& writer, int64_t from, int64_t to) {
    static const auto kSchema = std::make_shared<const operators::Schema>(std::vector<std::string>{"n"});
    operators::Batch batch(kSchema, 64);
    for (int64_t n = from; n < to; ++n) batch.AddRow(operators::RowKind::kInsert, {})[0] = operators::Value::Int64(n);
    return writer.Write(std::move(batch));
  }

  Status Process(int64_t row, std::vector<std::unique_ptr<FileSinkWriter>>& writers, FileCommitter& committer,
                 const UniqueId& attempt) {
    while (row < kRows) {
      Durable next{.id = {.number = durable_.size() + 1, .id = random_.NextId()}, .rows = row + kRowsOfCheckpoint};
      for (uint32_t i = 0; i < kWriters; ++i) {
        const int64_t share = kRowsOfCheckpoint / kWriters;
        WEIR_RETURN_IF_ERROR(Write(*writers[i], row + share * i, row + share * (i + 1)));
      }
      row = next.rows;
      for (const auto& writer : writers) {
        for (bool ready = false; !ready; workers_.RunAll()) {
          WEIR_ASSIGN_OR_RETURN(ready, writer->ReadyForBarrier());
        }
        WEIR_ASSIGN_OR_RETURN(const std::vector<Committable> sealed, writer->PrepareCommit(next.id));
        next.committables.insert(next.committables.end(), sealed.begin(), sealed.end());
      }
      durable_.push_back(next);
      WEIR_RETURN_IF_ERROR(committer.Apply(MarkerOf(next.id, attempt), next.committables));
    }
    return Status::Ok();
  }

  Status Start(FileCommitter& committer, const UniqueId& attempt) {
    WEIR_RETURN_IF_ERROR(committer.Peek().has_value() ? Status::Ok() : committer.Peek().error());
    WEIR_RETURN_IF_ERROR(committer.Fence());
    WEIR_ASSIGN_OR_RETURN(const std::optional<Marker> found, committer.ReadMarker());
    const CheckpointId has = found.has_value() ? found->checkpoint : CheckpointId();
    if (has.number > 0) {
      EXPECT_LE(has.number, durable_.size());
      EXPECT_EQ(has.id, durable_[has.number - 1].id.id);
    }
    std::vector<Committable> listed;
    for (uint64_t n = has.number; n < durable_.size(); ++n) {
      listed.insert(listed.end(), durable_[n].committables.begin(), durable_[n].committables.end());
    }
    WEIR_RETURN_IF_ERROR(committer.Sign(MarkerOf(has, attempt), listed));
    for (uint64_t n = has.number; n < durable_.size(); ++n) {
      WEIR_RETURN_IF_ERROR(committer.Apply(MarkerOf(durable_[n].id, attempt), durable_[n].committables));
    }
    return Status::Ok();
  }

  static Marker MarkerOf(const CheckpointId& checkpoint, const UniqueId& attempt) {
    return {.job = "job", .storage = {.high = 7, .low = 7}, .attempt = attempt, .checkpoint = checkpoint};
  }

  SimFileSystem& fs_;
  SeededRandom random_;
  simulation::ManualWorkerFactory workers_;
  std::vector<Durable> durable_;
};

// Every row once, and nothing but parts in sight.
void ExpectExact(SimFileSystem& fs, const std::string& story) {
  std::map<std::string, int> seen;
  const auto names = fs.List(kFolder);
  ASSERT_TRUE(names.has_value()) << story;
  for (const std::string& name : *names) {
    if (name == ".weir-job") continue;
    ASSERT_TRUE(name.starts_with("part-out-") && name.ends_with(".jsonl")) << story << name;
    const auto content = ReadFile(fs, JoinPath(kFolder, name));
    ASSERT_TRUE(content.has_value()) << story;
    for (size_t at = 0; at < content->size();) {
      const size_t end = content->find('\n', at);
      ASSERT_NE(end, std::string::npos) << story << name;
      ++seen[content->substr(at, end - at)];
      at = end + 1;
    }
  }
  ASSERT_EQ(seen.size(), static_cast<size_t>(kRows)) << story;
  for (int64_t n = 0; n < kRows; ++n) ASSERT_EQ(seen["{\"n\":" + std::to_string(n) + "}"], 1) << story << n;
  const auto hidden = fs.List(JoinPath(kFolder, ".weir-job"));
  ASSERT_TRUE(hidden.has_value()) << story;
  for (const std::string& name : *hidden) ASSERT_FALSE(SinkFolder::IsPart(name)) << story << name;
}

// The failure says where and why.
void ExpectNamed(const Status& failure, const std::string& cause, const std::string& story) {
  ASSERT_FALSE(failure.ok()) << story;
  ASSERT_NE(failure.message().find(cause), std::string::npos) << story << failure.ToString();
  ASSERT_NE(failure.message().find(" /"), std::string::npos) << story << failure.ToString();
}

uint64_t StepsOfACleanRun() {
  SimFileSystem fs(1);
  Job job(fs);
  EXPECT_TRUE(job.Run().ok());
  ExpectExact(fs, "clean: ");
  return fs.operations();
}

TEST(FileSinkCrashTest, EveryRowOnceWhereverTheMachineStops) {
  const uint64_t steps = StepsOfACleanRun();
  ASSERT_GT(steps, 100U);
  for (uint64_t step = 1; step <= steps; ++step) {
    for (const FaultAction action : {FaultAction::kCrashBefore, FaultAction::kCrashAfter, FaultAction::kCrashTorn}) {
      for (size_t model = 0; model < std::size(kModels); ++model) {
        const std::string story = "crash at step " + std::to_string(step) + ", action " +
                                  std::to_string(static_cast<int>(action)) + ", power loss model " +
                                  std::to_string(model) + ": ";
        SimFileSystem fs(step * 31 + model);
        Job job(fs);
        fs.Arm({.nth = step, .action = action});
        const Status first = job.Run();
        ASSERT_FALSE(first.ok()) << story;
        fs.Disarm();
        fs.PowerLoss(kModels[model].data, kModels[model].names);
        // A second death while coming back.
        fs.Arm({.nth = step % 23 + 1, .action = action});
        if (!job.Run().ok()) {
          fs.Disarm();
          fs.PowerLoss(kModels[model].data, kModels[model].names);
          const Status last = job.Run();
          ASSERT_TRUE(last.ok()) << story << last.ToString();
        }
        ASSERT_NO_FATAL_FAILURE(ExpectExact(fs, story));
      }
    }
  }
}

TEST(FileSinkCrashTest, EveryRowOnceWhateverCallFails) {
  const uint64_t steps = StepsOfACleanRun();
  for (uint64_t step = 1; step <= steps; ++step) {
    for (const FaultAction action : {FaultAction::kError, FaultAction::kNoSpace, FaultAction::kErrorAfter}) {
      const std::string story = "error at step " + std::to_string(step) + ": ";
      SimFileSystem fs(step);
      Job job(fs);
      fs.Arm({.nth = step, .action = action});
      Status status = job.Run();
      fs.Disarm();
      const bool full = action == FaultAction::kNoSpace;
      ASSERT_NO_FATAL_FAILURE(ExpectNamed(status, full ? "No space left on device" : "Input/output error", story));
      status = job.Run();
      ASSERT_TRUE(status.ok()) << story << status.ToString();
      ASSERT_NO_FATAL_FAILURE(ExpectExact(fs, story));
    }
  }
}

// Not a step fails but the write that no longer fits, of which a part is on the disk.
TEST(FileSinkCrashTest, EveryRowOnceWhereverTheDiskBecomesFull) {
  int full = 0;
  for (uint64_t capacity = 0;; capacity += 5) {
    const std::string story = "room for " + std::to_string(capacity) + " bytes: ";
    SimFileSystem fs(capacity);
    Job job(fs);
    fs.SetCapacity(capacity);
    Status status = job.Run();
    if (status.ok()) break;
    ++full;
    ASSERT_NO_FATAL_FAILURE(ExpectNamed(status, "No space left on device", story));
    status = job.Run();
    ASSERT_FALSE(status.ok()) << story << "a restart while the disk is full";
    ASSERT_NO_FATAL_FAILURE(ExpectNamed(status, "No space left on device", story));
    fs.SetCapacity(1 << 20);
    status = job.Run();
    ASSERT_TRUE(status.ok()) << story << status.ToString();
    ASSERT_NO_FATAL_FAILURE(ExpectExact(fs, story));
  }
  EXPECT_GT(full, 200);
}

TEST(FileSinkCrashTest, EveryFaultSiteIsReached) {
  std::map<std::string, int> reached;
  ArmFaultSites([&](std::string_view site) { ++reached[std::string(site)]; });
  StepsOfACleanRun();
  ArmFaultSites({});
  EXPECT_GE(reached["output.sealed"], 16);
  EXPECT_EQ(reached["file.part-renamed"], reached["output.sealed"]);
  EXPECT_EQ(reached["file.marker-replaced"], kRows / kRowsOfCheckpoint);
}

}  // namespace
}  // namespace weir::connectors
