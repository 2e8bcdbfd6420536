// Which rows of a changefeed a Kafka reader passes on: those in [min-timestamp, max-timestamp), less stale ones, which
// are of a time that the partition's resolved messages have closed: they were delivered before. Notes when a partition
// has come to max-timestamp, and resolved messages that go backwards. The collector asks it row by row, so that nothing
// that is left out is ever in a batch. One a reader, on its task's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "connectors/format/row_collector.h"
#include "connectors/kafka/changefeed_options.h"
#include "connectors/kafka/split.h"
#include "operators/source.h"

namespace weir::connectors {

class ChangefeedWindow final : public RowGate {
 public:
  explicit ChangefeedWindow(const ChangefeedOptions& options) : options_(options) {}

  void Open(const operators::ReaderContext& context);
  // The records that follow are of this split, which outlives the window's use. A row that is left out because of
  // max-timestamp is noted in it (KafkaSplit::until).
  void BeginSplit(KafkaSplit& split);
  // The split has had a resolved message that is not before max-timestamp: all rows before it were read.
  bool ended() const { return progress_ != nullptr && progress_->ended; }

  bool AdmitRows(operators::EventTime time, RowClock clock) override;
  void SeeWatermark(operators::EventTime time) override;

 private:
  struct Progress {
    operators::EventTime watermark;  // of the newest resolved message read; the split's own comes with the batch
    bool ended = false;
  };

  void Warn(operators::EventTime resolved);

  // Set once.
  const ChangefeedOptions options_;
  operators::ReaderContext context_;
  std::atomic<uint64_t>* outside_ = nullptr;
  std::atomic<uint64_t>* stale_ = nullptr;
  std::atomic<uint64_t>* backwards_ = nullptr;

  std::unordered_map<const KafkaSplit*, Progress> progresses_;  // never iterated
  KafkaSplit* split_ = nullptr;
  Progress* progress_ = nullptr;
  std::optional<MonotonicTime> warned_;
};

}  // namespace weir::connectors
