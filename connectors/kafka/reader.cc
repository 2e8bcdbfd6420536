#include "connectors/kafka/reader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "connectors/format/watermark_tap.h"

namespace weir::connectors {
namespace {

constexpr Duration kLagInterval = std::chrono::seconds(1);

std::optional<std::string_view> Nullable(std::string_view bytes) {
  return bytes.data() == nullptr ? std::nullopt : std::optional(bytes);
}

}  // namespace

KafkaReader::KafkaReader(KafkaSourceOptions options, std::unique_ptr<Deserializer> deserializer,
                         BadRecordPolicy bad_records, KafkaClientFactory& factory)
    : options_(std::move(options)),
      deserializer_(std::move(deserializer)),
      bad_records_(bad_records),
      factory_(factory) {}

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
  WEIR_ASSIGN_OR_RETURN(consumer_,
                        factory_.NewConsumer(options_.connection, {context.clock, context.workers, context.wakeup}));
  if (!options_.group.empty()) worker_ = context.workers->NewWorker("kafka-offsets");
  return {};
}

Status KafkaReader::AddSplits(std::vector<operators::SourceSplit> splits) {
  std::vector<PartitionStart> starts;
  for (const operators::SourceSplit& split : splits) {
    auto reading = std::make_unique<Reading>();
    WEIR_ASSIGN_OR_RETURN(reading->split, KafkaSplit::Parse(split));
    reading->id = split.id;
    reading->watermark_due = reading->split.watermark != operators::EventTime::Min();
    watermarks_due_ = watermarks_due_ || reading->watermark_due;
    restored_.push_back({reading->split.partition, reading->split.offset});
    if (!reading->split.finished()) {
      reading->partition = static_cast<uint32_t>(by_partition_.size());
      by_partition_.push_back(reading.get());
      starts.push_back({reading->split.partition, reading->split.offset});
    }
    readings_.push_back(std::move(reading));
    ++open_;
  }
  return consumer_->Assign(starts);
}

void KafkaReader::EmitDueWatermarks(operators::SourceOutput& output) {
  for (const std::unique_ptr<Reading>& reading : readings_) {
    if (std::exchange(reading->watermark_due, false)) output.EmitWatermark(reading->id, {reading->split.watermark});
  }
  watermarks_due_ = false;
}

Result<operators::PollStatus> KafkaReader::PollNext(operators::SourceOutput& output) {
  if (watermarks_due_) EmitDueWatermarks(output);
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<FetchedBlock> block, consumer_->Fetch());
  if (block != nullptr) WEIR_RETURN_IF_ERROR(ReadBlock(*block, output));
  if (options_.bounded()) WEIR_RETURN_IF_ERROR(FinishSplits(output));
  UpdateLag();
  if (open_ == 0 && no_more_splits_) return operators::PollStatus::kFinished;
  return block != nullptr ? operators::PollStatus::kMore : operators::PollStatus::kIdle;
}

Status KafkaReader::ReadBlock(const FetchedBlock& block, operators::SourceOutput& output) {
  const std::span<const KafkaRecord> records = block.records();
  if (records.empty()) return {};
  WatermarkTap tap(output, [this](const std::string& id) {
    const auto reading = std::ranges::find(readings_, id, &Reading::id);
    return reading == readings_.end() ? nullptr : &(*reading)->split.watermark;
  });
  collector_.Begin(tap, records.size());
  uint64_t bytes = 0;
  Reading* reading = nullptr;
  for (const KafkaRecord& record : records) {
    if (reading == nullptr || reading->partition != record.partition) {
      reading = by_partition_[record.partition];
      collector_.BeginSplit(reading->id);
    }
    if (reading->split.end && record.offset >= *reading->split.end) continue;
    bytes += record.key.size() + record.value.size();
    if (deserializer_->reads_headers()) TakeHeaders(block, static_cast<size_t>(&record - records.data()));
    WEIR_RETURN_IF_ERROR(ReadRecord(record, *reading, tap));
    reading->split.offset = record.offset + 1;
  }
  WEIR_RETURN_IF_ERROR(collector_.Flush());
  context_.metrics->bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  return {};
}

void KafkaReader::TakeHeaders(const FetchedBlock& block, size_t record) {
  headers_.clear();
  for (const KafkaHeader& header : block.Headers(record)) headers_.push_back({header.name, Nullable(header.value)});
}

Status KafkaReader::ReadRecord(const KafkaRecord& record, Reading& reading, operators::SourceOutput& output) {
  const RawRecord raw{.topic = reading.split.partition.topic,
                      .partition = reading.split.partition.partition,
                      .offset = record.offset,
                      .timestamp_ms = record.timestamp_ms,
                      .key = Nullable(record.key),
                      .value = Nullable(record.value),
                      .headers = headers_};
  const Status status = deserializer_->Deserialize(raw, collector_);
  if (status.ok()) [[likely]]
    return {};
  if (status.code() != StatusCode::kInvalidArgument) return status;
  return HandleBadRecord(bad_records_, raw, status, context_.uid, output, *context_.metrics);
}

// A split has ended when the client's position, which passes control records and gaps, has reached its end.
Status KafkaReader::FinishSplits(operators::SourceOutput& output) {
  for (const std::unique_ptr<Reading>& reading : readings_) {
    if (reading->done) continue;
    KafkaSplit& split = reading->split;
    if (!split.finished() && consumer_->Position(reading->partition) < *split.end) continue;
    split.offset = *split.end;
    reading->done = true;
    --open_;
    if (reading->partition != kNotAssigned) WEIR_RETURN_IF_ERROR(consumer_->Pause(reading->partition));
    output.EmitWatermark(reading->id, {operators::EventTime::Max()});
  }
  return {};
}

void KafkaReader::UpdateLag() {
  const MonotonicTime now = context_.clock->Now();
  if (now - lag_updated_ < kLagInterval) return;
  lag_updated_ = now;
  int64_t lag = 0;
  for (const Reading* reading : by_partition_) {
    if (reading->done) continue;
    const int64_t high = consumer_->HighWatermark(reading->partition);
    if (high >= 0) lag += std::max(int64_t{0}, high - consumer_->Position(reading->partition));
  }
  context_.metrics->lag_records.store(lag, std::memory_order_relaxed);
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
