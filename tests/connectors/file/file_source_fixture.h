// A file source on the simulated disk: an enumerator and readers that a test starts, drains, snapshots and starts
// again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connectors/file/source.h"
#include "tests/connectors/collected_output.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::connectors {

class FileSourceTest : public testing::Test {
 protected:
  void WriteText(const std::string& path, const std::string& text) {
    ASSERT_TRUE(fs_.CreateDirectories(ParentDirectory(path)).ok());
    const auto file = fs_.OpenForWrite(path, WriteMode::kAppend);
    ASSERT_TRUE((*file)->Append(text).ok());
  }
  void Use(RawMembers members) {
    const operators::SourceType type = FileSourceType(fs_, "");
    operators::Problems problems;
    const operators::Options options = OptionsOf(type.options, std::move(members), problems);
    if (problems.empty()) type.check(options, problems);
    ASSERT_TRUE(problems.empty()) << problems[0].message;
    source_ = std::move(*type.create(options));
  }
  // A new attempt: an enumerator and `parallelism` readers from what was snapshotted last.
  void Start(uint32_t parallelism) {
    workers_.DropAll();
    output_ = std::make_unique<CollectedOutput>();
    readers_.clear();
    for (uint32_t i = 0; i < parallelism; ++i) {
      readers_.push_back(std::move(*source_->CreateReader()));
      operators::ReaderContext context{
          .uid = "in",
          .subtask = i,
          .parallelism = parallelism,
          .clock = &clock_,
          .workers = &workers_,
          .wakeup = &wakeup_,
          .metrics = &metrics_,
          .send_event = [this, i](std::string event) { EXPECT_TRUE(enumerator_->HandleEvent(i, event).ok()); }};
      ASSERT_TRUE(readers_.back()->Open(context).ok());
    }
    enumerator_ = std::move(*source_->CreateEnumerator());
    operators::EnumeratorContext context{
        .uid = "in",
        .parallelism = parallelism,
        .clock = &clock_,
        .workers = &workers_,
        .wakeup = &wakeup_,
        .assign_splits =
            [this](uint32_t i, std::vector<operators::SourceSplit> splits) {
              EXPECT_TRUE(readers_[i]->AddSplits(splits).ok());
            },
        .no_more_splits = [this](uint32_t i) { readers_[i]->NoMoreSplits(); },
        .send_event = [this](uint32_t i, std::string event) { EXPECT_TRUE(readers_[i]->HandleEvent(event).ok()); }};
    ASSERT_TRUE(enumerator_->Start(std::move(context), enumerated_, splits_).ok());
  }
  // Until all readers have nothing to do; stops at `rows` rows. True if all are finished.
  Result<bool> Drain(size_t rows = SIZE_MAX) {
    for (int idle = 0; idle < 6;) {
      WEIR_RETURN_IF_ERROR(enumerator_->Step());
      bool progress = false;
      size_t finished = 0;
      for (auto& reader : readers_) {
        if (output_->rows.size() >= rows) return false;
        WEIR_ASSIGN_OR_RETURN(const operators::PollStatus status, reader->PollNext(*output_));
        progress |= status == operators::PollStatus::kMore;
        finished += status == operators::PollStatus::kFinished ? 1 : 0;
      }
      if (finished == readers_.size()) return true;
      workers_.RunAll();
      idle = progress ? 0 : idle + 1;
    }
    return false;
  }
  void Snapshot() {
    enumerated_ = *enumerator_->SnapshotState({});
    splits_.clear();
    for (auto& reader : readers_) {
      for (operators::SourceSplit& split : reader->SnapshotState({})) splits_.push_back(std::move(split));
    }
  }

  simulation::SimFileSystem fs_{1};
  simulation::ManualClock clock_;
  simulation::ManualWorkerFactory workers_;
  NoWakeup wakeup_;
  operators::SubtaskMetrics metrics_;
  std::unique_ptr<operators::Source> source_;
  std::unique_ptr<operators::SplitEnumerator> enumerator_;
  std::vector<std::unique_ptr<operators::SourceReader>> readers_;
  std::unique_ptr<CollectedOutput> output_;
  std::optional<std::string> enumerated_;
  std::vector<operators::SourceSplit> splits_;
};

inline std::string Line(int n) { return "{\"n\":" + std::to_string(n) + "}\n"; }

}  // namespace weir::connectors
