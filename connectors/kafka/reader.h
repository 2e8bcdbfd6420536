// Reads the partitions assigned to one subtask. A poll takes one block of the client, turns all of it into rows and
// hands it back, so that between two polls the positions are exactly those behind the rows emitted. A reader that is
// not polled leaves its records in the client's small queue, which then stops fetching: that is the whole
// back-pressure. With a frontier (frontier_reader.h) the splits' watermarks go to the enumerator and what it announces
// is emitted for all of them. The task's thread; group offsets are committed by a Worker.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "connectors/format/bad_record.h"
#include "connectors/format/format.h"
#include "connectors/kafka/changefeed_window.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/frontier_reader.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/split.h"
#include "operators/source.h"

namespace weir::connectors {

class KafkaReader final : public operators::SourceReader {
 public:
  // `factory` outlives the reader.
  KafkaReader(KafkaSourceOptions options, std::unique_ptr<Deserializer> deserializer, BadRecordPolicy bad_records,
              KafkaClientFactory& factory);
  ~KafkaReader() override;

  Status Open(operators::ReaderContext& context) override;
  Status AddSplits(std::vector<operators::SourceSplit> splits) override;
  void NoMoreSplits() override { no_more_splits_ = true; }
  Result<operators::PollStatus> PollNext(operators::SourceOutput& output) override;
  std::vector<operators::SourceSplit> SnapshotState(CheckpointId checkpoint) override;
  Status NotifyCheckpointApplied(CheckpointId checkpoint) override;
  Status HandleEvent(const std::string& event) override;
  std::optional<MonotonicTime> NextDeadline() const override;

 private:
  class Tap;
  static constexpr uint32_t kNotAssigned = UINT32_MAX;

  // What is shown of one partition.
  struct Gauges {
    std::atomic<double>& offset;
    std::atomic<double>& lag;
    std::atomic<double>& resolved;
    std::atomic<double>& polled;
  };

  struct Reading {
    KafkaSplit split;
    std::string id;
    uint32_t partition = kNotAssigned;  // the client's index; none for a split that had nothing left to read
    std::optional<Gauges> gauges;
    bool paused = false;  // by the enumerator, to wait for the frontier
    bool done = false;    // finished, and its end was announced
  };

  Status ReadBlock(const FetchedBlock& block, operators::SourceOutput& output);
  void TakeHeaders(const FetchedBlock& block, size_t record);
  Status ReadRecord(const KafkaRecord& record, Reading& reading, operators::SourceOutput& output);
  void RaiseWatermark(const std::string& split_id, operators::EventTime time, operators::SourceOutput& output);
  Status FinishSplits(operators::SourceOutput& output);
  Status FinishSplit(Reading& reading, operators::SourceOutput& output);
  void EmitDueWatermarks(operators::SourceOutput& output);
  void EmitAnnounced(operators::SourceOutput& output);
  void Report(bool all);
  Status ApplyPauses();
  Gauges GaugesOf(const TopicPartition& partition);
  void UpdateMetrics();
  std::vector<PartitionStart> Positions() const;
  void CommitToGroup(std::vector<PartitionStart> offsets);
  void CommitNewest();  // on the worker

  // Set once.
  const KafkaSourceOptions options_;
  const std::unique_ptr<Deserializer> deserializer_;
  const BadRecordPolicy bad_records_;
  KafkaClientFactory& factory_;
  operators::ReaderContext context_;
  std::unique_ptr<KafkaConsumer> consumer_;
  std::atomic<uint64_t>* records_received_ = nullptr;

  // The task's thread only.
  ChangefeedWindow window_;
  RowCollector collector_;
  std::vector<RecordHeader> headers_;  // of the record that is read, where the format wants them
  std::vector<std::unique_ptr<Reading>> readings_;
  std::vector<Reading*> by_partition_;  // by the client's index
  bool no_more_splits_ = false;
  bool watermarks_due_ = false;  // splits have come
  size_t open_ = 0;              // splits not done
  MonotonicTime metrics_updated_;
  std::unique_ptr<FrontierReader> frontier_;                   // none: each split has a watermark of its own
  std::map<uint64_t, std::vector<PartitionStart>> snapshots_;  // by checkpoint number, not yet applied
  std::vector<PartitionStart> restored_;  // where AddSplits put us, until the first snapshot applied

  std::mutex commit_mutex_;
  std::vector<PartitionStart> to_commit_;  // guarded by commit_mutex_: the newest that wait for the worker; empty: none
  bool closing_ = false;                   // guarded by commit_mutex_

  bool commit_failed_ = false;             // the last one; the worker's thread only
  std::unique_ptr<KafkaAdmin> committer_;  // the worker's thread only
  std::unique_ptr<Worker> worker_;         // only with a group; last: ends before what it uses
};

}  // namespace weir::connectors
