// Reads whatever partitions the consumer group has given to this subtask. To the runtime it is a reader without splits:
// its checkpoints hold no offsets, and it has no watermark, so that nobody behind it waits for one. Offsets go to the
// group once the checkpoint that was cut behind their rows is applied. A member without partitions idles and stands by.
// The task's thread; the client's own thread polls.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/format/bad_record.h"
#include "connectors/format/format.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/group_consumer.h"
#include "connectors/kafka/options.h"
#include "operators/source.h"

namespace weir::connectors {

class KafkaGroupReader final : public operators::SourceReader {
 public:
  // `factory` outlives the reader. `options` have a membership.
  KafkaGroupReader(KafkaSourceOptions options, std::unique_ptr<Deserializer> deserializer, BadRecordPolicy bad_records,
                   KafkaClientFactory& factory);
  ~KafkaGroupReader() override;

  Status Open(operators::ReaderContext& context) override;
  Status AddSplits(std::vector<operators::SourceSplit> splits) override;
  void NoMoreSplits() override {}
  Result<operators::PollStatus> PollNext(operators::SourceOutput& output) override;
  std::vector<operators::SourceSplit> SnapshotState(CheckpointId checkpoint) override;
  Status NotifyCheckpointApplied(CheckpointId checkpoint) override;
  std::optional<MonotonicTime> NextDeadline() const override { return next_update_; }

 private:
  // Gauges of a partition; without value while others have it.
  struct Gauges {
    std::atomic<double>* offset = nullptr;
    std::atomic<double>* lag = nullptr;
    std::atomic<double>* polled_seconds = nullptr;
  };
  struct Reading {
    TopicPartition name;
    std::string id;
    int64_t position = -1;  // behind all rows emitted; -1: not known before the first record
    Gauges gauges;
  };

  Status Handle(GroupEvent event, operators::SourceOutput& output);
  Status ReadBlock(const FetchedBlock& block, operators::SourceOutput& output);
  Status ReadRecord(const KafkaRecord& record, const Reading& reading, operators::SourceOutput& output);
  void UpdateMetrics();

  // Set once.
  const KafkaSourceOptions options_;
  const std::unique_ptr<Deserializer> deserializer_;
  const BadRecordPolicy bad_records_;
  KafkaClientFactory& factory_;
  operators::ReaderContext context_;
  std::atomic<uint64_t>* records_received_ = nullptr;
  std::atomic<uint64_t>* rebalances_ = nullptr;
  std::atomic<uint64_t>* assigned_ = nullptr;
  std::atomic<uint64_t>* revoked_ = nullptr;
  std::atomic<uint64_t>* commits_ = nullptr;
  std::atomic<uint64_t>* commit_errors_ = nullptr;

  // The task's thread only.
  RowCollector collector_;
  std::vector<RecordHeader> headers_;                       // of the record that is read, where the format wants them
  std::map<uint32_t, Reading> readings_;                    // assigned now, by the client's index
  std::map<uint64_t, std::vector<GroupOffset>> snapshots_;  // by checkpoint number, not yet applied
  MonotonicTime next_update_;
  std::unique_ptr<KafkaGroupConsumer> consumer_;
};

}  // namespace weir::connectors
