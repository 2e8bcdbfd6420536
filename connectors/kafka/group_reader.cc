#include "connectors/kafka/group_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "connectors/kafka/gauge.h"
#include "connectors/kafka/group_options.h"
#include "connectors/kafka/raw_record.h"

namespace weir::connectors {
namespace {

constexpr Duration kGaugesInterval = std::chrono::seconds(1);

// No split of a group's reader has a watermark: those that a changefeed gives are left out.
class WithoutWatermarks final : public operators::SourceOutput {
 public:
  explicit WithoutWatermarks(operators::SourceOutput& output) : output_(output) {}
  Status Emit(operators::Batch batch) override { return output_.Emit(std::move(batch)); }
  Status EmitSide(std::string_view tag, operators::Batch batch) override {
    return output_.EmitSide(tag, std::move(batch));
  }
  bool HasSide(std::string_view tag) const override { return output_.HasSide(tag); }
  void EmitWatermark(const std::string&, operators::Watermark) override {}

 private:
  operators::SourceOutput& output_;
};

}  // namespace

KafkaGroupReader::KafkaGroupReader(KafkaSourceOptions options, std::unique_ptr<Deserializer> deserializer,
                                   BadRecordPolicy bad_records, KafkaClientFactory& factory)
    : options_(std::move(options)),
      deserializer_(std::move(deserializer)),
      bad_records_(bad_records),
      factory_(factory) {}

KafkaGroupReader::~KafkaGroupReader() = default;

Status KafkaGroupReader::Open(operators::ReaderContext& context) {
  context_ = context;
  operators::NamedMetrics& named = context.metrics->named;
  records_received_ = &named.Counter(context.uid, "records_received");
  rebalances_ = &named.Counter(context.uid, "rebalances");
  assigned_ = &named.Counter(context.uid, "partitions_assigned");
  revoked_ = &named.Counter(context.uid, "partitions_revoked");
  commits_ = &named.Counter(context.uid, "group_commits");
  commit_errors_ = &named.Counter(context.uid, "group_commit_errors");
  KafkaGroupMembership membership = *options_.membership;
  membership.instance_id = GroupInstanceIdOf(options_, context.subtask);
  WEIR_ASSIGN_OR_RETURN(consumer_, factory_.NewGroupConsumer(options_.connection, membership,
                                                             {context.clock, context.workers, context.wakeup}));
  return {};
}

Status KafkaGroupReader::AddSplits(std::vector<operators::SourceSplit> splits) {
  if (splits.empty()) return {};
  return Status::FailedPrecondition("split " + splits.front().id + " was assigned to a member of a group");
}

Result<operators::PollStatus> KafkaGroupReader::PollNext(operators::SourceOutput& output) {
  if (context_.clock->Now() >= next_update_) UpdateMetrics();
  WEIR_ASSIGN_OR_RETURN(std::optional<GroupEvent> event, consumer_->Poll());
  if (!event.has_value()) return operators::PollStatus::kIdle;
  WEIR_RETURN_IF_ERROR(Handle(std::move(*event), output));
  return operators::PollStatus::kMore;
}

Status KafkaGroupReader::Handle(GroupEvent event, operators::SourceOutput& output) {
  switch (event.kind) {
    case GroupEvent::Kind::kRecords: return ReadBlock(*event.block, output);
    case GroupEvent::Kind::kAssigned: {
      const operators::MetricLabels labels = {{"topic", event.name.topic},
                                              {"partition", std::to_string(event.name.partition)}};
      operators::NamedMetrics& named = context_.metrics->named;
      Reading& reading = readings_[event.partition];
      reading.id = event.name.ToString();
      reading.name = std::move(event.name);
      reading.position = event.offset;
      reading.gauges = {&named.Gauge(context_.uid, "partition_offset", labels),
                        &named.Gauge(context_.uid, "partition_lag", labels),
                        &named.Gauge(context_.uid, "partition_polled_seconds", labels)};
      assigned_->fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    case GroupEvent::Kind::kPosition: {
      const auto reading = readings_.find(event.partition);
      if (reading != readings_.end()) reading->second.position = std::max(reading->second.position, event.offset);
      return {};
    }
    case GroupEvent::Kind::kRevoked: {
      const auto reading = readings_.find(event.partition);
      if (reading == readings_.end()) return {};
      for (std::atomic<double>* gauge :
           {reading->second.gauges.offset, reading->second.gauges.lag, reading->second.gauges.polled_seconds}) {
        gauge->store(std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
      }
      readings_.erase(reading);
      revoked_->fetch_add(1, std::memory_order_relaxed);
      return {};
    }
  }
  return {};
}

Status KafkaGroupReader::ReadBlock(const FetchedBlock& block, operators::SourceOutput& output) {
  const std::span<const KafkaRecord> records = block.records();
  if (records.empty()) return {};  // all were of partitions that have been revoked
  WithoutWatermarks rows(output);
  collector_.Begin(rows, records.size());
  uint64_t bytes = 0;
  Reading* reading = nullptr;
  uint32_t of = 0;
  for (const KafkaRecord& record : records) {
    if (reading == nullptr || of != record.partition) {
      of = record.partition;
      reading = &readings_.at(of);
      collector_.BeginSplit(reading->id);
    }
    bytes += record.key.size() + record.value.size();
    headers_.clear();
    if (deserializer_->reads_headers()) {
      for (const KafkaHeader& header : block.Headers(static_cast<size_t>(&record - records.data()))) {
        headers_.push_back({header.name, Nullable(header.value)});
      }
    }
    WEIR_RETURN_IF_ERROR(ReadRecord(record, *reading, rows));
    reading->position = record.offset + 1;
  }
  WEIR_RETURN_IF_ERROR(collector_.Flush());
  records_received_->fetch_add(records.size(), std::memory_order_relaxed);
  context_.metrics->bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  return {};
}

Status KafkaGroupReader::ReadRecord(const KafkaRecord& record, const Reading& reading,
                                    operators::SourceOutput& output) {
  const RawRecord raw = RawRecordOf(reading.name, record, headers_);
  const Status status = deserializer_->Deserialize(raw, collector_);
  if (status.ok()) [[likely]]
    return {};
  if (status.code() != StatusCode::kInvalidArgument) return status;
  return HandleBadRecord(bad_records_, raw, status, context_.uid, output, *context_.metrics);
}

void KafkaGroupReader::UpdateMetrics() {
  next_update_ = context_.clock->Now() + kGaugesInterval;
  const GroupCounts counts = consumer_->Counts();
  rebalances_->store(counts.rebalances, std::memory_order_relaxed);
  commits_->store(counts.commits, std::memory_order_relaxed);
  commit_errors_->store(counts.commit_errors, std::memory_order_relaxed);
  const double now = GaugeSeconds(context_.clock->WallNs());
  int64_t sum = 0;
  for (const auto& [index, reading] : readings_) {
    const int64_t high = consumer_->HighWatermark(reading.name);
    reading.gauges.polled_seconds->store(now, std::memory_order_relaxed);
    if (reading.position < 0) continue;
    reading.gauges.offset->store(static_cast<double>(reading.position), std::memory_order_relaxed);
    if (high < 0) continue;
    const int64_t lag = std::max(int64_t{0}, high - reading.position);
    reading.gauges.lag->store(static_cast<double>(lag), std::memory_order_relaxed);
    sum += lag;
  }
  context_.metrics->lag_records.store(sum, std::memory_order_relaxed);
}

// No split: the offsets are the group's. What the group may be told once this checkpoint is applied stays here.
std::vector<operators::SourceSplit> KafkaGroupReader::SnapshotState(CheckpointId checkpoint) {
  std::vector<GroupOffset>& offsets = snapshots_[checkpoint.number];
  for (const auto& [index, reading] : readings_) {
    if (reading.position >= 0) offsets.push_back({index, reading.position});
  }
  return {};
}

Status KafkaGroupReader::NotifyCheckpointApplied(CheckpointId checkpoint) {
  const auto snapshot = snapshots_.find(checkpoint.number);
  if (snapshot == snapshots_.end()) return {};  // of an earlier start
  consumer_->Commit(snapshot->second);
  snapshots_.erase(snapshots_.begin(), std::next(snapshot));
  return {};
}

}  // namespace weir::connectors
