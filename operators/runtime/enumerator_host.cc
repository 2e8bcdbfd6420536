#include "operators/runtime/enumerator_host.h"

#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace weir::operators {
namespace {

constexpr char kSnapshotVersion = 1;

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  quoted += text;
  quoted += "'";
  return quoted;
}

// "event:<subtask>-<number>": which subtask sent it.
uint32_t SubtaskOfEvent(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  uint32_t subtask = 0;
  std::from_chars(name.data(), name.data() + name.size(), subtask);
  return subtask;
}

}  // namespace

std::string EncodeEnumeratorSnapshot(const EnumeratorSnapshot& snapshot) {
  std::string bytes(1, kSnapshotVersion);
  AppendLengthPrefixed(bytes, snapshot.enumerator);
  AppendVarint(bytes, snapshot.finished_splits.size());
  for (const auto& [id, position] : snapshot.finished_splits) {
    AppendLengthPrefixed(bytes, id);
    AppendLengthPrefixed(bytes, position);
  }
  return bytes;
}

Result<EnumeratorSnapshot> DecodeEnumeratorSnapshot(std::string_view bytes) {
  const auto damaged = [] { return Error(Status::Corruption("the enumerator's state is cut short or damaged")); };
  if (bytes.empty()) return damaged();
  if (bytes.front() != kSnapshotVersion) {
    return Error(Status::FailedPrecondition("the enumerator's state has form " +
                                            std::to_string(static_cast<int>(bytes.front())) + ", expected form 1"));
  }
  bytes.remove_prefix(1);
  const std::optional<std::string_view> enumerator = ReadLengthPrefixed(bytes);
  if (!enumerator.has_value()) return damaged();
  const std::optional<uint64_t> count = ReadVarint(bytes);
  if (!count.has_value()) return damaged();
  EnumeratorSnapshot snapshot{std::string(*enumerator), {}};
  for (uint64_t i = 0; i < *count; ++i) {
    const std::optional<std::string_view> id = ReadLengthPrefixed(bytes);
    if (!id.has_value()) return damaged();
    const std::optional<std::string_view> position = ReadLengthPrefixed(bytes);
    if (!position.has_value()) return damaged();
    snapshot.finished_splits.emplace(*id, *position);
  }
  if (!bytes.empty()) return damaged();
  return snapshot;
}

EnumeratorHost::EnumeratorHost(EnumeratorHostOptions options)
    : options_(std::move(options)),
      mailbox_(*options_.wakeup),
      handled_(options_.parallelism, 0),
      acknowledged_(options_.parallelism, 0) {
  WEIR_CHECK(options_.enumerator != nullptr);
  WEIR_CHECK_GT(options_.parallelism, 0U);
}

EnumeratorHost::~EnumeratorHost() = default;

void EnumeratorHost::SetReaders(std::vector<ReaderPort*> readers) {
  WEIR_CHECK_EQ(readers.size(), size_t{options_.parallelism});
  readers_ = std::move(readers);
}

void EnumeratorHost::ReaderRestored(uint32_t subtask, RestoredReader restored) {
  mailbox_.Post(Restored{subtask, std::move(restored)});
}

void EnumeratorHost::PostReaderEvent(uint32_t subtask, uint64_t number, std::string event) {
  mailbox_.Post(Event{subtask, number, std::move(event)});
}

StepResult EnumeratorHost::Step() {
  if (failed_) return StepResult::kFinished;
  if (Status status = TryStep(); !status.ok()) {
    Fail(std::move(status));
    return StepResult::kFinished;
  }
  return StepResult::kIdle;
}

void EnumeratorHost::Fail(Status cause) {
  if (std::exchange(failed_, true)) return;
  options_.on_failure(cause.WithContext("source " + Quoted(options_.uid)));
}

std::optional<MonotonicTime> EnumeratorHost::NextDeadline() const { return next_step_; }

bool EnumeratorHost::ready() const { return started_ && !failed_ && options_.enumerator->ready(); }

Status EnumeratorHost::TryStep() {
  WEIR_RETURN_IF_ERROR(HandleMessages());
  if (!started_) return Status::Ok();
  WEIR_RETURN_IF_ERROR(options_.enumerator->Step());
  next_step_ = options_.clock->Now() + options_.step_interval;
  if (ready() && !std::exchange(told_without_splits_, true)) {
    for (uint32_t i = 0; i < options_.parallelism; ++i) {
      if (!assigned_.contains(i)) Assign(i, {});
    }
  }
  return Status::Ok();
}

Status EnumeratorHost::HandleMessages() {
  while (std::optional<Message> message = mailbox_.Take()) {
    if (auto* restored = std::get_if<Restored>(&*message)) {
      WEIR_CHECK(!started_);
      WEIR_RETURN_IF_ERROR(Merge(std::move(restored->reader)));
      if (++reported_ == options_.parallelism) WEIR_RETURN_IF_ERROR(Start());
      continue;
    }
    Event& event = std::get<Event>(*message);
    if (started_) {
      WEIR_RETURN_IF_ERROR(HandleEvent(event));
    } else {
      early_.push_back(std::move(event));
    }
  }
  return Status::Ok();
}

Status EnumeratorHost::HandleEvent(const Event& event) {
  WEIR_CHECK_LT(event.subtask, options_.parallelism);
  WEIR_CHECK_EQ(event.number, handled_[event.subtask] + 1);
  handled_[event.subtask] = event.number;
  return options_.enumerator->HandleEvent(event.subtask, event.text);
}

// After a change of the parallelism several readers report the same entries, all alike.
Status EnumeratorHost::Merge(RestoredReader reader) {
  for (RestoredReader::Split& each : reader.splits) {
    const std::string& id = each.split.id;
    const std::string& position = each.split.position;
    const std::string* other = nullptr;
    if (each.finished) {
      const auto [at, added] = finished_splits_.emplace(id, position);
      if (!added && at->second != position) other = &at->second;
    }
    const auto [at, added] = splits_.emplace(id, each.split);
    if (!added && at->second.position != position) other = &at->second.position;
    if (other == nullptr) continue;
    std::string message = "split " + Quoted(id) + " is in the restored state at two positions: " + *other + " and ";
    return Status::Corruption(message + position);
  }
  for (auto& [name, event] : reader.events) events_.emplace(name, std::move(event));
  return Status::Ok();
}

Status EnumeratorHost::Start() {
  std::optional<std::string> restored;
  if (options_.restored.has_value()) {
    WEIR_ASSIGN_OR_RETURN(EnumeratorSnapshot snapshot, DecodeEnumeratorSnapshot(*options_.restored));
    restored = std::move(snapshot.enumerator);
    for (auto& [id, position] : snapshot.finished_splits) {
      splits_.emplace(id, SourceSplit{id, position});
      finished_splits_.emplace(id, std::move(position));
    }
  }
  for (const SourceSplit& split : options_.assigned) splits_.emplace(split.id, split);
  std::vector<SourceSplit> splits;
  for (auto& [id, split] : splits_) splits.push_back(std::move(split));
  splits_.clear();
  started_ = true;
  WEIR_RETURN_IF_ERROR(options_.enumerator->Start(MakeContext(), std::move(restored), std::move(splits)));
  for (const auto& [name, event] : events_) {
    WEIR_RETURN_IF_ERROR(options_.enumerator->HandleEvent(SubtaskOfEvent(name) % options_.parallelism, event));
  }
  events_.clear();
  for (const Event& event : std::exchange(early_, {})) WEIR_RETURN_IF_ERROR(HandleEvent(event));
  return Status::Ok();
}

void EnumeratorHost::Assign(uint32_t subtask, std::vector<SourceSplit> splits) {
  WEIR_CHECK_LT(subtask, options_.parallelism);
  std::erase_if(splits, [this](const SourceSplit& split) { return finished_splits_.contains(split.id); });
  assigned_.insert(subtask);
  readers_[subtask]->AddSplits(std::move(splits));
}

EnumeratorContext EnumeratorHost::MakeContext() {
  EnumeratorContext context;
  context.uid = options_.uid;
  context.parallelism = options_.parallelism;
  context.clock = options_.clock;
  context.workers = options_.workers;
  context.wakeup = options_.wakeup;
  context.metrics = options_.metrics;
  context.assign_splits = [this](uint32_t subtask, std::vector<SourceSplit> splits) {
    Assign(subtask, std::move(splits));
  };
  context.no_more_splits = [this](uint32_t subtask) {
    WEIR_CHECK_LT(subtask, options_.parallelism);
    readers_[subtask]->NoMoreSplits();
  };
  context.send_event = [this](uint32_t subtask, std::string event) {
    WEIR_CHECK_LT(subtask, options_.parallelism);
    readers_[subtask]->HandleSourceEvent(std::move(event));
  };
  return context;
}

Result<std::string> EnumeratorHost::SnapshotState(CheckpointId checkpoint) {
  if (Status status = HandleMessages(); !status.ok()) {
    Fail(status);
    return Error(std::move(status));
  }
  WEIR_CHECK(ready());
  WEIR_ASSIGN_OR_RETURN(std::string enumerator, options_.enumerator->SnapshotState(checkpoint));
  for (uint32_t i = 0; i < options_.parallelism; ++i) {
    if (handled_[i] == acknowledged_[i]) continue;
    acknowledged_[i] = handled_[i];
    readers_[i]->AcknowledgeSourceEvents(handled_[i]);
  }
  return EncodeEnumeratorSnapshot({std::move(enumerator), finished_splits_});
}

}  // namespace weir::operators
