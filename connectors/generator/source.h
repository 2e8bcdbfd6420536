// The source "generator": rows of a preset at a rate or as fast as they can be made, endless or a given number. The
// same definition gives the same rows in the same order within each split, whatever the parallelism and however often
// the job is restarted: a split's position is a row number. Made by the registry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/generator/orders.h"
#include "operators/registry.h"

namespace weir::connectors {

struct GeneratorOptions {
  OrdersOptions orders;
  uint64_t rows = 0;             // of all splits together; 0: endless
  uint64_t rows_per_second = 0;  // of all splits together; 0: as fast as possible
};

// How many of the rows a split has; the splits' numbers differ by one at most. UINT64_MAX: endless.
uint64_t RowsOfSplit(const GeneratorOptions& options, uint32_t split);

class GeneratorReader final : public operators::SourceReader {
 public:
  explicit GeneratorReader(GeneratorOptions options);

  Status Open(operators::ReaderContext& context) override;
  Status AddSplits(std::vector<operators::SourceSplit> splits) override;
  void NoMoreSplits() override { complete_ = true; }
  Result<operators::PollStatus> PollNext(operators::SourceOutput& output) override;
  std::vector<operators::SourceSplit> SnapshotState(CheckpointId checkpoint) override;
  Status NotifyCheckpointApplied(CheckpointId) override { return Status::Ok(); }
  std::optional<MonotonicTime> NextDeadline() const override { return deadline_; }

 private:
  struct Split {
    std::string id;
    uint32_t number = 0;
    uint64_t row = 0;  // the next one
    uint64_t end = 0;
    MonotonicTime begin;  // when row `begin_row` was due
    uint64_t begin_row = 0;
    bool end_told = false;  // the greatest watermark is out
  };

  // Rows that may be made now.
  uint64_t Due(const Split& split, MonotonicTime now) const;
  MonotonicTime DueTime(const Split& split) const;
  Status Emit(Split& split, uint64_t count, operators::SourceOutput& output);

  const GeneratorOptions options_;
  const Clock* clock_ = nullptr;
  std::vector<Split> splits_;
  size_t next_ = 0;  // of splits_, whose turn it is
  bool complete_ = false;
  std::optional<MonotonicTime> deadline_;
};

operators::SourceType GeneratorSourceType();

}  // namespace weir::connectors
