#include "tests/connectors/kafka/connector_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "connectors/kafka/register_kafka.h"

namespace weir::kafka_test {

using operators::RawKind;
using operators::RawValue;

RawValue Text(std::string text) {
  RawValue value;
  value.kind = RawKind::kString;
  value.text = std::move(text);
  return value;
}

RawValue Number(int64_t number) {
  RawValue value = Text(std::to_string(number));
  value.kind = RawKind::kNumber;
  return value;
}

RawValue List(const std::vector<std::string>& texts) {
  RawValue value;
  value.kind = RawKind::kList;
  for (const std::string& text : texts) value.list.push_back(Text(text));
  return value;
}

RawValue Object(Definition members) {
  RawValue value;
  value.kind = RawKind::kObject;
  value.members = std::move(members);
  for (auto& [name, member] : value.members) member.path = "/" + name;
  return value;
}

std::vector<std::string> ProblemsOf(const std::vector<operators::OptionSpec>& specs,
                                    const std::function<void(const operators::Options&, operators::Problems&)>& check,
                                    const Definition& definition, operators::Options* options) {
  operators::Problems problems;
  operators::Options checked = operators::CheckOptions(Object(definition), specs, problems);
  if (problems.empty()) check(checked, problems);
  std::vector<std::string> lines;
  for (const operators::Problem& problem : problems) {
    lines.push_back(problem.path + ": " + problem.message + " (" + problem.value + ")");
  }
  if (options != nullptr) *options = std::move(checked);
  return lines;
}

SourceDriver::SourceDriver(KafkaWorld& world, Definition definition, uint32_t parallelism) : world_(world) {
  connectors::RegisterKafka(registry_, world.factory());
  definition.emplace_back("bootstrap-servers", Text(world.connection().bootstrap_servers));
  const operators::SourceType* type = registry_.FindSource("kafka");
  operators::Options options;
  EXPECT_EQ(ProblemsOf(type->options, type->check, definition, &options), std::vector<std::string>());
  source_ = std::move(*type->create(options));
  enumerator_ = std::move(*source_->CreateEnumerator());
  for (uint32_t i = 0; i < parallelism; ++i) readers_.push_back(std::move(*source_->CreateReader()));
  contexts_.resize(parallelism);
  done_.resize(parallelism);
}

Status SourceDriver::Start(const SourceSnapshot* restored) {
  const connectors::KafkaClientContext context = world_.context();
  for (uint32_t i = 0; i < readers_.size(); ++i) {
    contexts_[i] = {.uid = "orders",
                    .subtask = i,
                    .parallelism = static_cast<uint32_t>(readers_.size()),
                    .clock = context.clock,
                    .workers = context.workers,
                    .wakeup = context.wakeup,
                    .metrics = &metrics_,
                    .send_event = [this, i](std::string event) { to_enumerator_.emplace_back(i, std::move(event)); }};
    WEIR_RETURN_IF_ERROR(readers_[i]->Open(contexts_[i]));
  }
  operators::EnumeratorContext enumerator{
      .uid = "orders",
      .parallelism = static_cast<uint32_t>(readers_.size()),
      .clock = context.clock,
      .workers = context.workers,
      .wakeup = context.wakeup,
      .metrics = &metrics_.named,
      .assign_splits =
          [this](uint32_t reader, std::vector<operators::SourceSplit> splits) {
            assigned_[reader] += splits.size();
            for (const operators::SourceSplit& split : splits) begins[split.id] = split.position;
            const Status status = readers_[reader]->AddSplits(std::move(splits));
            if (!status.ok()) error = status;
          },
      .no_more_splits = [this](uint32_t reader) { readers_[reader]->NoMoreSplits(); },
      .send_event = [this](uint32_t reader, std::string event) { to_readers_.emplace_back(reader, std::move(event)); }};
  WEIR_RETURN_IF_ERROR(enumerator_->Start(std::move(enumerator),
                                          restored ? std::optional(restored->enumerator) : std::nullopt,
                                          restored ? restored->splits : std::vector<operators::SourceSplit>()));
  if (restored == nullptr) return {};
  for (const auto& [subtask, event] : restored->events) {
    WEIR_RETURN_IF_ERROR(enumerator_->HandleEvent(subtask % static_cast<uint32_t>(readers_.size()), event));
  }
  return {};
}

size_t SourceDriver::splits() const {
  size_t count = 0;
  for (const auto& [reader, splits] : assigned_) count += splits;
  return count;
}

void SourceDriver::DeliverToEnumerator() {
  for (const auto& [subtask, event] : std::exchange(to_enumerator_, {})) {
    if (const Status status = enumerator_->HandleEvent(subtask, event); !status.ok()) error = status;
  }
}

void SourceDriver::DeliverToReaders() {
  for (const auto& [subtask, event] : std::exchange(to_readers_, {})) {
    if (const Status status = readers_[subtask]->HandleEvent(event); !status.ok()) error = status;
  }
}

void SourceDriver::Poll(size_t reader) {
  if (done_[reader]) return;
  const auto polled = readers_[reader]->PollNext(*this);
  if (!polled.has_value()) {
    error = polled.error();
  } else if (*polled == operators::PollStatus::kFinished) {
    done_[reader] = true;
    ++finished;
  }
}

void SourceDriver::Step() {
  DeliverToEnumerator();
  if (const Status status = enumerator_->Step(); !status.ok()) error = status;
  DeliverToReaders();
  for (size_t i = 0; i < readers_.size() && error.ok(); ++i) Poll(i);
}

bool SourceDriver::Until(const std::function<bool()>& done) {
  const bool reached = world_.Until([&] {
    if (done()) return true;
    Step();
    return !error.ok() || done();
  });
  return reached && error.ok();
}

void SourceDriver::Linger(Duration time) {
  const MonotonicTime start = world_.context().clock->Now();
  (void)Until([&] { return world_.context().clock->Now() - start > time; });
}

SourceSnapshot SourceDriver::Snapshot(uint64_t number, size_t polls) {
  SourceSnapshot snapshot;
  const CheckpointId id{number, {1, number}};
  DeliverToEnumerator();
  snapshot.enumerator = enumerator_->SnapshotState(id).value_or("");
  DeliverToReaders();
  for (size_t i = 0; i < polls * readers_.size(); ++i) Poll(i % readers_.size());
  for (const auto& reader : readers_) std::ranges::copy(reader->SnapshotState(id), std::back_inserter(snapshot.splits));
  std::ranges::sort(snapshot.splits, {}, &operators::SourceSplit::id);
  snapshot.events = to_enumerator_;
  return snapshot;
}

void SourceDriver::Applied(uint64_t number) {
  for (const auto& reader : readers_) EXPECT_TRUE(reader->NotifyCheckpointApplied({number, {1, number}}).ok());
}

void SourceDriver::EmitWatermark(const std::string& split_id, operators::Watermark watermark) {
  operators::EventTime& newest = watermarks[split_id];
  if (watermark.time <= newest) return;
  newest = watermark.time;
  history[split_id].push_back(watermark.time);
  newest_watermark_ = std::max(newest_watermark_, watermark.time);
}

double SourceDriver::Metric(const std::string& name, const operators::MetricLabels& labels) {
  double value = std::numeric_limits<double>::quiet_NaN();
  metrics_.named.ForEach([&](const operators::NamedMetrics::Shown& shown) {
    if (shown.name == name && shown.labels == labels) value = shown.value;
  });
  return value;
}

double SourceDriver::MetricSum(std::string_view name) const {
  double sum = 0;
  metrics_.named.ForEach([&](const operators::NamedMetrics::Shown& shown) {
    if (shown.name == name && !std::isnan(shown.value)) sum += shown.value;
  });
  return sum;
}

Status SourceDriver::Emit(operators::Batch batch) {
  for (size_t i = 0; i < batch.rows(); ++i) {
    if (batch.time(i) <= newest_watermark_ && batch.time(i) != operators::EventTime::Min()) ++late_rows;
    const operators::Value& value = batch.at(i, batch.columns() - 1);
    rows.push_back(value.has_text()                               ? std::string(value.text())
                   : value.type() == operators::ValueType::kInt64 ? std::to_string(value.int64_value())
                                                                  : "?");
  }
  return {};
}

Status SourceDriver::EmitSide(std::string_view tag, operators::Batch batch) {
  EXPECT_EQ(tag, operators::kDeadLetterTag);
  for (size_t i = 0; i < batch.rows(); ++i) {
    const operators::Value* row = batch.row(i);
    dead_letters.push_back(std::string(row[0].text()) + "/" + std::to_string(row[1].int64_value()) + "/" +
                           std::to_string(row[2].int64_value()) + "/" +
                           (row[4].missing() ? "null" : std::string(row[4].text())));
  }
  return {};
}

std::vector<std::string> SourceDriver::sorted_rows() const {
  std::vector<std::string> sorted = rows;
  std::ranges::sort(sorted);
  return sorted;
}

SinkDriver::SinkDriver(KafkaWorld& world, Definition definition) : world_(world) {
  connectors::RegisterKafka(registry_, world.factory());
  definition.emplace_back("bootstrap-servers", Text(world.connection().bootstrap_servers));
  const operators::SinkType* type = registry_.FindSink("kafka");
  operators::Options options;
  EXPECT_EQ(ProblemsOf(type->options, type->check, definition, &options), std::vector<std::string>());
  sink_ = std::move(*type->create(options));
  writer_ = std::move(*sink_->CreateWriter());
}

Status SinkDriver::Open(FileSystem* files, const std::string& output_folder) {
  const connectors::KafkaClientContext context = world_.context();
  context_ = {.job = "job",
              .uid = "out",
              .subtask = 0,
              .parallelism = 1,
              .attempt = {1, 1},
              .file_system = files,
              .output_folder = output_folder,
              .segment_stem = "out-",
              .clock = context.clock,
              .workers = context.workers,
              .wakeup = context.wakeup,
              .metrics = &metrics_};
  return writer_->Open(context_);
}

Status SinkDriver::Write(operators::Batch batch) {
  if (!world_.Until([this] { return writer_->CanWrite(); })) return Status::Unavailable("no room in 30 s");
  return writer_->Write(std::move(batch));
}

Status SinkDriver::Barrier() {
  Status status;
  const bool ready = world_.Until([&] {
    const Result<bool> answer = writer_->ReadyForBarrier();
    if (!answer.has_value()) status = answer.error();
    return !status.ok() || *answer;
  });
  return ready ? status : Status::Unavailable("no acknowledgement in 30 s");
}

}  // namespace weir::kafka_test
