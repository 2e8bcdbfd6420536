#include "connectors/kafka/enumerator.h"

#include <map>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "connectors/kafka/discovery.h"
#include "connectors/kafka/frontier_event.h"

namespace weir::connectors {
namespace {

// How long a look that the frontier waits for is not repeated after one that failed.
constexpr Duration kRetryInterval = std::chrono::seconds(1);

// FNV-1a: the same on every machine and in every version.
uint32_t TopicHash(std::string_view topic) {
  uint32_t hash = 2166136261U;
  for (const char c : topic) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

KafkaEnumerator::KafkaEnumerator(KafkaSourceOptions options, KafkaClientFactory& factory,
                                 std::unique_ptr<Deserializer> deserializer)
    : options_(std::move(options)), factory_(factory), deserializer_(std::move(deserializer)) {}

KafkaEnumerator::~KafkaEnumerator() {
  if (worker_ == nullptr) return;
  worker_->Submit([this] { admin_.reset(); });  // takes its time
  worker_.reset();
}

Status KafkaEnumerator::Start(operators::EnumeratorContext context, std::optional<std::string> restored,
                              std::vector<operators::SourceSplit> splits) {
  WEIR_CHECK_GE(context.parallelism, 1U);
  context_ = std::move(context);
  found_ = std::make_unique<Mailbox<Found>>(*context_.wakeup);
  worker_ = context_.workers->NewWorker("kafka-splits");
  FrontierState frontier;
  if (restored) {
    WEIR_ASSIGN_OR_RETURN(known_, ParseKnownPartitions(*restored));
    std::erase_if(known_, [this](const TopicPartition& partition) { return options_.Retired(partition); });
    if (const std::optional<std::string> text = FrontierOfKnownPartitions(*restored)) {
      WEIR_ASSIGN_OR_RETURN(frontier, ParseFrontierState(*text));
    }
  }
  if (options_.frontier) {
    const bool looks = options_.discovery_interval > Duration::zero();
    frontier_ = std::make_unique<FrontierHost>(*options_.frontier, looks, context_, frontier);
  }
  if (!restored && splits.empty()) {
    if (options_.changefeed.min_timestamp) {
      seek_ = std::make_unique<KafkaSeek>(options_, factory_, std::move(deserializer_));
    }
    AskFirstStart();
    return {};
  }
  std::vector<KafkaSplit> saved;
  for (const operators::SourceSplit& split : splits) {
    WEIR_ASSIGN_OR_RETURN(KafkaSplit parsed, KafkaSplit::Parse(split));
    if (options_.Retired(parsed.partition)) {
      LogInfo("source " + context_.uid + ": partition " + split.id + " is retired at " + split.position);
      continue;
    }
    known_.insert(parsed.partition);
    saved.push_back(std::move(parsed));
  }
  AskCluster([this, saved = std::move(saved), known = known_](KafkaAdmin& admin) mutable {
    return KafkaDiscovery(options_, admin).Restore(std::move(saved), known);
  });
  return {};
}

void KafkaEnumerator::AskFirstStart() {
  AskCluster([this](KafkaAdmin& admin) {
    return seek_ != nullptr ? seek_->Plan(admin) : KafkaDiscovery(options_, admin).FirstStart();
  });
}

void KafkaEnumerator::AskCluster(std::move_only_function<Found(KafkaAdmin&)> question) {
  asking_ = true;
  if (frontier_ != nullptr) frontier_->LookBegins();
  last_asked_ = context_.clock->Now();
  worker_->Submit([this, question = std::move(question)]() mutable {
    if (admin_ == nullptr) {
      Result<std::unique_ptr<KafkaAdmin>> admin = factory_.NewAdmin(options_.connection, options_.request_timeout);
      if (!admin.has_value()) {
        found_->Post(Error(admin.error()));
        return;
      }
      admin_ = std::move(*admin);
    }
    found_->Post(question(*admin_));
  });
}

Status KafkaEnumerator::Step() {
  while (std::optional<Found> found = found_->Take()) {
    asking_ = false;
    WEIR_RETURN_IF_ERROR(HandleFound(std::move(*found)));
  }
  if (seek_ != nullptr && !asking_) WEIR_RETURN_IF_ERROR(StepSeek());
  if (LookIsDue()) {
    AskCluster([this, known = known_](KafkaAdmin& admin) { return KafkaDiscovery(options_, admin).FindNew(known); });
  }
  return {};
}

bool KafkaEnumerator::LookIsDue() const {
  if (!ready_ || asking_ || options_.discovery_interval == Duration::zero()) return false;
  const Duration since = context_.clock->Now() - last_asked_;
  if (since >= options_.discovery_interval) return true;
  return frontier_ != nullptr && frontier_->WantsLook() && (!unanswered_ || since >= kRetryInterval);
}

Status KafkaEnumerator::HandleEvent(uint32_t subtask, const std::string& event) {
  // Without a frontier: of a checkpoint that had one.
  return frontier_ == nullptr ? Status::Ok() : frontier_->HandleEvent(subtask, event);
}

Status KafkaEnumerator::HandleFound(Found found) {
  unanswered_ = !found.has_value();
  if (unanswered_) {
    if (!ready_ || !found.error().retryable()) return found.error();
    if (frontier_ != nullptr) frontier_->LookEnds(false);
    LogWarning("source " + context_.uid + ": partitions can't be discovered now: " + found.error().message());
    return {};
  }
  if (frontier_ != nullptr) {
    frontier_->Ensure(*found);
    frontier_->LookEnds(true);
  }
  if (seek_ != nullptr) return seek_->Start(context_, std::move(*found));
  if (ready_) {
    Assign(*found);
  } else {
    Begin(*found);
  }
  return {};
}

Status KafkaEnumerator::StepSeek() {
  WEIR_ASSIGN_OR_RETURN(const KafkaSeek::Progress progress, seek_->Step());
  if (progress == KafkaSeek::Progress::kLogMoved) AskFirstStart();
  if (progress != KafkaSeek::Progress::kDone) return {};
  Begin(seek_->TakeSplits());
  worker_->Submit([seek = std::move(seek_)]() mutable { seek.reset(); });  // takes its time
  return {};
}

// Of a first start or a restored one.
void KafkaEnumerator::Begin(const std::vector<KafkaSplit>& splits) {
  Assign(splits);
  ready_ = true;
  if (options_.discovery_interval > Duration::zero()) return;
  if (frontier_ != nullptr) frontier_->NoMoreSplits();
  for (uint32_t subtask = 0; subtask < context_.parallelism; ++subtask) context_.no_more_splits(subtask);
}

void KafkaEnumerator::Assign(const std::vector<KafkaSplit>& splits) {
  std::map<uint32_t, std::vector<operators::SourceSplit>> by_reader;
  for (const KafkaSplit& split : splits) {
    if (ready_) LogInfo("source " + context_.uid + ": new partition " + split.partition.ToString());
    known_.insert(split.partition);
    const uint64_t place =
        uint64_t{TopicHash(split.partition.topic)} + static_cast<uint64_t>(split.partition.partition);
    by_reader[static_cast<uint32_t>(place % context_.parallelism)].push_back(split.ToSourceSplit());
  }
  for (auto& [reader, assigned] : by_reader) context_.assign_splits(reader, std::move(assigned));
}

Result<std::string> KafkaEnumerator::SnapshotState(CheckpointId) {
  if (!ready_) return Error(Status::FailedPrecondition("offsets are not known yet"));
  return WriteKnownPartitions(known_, frontier_ == nullptr ? std::string() : frontier_->SnapshotState());
}

}  // namespace weir::connectors
