#include "connectors/kafka/seek.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "connectors/format/hlc.h"
#include "connectors/format/row_collector.h"
#include "connectors/kafka/discovery.h"
#include "connectors/kafka/raw_record.h"
#include "operators/temporal.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

// How far the clocks of a CockroachDB cluster may be apart before a node gives up.
constexpr Duration kClockOffsetMax = std::chrono::milliseconds(500);
// The search goes back 2^12 - 1 intervals at most: 5 h 41 min by 5 s.
constexpr int kSteps = 12;
// Retention can't be faster than this for long.
constexpr int kPlansMax = 5;

std::string UtcText(int64_t timestamp_ms) {
  std::array<char, operators::kTemporalTextMax> text{};
  const size_t size = operators::TemporalToText(operators::ValueType::kTimestampTz, timestamp_ms * 1000, text.data());
  return {text.data(), size};
}

}  // namespace

// What the format finds in one record, which makes no row.
class KafkaSeek::TimeReader final : public RowGate, public operators::SourceOutput {
 public:
  TimeReader() { collector_.SetGate(this); }

  bool AdmitRows(EventTime time, RowClock clock) override {
    if (clock == RowClock::kChangefeed) row = time;
    return false;
  }
  void SeeWatermark(EventTime time) override { resolved = time.Next(); }

  Status Emit(operators::Batch) override { return {}; }
  Status EmitSide(std::string_view, operators::Batch) override { return {}; }
  bool HasSide(std::string_view) const override { return false; }
  void EmitWatermark(const std::string&, operators::Watermark) override {}

  Status Read(Deserializer& deserializer, const RawRecord& record) {
    row.reset();
    resolved.reset();
    return deserializer.Deserialize(record, collector_);
  }
  void Begin(size_t records) {
    collector_.Begin(*this, records);
    collector_.BeginSplit(no_split_);
  }
  Status Flush() { return collector_.Flush(); }

  std::optional<EventTime> row;
  std::optional<EventTime> resolved;

 private:
  const std::string no_split_;
  RowCollector collector_;
};

// One partition's. The parts of the log that it may read, the last one first, are [begins[0], high),
// [begins[1], begins[0]) and so on.
struct KafkaSeek::Search {
  Watermarks marks;
  std::vector<int64_t> begins;  // falling
  size_t part = 0;
  int64_t end = 0;    // of the part
  bool read = false;  // the part, or as much of it as is before min-timestamp
  bool done = false;
  int64_t fallback = 0;
  std::optional<int64_t> found;      // the newest resolved message of the part that is before min-timestamp
  std::optional<int64_t> oldest_ms;  // when the first record of begins[0] was written
  std::atomic<uint64_t>* seeks = nullptr;
  std::atomic<uint64_t>* skipped = nullptr;
};

KafkaSeek::KafkaSeek(const KafkaSourceOptions& options, KafkaClientFactory& factory,
                     std::unique_ptr<Deserializer> deserializer)
    : options_(options),
      factory_(factory),
      deserializer_(std::move(deserializer)),
      times_(std::make_unique<TimeReader>()) {}

KafkaSeek::~KafkaSeek() = default;

Result<std::vector<KafkaSplit>> KafkaSeek::Plan(KafkaAdmin& admin) {
  ++plans_;
  WEIR_ASSIGN_OR_RETURN(std::vector<KafkaSplit> splits, KafkaDiscovery(options_, admin).FirstStart());
  std::vector<TopicPartition> partitions;
  for (const KafkaSplit& split : splits) partitions.push_back(split.partition);
  WEIR_ASSIGN_OR_RETURN(const std::vector<Watermarks> marks, admin.QueryWatermarks(partitions));
  searches_.assign(splits.size(), {});
  for (size_t i = 0; i < splits.size(); ++i) {
    searches_[i].marks = marks[i];
    searches_[i].end = marks[i].high;
  }
  const int64_t min_ms = options_.changefeed.min_timestamp->wall_ns / 1'000'000;
  const auto interval_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.changefeed.resolved_interval).count();
  const auto first_ms =
      std::max(interval_ms, std::chrono::duration_cast<std::chrono::milliseconds>(kClockOffsetMax).count());
  int64_t back_ms = first_ms;
  for (int step = 0; step < kSteps; ++step) {
    const int64_t from_ms = std::max(int64_t{0}, min_ms - back_ms);  // negative ones have another meaning to brokers
    WEIR_ASSIGN_OR_RETURN(const auto offsets, admin.OffsetsForTime(partitions, from_ms));
    bool more = false;
    for (size_t i = 0; i < splits.size(); ++i) {
      Search& search = searches_[i];
      const int64_t above = search.begins.empty() ? search.marks.high : search.begins.back();
      // Nothing was written as late, or only after the end was asked for.
      search.begins.push_back(std::clamp(offsets[i].value_or(above), search.marks.low, above));
      more = more || search.begins.back() > search.marks.low;
    }
    if (!more || from_ms == 0) break;
    back_ms += first_ms << (step + 1);
  }
  for (Search& search : searches_) search.fallback = search.begins.front();
  return splits;
}

Status KafkaSeek::Start(const operators::EnumeratorContext& context, std::vector<KafkaSplit> splits) {
  context_ = context;
  splits_ = std::move(splits);
  open_ = splits_.size();
  moved_ = context_.clock->Now();
  operators::NamedMetrics& metrics = context_.metrics == nullptr ? unseen_ : *context_.metrics;
  std::vector<PartitionStart> starts;
  for (size_t i = 0; i < splits_.size(); ++i) {
    const TopicPartition& partition = splits_[i].partition;
    const operators::MetricLabels labels = {{"topic", partition.topic},
                                            {"partition", std::to_string(partition.partition)}};
    searches_[i].seeks = &metrics.Counter(context_.uid, "seeks", labels);
    searches_[i].skipped = &metrics.Counter(context_.uid, "seeks_skipped", labels);
    starts.push_back({partition, searches_[i].begins.front()});
  }
  WEIR_ASSIGN_OR_RETURN(consumer_,
                        factory_.NewConsumer(options_.connection, {context.clock, context.workers, context.wakeup}));

  WEIR_RETURN_IF_ERROR(consumer_->Assign(starts));
  return Advance();
}

Result<KafkaSeek::Progress> KafkaSeek::Step() {
  Result<std::unique_ptr<FetchedBlock>> block = consumer_->Fetch();
  if (!block.has_value()) {
    if (block.error().code() != StatusCode::kFailedPrecondition || plans_ >= kPlansMax) return Error(block.error());
    LogInfo("source " + context_.uid + ": the search for min-timestamp begins anew: " + block.error().message());
    return Progress::kLogMoved;
  }
  if (*block != nullptr) {
    WEIR_RETURN_IF_ERROR(ReadBlock(**block));
    moved_ = context_.clock->Now();
    context_.wakeup->Wake();
  }
  WEIR_RETURN_IF_ERROR(Advance());
  if (open_ == 0) return Progress::kDone;
  if (context_.clock->Now() - moved_ <= options_.request_timeout) return Progress::kReading;
  return Error(NoAnswer());
}

Status KafkaSeek::NoAnswer() const {
  const auto stuck = std::ranges::find(searches_, false, &Search::done);
  const auto index = static_cast<size_t>(stuck - searches_.begin());
  const TopicPartition& partition = splits_[index].partition;
  return Status::Unavailable(
      "Kafka at " + options_.connection.bootstrap_servers + ": the search for min-timestamp got no record of topic " +
      partition.topic + " partition " + std::to_string(partition.partition) + " from offset " +
      std::to_string(consumer_->Position(static_cast<uint32_t>(index))) + " on within request-timeout");
}

Status KafkaSeek::ReadBlock(const FetchedBlock& block) {
  times_->Begin(block.records().size());
  for (const KafkaRecord& record : block.records()) {
    Search& search = searches_[record.partition];
    if (search.done || search.read || record.offset >= search.end) continue;
    headers_.clear();
    if (deserializer_->reads_headers()) {
      for (const KafkaHeader& header : block.Headers(static_cast<size_t>(&record - block.records().data()))) {
        headers_.push_back({header.name, Nullable(header.value)});
      }
    }
    WEIR_RETURN_IF_ERROR(ReadRecord(record, search));
  }
  return times_->Flush();
}

Status KafkaSeek::ReadRecord(const KafkaRecord& record, Search& search) {
  const TopicPartition& partition = splits_[record.partition].partition;
  search.seeks->fetch_add(1, std::memory_order_relaxed);
  if (!search.oldest_ms) search.oldest_ms = record.timestamp_ms;
  const Status status = times_->Read(*deserializer_, RawRecordOf(partition, record, headers_));
  if (status.code() == StatusCode::kInvalidArgument) {
    search.skipped->fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  WEIR_RETURN_IF_ERROR(status);
  const EventTime min = *options_.changefeed.min_timestamp;
  if (times_->resolved && *times_->resolved < min) search.found = record.offset;
  search.read = times_->resolved.value_or(EventTime::Min()) >= min || times_->row.value_or(EventTime::Min()) >= min;
  // A clock that was wrong by more than the search allows for: not behind this row.
  if (search.read) search.fallback = std::min(search.fallback, record.offset);
  return {};
}

Status KafkaSeek::Advance() {
  for (size_t i = 0; i < searches_.size(); ++i) {
    Search& search = searches_[i];
    const auto partition = static_cast<uint32_t>(i);
    if (search.done || (!search.read && consumer_->Position(partition) < search.end)) continue;
    const int64_t begin = search.begins[search.part];
    while (search.part + 1 < search.begins.size() && search.begins[search.part] == begin) ++search.part;
    if (search.found || search.begins[search.part] == begin) {
      WEIR_RETURN_IF_ERROR(Finish(partition));
      continue;
    }
    search.end = begin;
    search.read = false;
    WEIR_RETURN_IF_ERROR(consumer_->Seek(partition, search.begins[search.part]));
  }
  return {};
}

Status KafkaSeek::Finish(uint32_t partition) {
  Search& search = searches_[partition];
  search.done = true;
  --open_;
  splits_[partition].offset = search.found.value_or(search.fallback);
  // Otherwise all that is kept was written after min-timestamp, or shortly before.
  const bool lost = !search.found && search.marks.low > 0 && search.begins.front() == search.marks.low;
  if (lost) WarnOfRetention(partition);
  return consumer_->Pause(partition);
}

void KafkaSeek::WarnOfRetention(uint32_t partition) const {
  const Search& search = searches_[partition];
  const TopicPartition& name = splits_[partition].partition;
  std::string min;
  AppendHlc(*options_.changefeed.min_timestamp, min);
  LogWarning("source " + context_.uid + ": topic " + name.topic + " partition " + std::to_string(name.partition) +
             ": min-timestamp " + min + " is before everything that is kept; " +
             (search.oldest_ms ? "the oldest record was written at " + UtcText(*search.oldest_ms) : "nothing is kept") +
             ". Reading begins there, at offset " + std::to_string(splits_[partition].offset) +
             "; what was before it is missing");
}

}  // namespace weir::connectors
