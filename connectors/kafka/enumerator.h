// Assigns a Kafka source's partitions to its readers: those of a first start or of a checkpoint at once, new ones as
// discovery finds them. Partition p of a topic goes to reader (hash(topic) + p) mod parallelism, so that the assignment
// is even and the same after every start. With a frontier (frontier_host.h) a partition counts from the moment it is
// found. The control thread; what waits for the cluster runs on a Worker of its own.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/frontier_host.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/seek.h"
#include "connectors/kafka/split.h"
#include "operators/source.h"

namespace weir::connectors {

class KafkaEnumerator final : public operators::SplitEnumerator {
 public:
  // `factory` outlives the enumerator. With min-timestamp `deserializer` reads what the seek has to look at.
  KafkaEnumerator(KafkaSourceOptions options, KafkaClientFactory& factory, std::unique_ptr<Deserializer> deserializer);
  ~KafkaEnumerator() override;

  Status Start(operators::EnumeratorContext context, std::optional<std::string> restored,
               std::vector<operators::SourceSplit> splits) override;
  Status Step() override;
  Status HandleEvent(uint32_t subtask, const std::string& event) override;
  bool ready() const override { return ready_; }
  Result<std::string> SnapshotState(CheckpointId checkpoint) override;

 private:
  using Found = Result<std::vector<KafkaSplit>>;

  void AskCluster(std::move_only_function<Found(KafkaAdmin&)> question);
  bool LookIsDue() const;
  void AskFirstStart();
  Status HandleFound(Found found);
  Status StepSeek();
  void Begin(const std::vector<KafkaSplit>& splits);
  void Assign(const std::vector<KafkaSplit>& splits);

  // Set once.
  const KafkaSourceOptions options_;
  KafkaClientFactory& factory_;
  std::unique_ptr<Deserializer> deserializer_;
  operators::EnumeratorContext context_;
  std::unique_ptr<Mailbox<Found>> found_;

  // The control thread only.
  std::set<TopicPartition> known_;  // ever assigned
  bool ready_ = false;
  bool asking_ = false;
  bool unanswered_ = false;  // the last question
  MonotonicTime last_asked_;
  std::unique_ptr<FrontierHost> frontier_;  // none: each split has a watermark of its own
  std::unique_ptr<KafkaSeek> seek_;         // during a first start with min-timestamp; planned on the worker's thread

  std::unique_ptr<KafkaAdmin> admin_;  // the worker's thread only
  std::unique_ptr<Worker> worker_;     // last: ends before what it uses
};

}  // namespace weir::connectors
