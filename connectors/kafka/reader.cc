#include "connectors/kafka/reader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "connectors/kafka/gauge.h"
#include "connectors/kafka/raw_record.h"

namespace weir::connectors {
namespace {

constexpr Duration kMetricsInterval = std::chrono::seconds(1);

void Show(std::atomic<double>& gauge, double value) { gauge.store(value, std::memory_order_relaxed); }

}  // namespace

// Sees rows and watermarks on their way out.
class KafkaReader::Tap final : public operators::SourceOutput {
 public:
  Tap(KafkaReader& reader, operators::SourceOutput& output) : reader_(reader), output_(output) {}

  Status Emit(operators::Batch batch) override {
    if (reader_.frontier_ != nullptr) reader_.frontier_->CountRows(batch);
    return output_.Emit(std::move(batch));
  }
  Status EmitSide(std::string_view tag, operators::Batch batch) override {
    return output_.EmitSide(tag, std::move(batch));
  }
  bool HasSide(std::string_view tag) const override { return output_.HasSide(tag); }
  void EmitWatermark(const std::string& split_id, operators::Watermark watermark) override {
    reader_.RaiseWatermark(split_id, watermark.time, output_);
  }

 private:
  KafkaReader& reader_;
  operators::SourceOutput& output_;
};

KafkaReader::KafkaReader(KafkaSourceOptions options, std::unique_ptr<Deserializer> deserializer,
                         BadRecordPolicy bad_records, KafkaClientFactory& factory)
    : options_(std::move(options)),
      deserializer_(std::move(deserializer)),
      bad_records_(bad_records),
      factory_(factory),
      window_(options_.changefeed),
      frontier_(options_.frontier ? std::make_unique<FrontierReader>() : nullptr) {
  if (options_.changefeed.is_changefeed) collector_.SetGate(&window_);
}

KafkaReader::~KafkaReader() {
  if (worker_ == nullptr) return;
  {
    const std::lock_guard lock(commit_mutex_);
    closing_ = true;
  }
  worker_->Submit([this] { committer_.reset(); });
  worker_.reset();
}

Status KafkaReader::Open(operators::ReaderContext& context) {
  context_ = context;
  window_.Open(context_);
  WEIR_ASSIGN_OR_RETURN(consumer_,
                        factory_.NewConsumer(options_.connection, {context.clock, context.workers, context.wakeup}));
  records_received_ = &context.metrics->named.Counter(context.uid, "records_received");
  if (!options_.group.empty()) worker_ = context.workers->NewWorker("kafka-offsets");
  return {};
}

Status KafkaReader::AddSplits(std::vector<operators::SourceSplit> splits) {
  std::vector<PartitionStart> starts;
  watermarks_due_ = true;
  for (const operators::SourceSplit& split : splits) {
    auto reading = std::make_unique<Reading>();
    WEIR_ASSIGN_OR_RETURN(reading->split, KafkaSplit::Parse(split));
    reading->id = split.id;
    reading->gauges.emplace(GaugesOf(reading->split.partition));
    restored_.push_back({reading->split.partition, reading->split.offset});
    if (!reading->split.finished()) {
      reading->partition = static_cast<uint32_t>(by_partition_.size());
      by_partition_.push_back(reading.get());
      starts.push_back({reading->split.partition, reading->split.offset});
    }
    readings_.push_back(std::move(reading));
    ++open_;
  }
  WEIR_RETURN_IF_ERROR(consumer_->Assign(starts));
  return ApplyPauses();
}

// A split that has come is as far as its position says, or, with a frontier, as all others are.
void KafkaReader::EmitDueWatermarks(operators::SourceOutput& output) {
  for (const std::unique_ptr<Reading>& reading : readings_) {
    const operators::EventTime time = frontier_ == nullptr ? reading->split.watermark : frontier_->emitted();
    if (time != operators::EventTime::Min()) output.EmitWatermark(reading->id, {time});
  }
  watermarks_due_ = false;
}

void KafkaReader::EmitAnnounced(operators::SourceOutput& output) {
  const std::optional<operators::EventTime> time = frontier_->TakeAnnounced();
  if (!time.has_value()) return;
  for (const std::unique_ptr<Reading>& reading : readings_) output.EmitWatermark(reading->id, {*time});
}

// A message that was delivered again takes nothing back.
void KafkaReader::RaiseWatermark(const std::string& split_id, operators::EventTime time,
                                 operators::SourceOutput& output) {
  const auto found =
      std::ranges::find(readings_, split_id, [](const auto& reading) -> const std::string& { return reading->id; });
  if (found == readings_.end()) return;
  KafkaSplit& split = (*found)->split;
  if (time <= split.watermark) return;
  split.watermark = time;
  if (frontier_ != nullptr) {
    frontier_->Rise(split.partition, time);
  } else {
    output.EmitWatermark(split_id, {time});
  }
}

Status KafkaReader::HandleEvent(const std::string& event) {
  if (frontier_ == nullptr) return {};
  WEIR_RETURN_IF_ERROR(frontier_->HandleEvent(event));
  return ApplyPauses();
}

Status KafkaReader::ApplyPauses() {
  if (frontier_ == nullptr) return {};
  for (Reading* reading : by_partition_) {
    const bool pause = frontier_->paused().contains(reading->split.partition);
    if (reading->done || std::exchange(reading->paused, pause) == pause) continue;
    WEIR_RETURN_IF_ERROR(pause ? consumer_->Pause(reading->partition) : consumer_->Resume(reading->partition));
  }
  return {};
}

void KafkaReader::Report(bool all) {
  if (frontier_ == nullptr) return;
  if (std::optional<std::string> report = frontier_->TakeReport(context_.clock->Now(), all)) {
    context_.send_event(std::move(*report));
  }
}

std::optional<MonotonicTime> KafkaReader::NextDeadline() const {
  if (readings_.empty()) return std::nullopt;
  const MonotonicTime metrics = metrics_updated_ + kMetricsInterval;
  return frontier_ == nullptr ? metrics : std::min(metrics, frontier_->NextReport().value_or(metrics));
}

Result<operators::PollStatus> KafkaReader::PollNext(operators::SourceOutput& output) {
  if (watermarks_due_) EmitDueWatermarks(output);
  if (frontier_ != nullptr) EmitAnnounced(output);
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<FetchedBlock> block, consumer_->Fetch());
  if (block != nullptr) WEIR_RETURN_IF_ERROR(ReadBlock(*block, output));
  if (options_.bounded()) WEIR_RETURN_IF_ERROR(FinishSplits(output));
  UpdateMetrics();
  const bool ended =
      open_ == 0 && no_more_splits_ && (frontier_ == nullptr || frontier_->emitted() == operators::EventTime::Max());
  Report(ended);
  if (ended) return operators::PollStatus::kFinished;
  const bool more = block != nullptr || (frontier_ != nullptr && frontier_->announced());
  return more ? operators::PollStatus::kMore : operators::PollStatus::kIdle;
}

Status KafkaReader::ReadBlock(const FetchedBlock& block, operators::SourceOutput& output) {
  const std::span<const KafkaRecord> records = block.records();
  if (records.empty()) return {};
  Tap tap(*this, output);
  collector_.Begin(tap, records.size());
  uint64_t bytes = 0;
  Reading* reading = nullptr;
  for (const KafkaRecord& record : records) {
    if (reading == nullptr || reading->partition != record.partition) {
      reading = by_partition_[record.partition];
      collector_.BeginSplit(reading->id);
      window_.BeginSplit(reading->split);
    }
    if (reading->split.end && record.offset >= *reading->split.end) continue;
    bytes += record.key.size() + record.value.size();
    if (deserializer_->reads_headers()) TakeHeaders(block, static_cast<size_t>(&record - records.data()));
    WEIR_RETURN_IF_ERROR(ReadRecord(record, *reading, tap));
    reading->split.offset = record.offset + 1;
    if (window_.ended()) reading->split.end = reading->split.offset;
  }
  WEIR_RETURN_IF_ERROR(collector_.Flush());
  context_.metrics->bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  records_received_->fetch_add(records.size(), std::memory_order_relaxed);
  if (frontier_ != nullptr) frontier_->CountBytes(bytes);
  return {};
}

void KafkaReader::TakeHeaders(const FetchedBlock& block, size_t record) {
  headers_.clear();
  for (const KafkaHeader& header : block.Headers(record)) headers_.push_back({header.name, Nullable(header.value)});
}

Status KafkaReader::ReadRecord(const KafkaRecord& record, Reading& reading, operators::SourceOutput& output) {
  const RawRecord raw = RawRecordOf(reading.split.partition, record, headers_);
  const Status status = deserializer_->Deserialize(raw, collector_);
  if (status.ok()) [[likely]]
    return {};
  if (status.code() != StatusCode::kInvalidArgument) return status;
  return HandleBadRecord(bad_records_, raw, status, context_.uid, output, *context_.metrics);
}

// A split has ended when the client's position, which passes control records and gaps, has reached its end.
Status KafkaReader::FinishSplits(operators::SourceOutput& output) {
  for (const std::unique_ptr<Reading>& reading : readings_) {
    if (reading->done || !reading->split.end) continue;
    KafkaSplit& split = reading->split;
    if (!split.finished() && consumer_->Position(reading->partition) < *split.end) continue;
    split.offset = *split.end;
    WEIR_RETURN_IF_ERROR(FinishSplit(*reading, output));
  }
  return {};
}

// Nothing of the split is to come, and nobody waits for it.
Status KafkaReader::FinishSplit(Reading& reading, operators::SourceOutput& output) {
  reading.done = true;
  --open_;
  if (frontier_ != nullptr) {
    frontier_->Rise(reading.split.partition, operators::EventTime::Max());
  } else {
    output.EmitWatermark(reading.id, {operators::EventTime::Max()});
  }
  return reading.partition == kNotAssigned ? Status::Ok() : consumer_->Pause(reading.partition);
}

KafkaReader::Gauges KafkaReader::GaugesOf(const TopicPartition& partition) {
  operators::NamedMetrics& named = context_.metrics->named;
  const operators::MetricLabels labels{{"topic", partition.topic}, {"partition", std::to_string(partition.partition)}};
  return {named.Gauge(context_.uid, "partition_offset", labels), named.Gauge(context_.uid, "partition_lag", labels),
          named.Gauge(context_.uid, "partition_resolved_seconds", labels),
          named.Gauge(context_.uid, "partition_polled_seconds", labels)};
}

// A paused partition counts as polled: that nothing comes of it is as it should be.
void KafkaReader::UpdateMetrics() {
  const MonotonicTime now = context_.clock->Now();
  if (now - metrics_updated_ < kMetricsInterval) return;
  metrics_updated_ = now;
  const double polled = GaugeSeconds(context_.clock->WallNs());
  int64_t lags = 0;
  for (const std::unique_ptr<Reading>& reading : readings_) {
    const bool live = reading->partition != kNotAssigned && !reading->done;
    const int64_t position = live ? consumer_->Position(reading->partition) : reading->split.offset;
    const int64_t high = live ? consumer_->HighWatermark(reading->partition) : position;
    const Gauges& gauges = *reading->gauges;
    Show(gauges.offset, static_cast<double>(position));
    Show(gauges.polled, polled);
    if (high >= 0) {
      const int64_t lag = std::max(int64_t{0}, high - position);
      Show(gauges.lag, static_cast<double>(lag));
      lags += lag;
    }
    if (reading->split.watermark == operators::EventTime::Min()) continue;
    Show(gauges.resolved, GaugeSeconds(reading->split.watermark.wall_ns));
  }
  context_.metrics->lag_records.store(lags, std::memory_order_relaxed);
}

std::vector<PartitionStart> KafkaReader::Positions() const {
  std::vector<PartitionStart> positions;
  positions.reserve(readings_.size());
  for (const std::unique_ptr<Reading>& reading : readings_) {
    const bool live = reading->partition != kNotAssigned && !reading->done;
    positions.push_back(
        {reading->split.partition, live ? consumer_->Position(reading->partition) : reading->split.offset});
  }
  return positions;
}

std::vector<operators::SourceSplit> KafkaReader::SnapshotState(CheckpointId checkpoint) {
  Report(true);
  std::vector<PartitionStart> positions = Positions();
  std::vector<operators::SourceSplit> splits;
  splits.reserve(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    readings_[i]->split.offset = positions[i].offset;
    splits.push_back(readings_[i]->split.ToSourceSplit());
  }
  if (!options_.group.empty()) snapshots_[checkpoint.number] = std::move(positions);
  return splits;
}

Status KafkaReader::NotifyCheckpointApplied(CheckpointId checkpoint) {
  if (options_.group.empty()) return {};
  const auto snapshot = snapshots_.find(checkpoint.number);
  if (snapshot == snapshots_.end()) {
    // A restored checkpoint that is told again: its positions are where reading began.
    if (snapshots_.empty()) CommitToGroup(restored_);
    return {};
  }
  CommitToGroup(std::move(snapshot->second));
  snapshots_.erase(snapshots_.begin(), std::next(snapshot));
  return {};
}

// What a group's offsets are for is to be looked at, so a commit that fails is reported and not repeated: the next
// applied checkpoint brings newer ones, which take the place of those that wait. So a cluster that does not answer
// leaves no queue of commits behind, and the reader's end waits for one at most.
void KafkaReader::CommitToGroup(std::vector<PartitionStart> offsets) {
  if (offsets.empty()) return;
  const std::lock_guard lock(commit_mutex_);
  const bool others_wait = !to_commit_.empty();
  to_commit_ = std::move(offsets);
  if (!others_wait) worker_->Submit([this] { CommitNewest(); });
}

void KafkaReader::CommitNewest() {
  std::vector<PartitionStart> offsets;
  {
    const std::lock_guard lock(commit_mutex_);
    offsets.swap(to_commit_);
    if (offsets.empty() || (closing_ && commit_failed_)) return;
  }
  Status status;
  if (committer_ == nullptr) {
    Result<std::unique_ptr<KafkaAdmin>> admin = factory_.NewAdmin(options_.connection, options_.request_timeout);
    if (admin.has_value()) committer_ = std::move(*admin);
    if (!admin.has_value()) status = admin.error();
  }
  if (status.ok()) status = committer_->CommitOffsets(options_.group, offsets);
  commit_failed_ = !status.ok();
  if (status.ok()) return;
  LogWarning("source " + context_.uid + ": " + status.message());
  // What came meanwhile would fail as well, and take its time: the readers of a job end one after the other.
  const std::lock_guard lock(commit_mutex_);
  to_commit_.clear();
}

}  // namespace weir::connectors
