// Brings the segments of durable checkpoints to one Kafka cluster, each checkpoint's in one transaction that also holds
// the marker (checkpoint-protocol, "Kafka"). The fence is the transactional id weir-<job>. The marker is the newest
// record under the job's name in the compacted topic weir-markers, which is made if it is missing; unlike a group's
// offset it does not expire. Called on the starting thread, then on the committer's own Worker.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file_system.h"
#include "checkpoint/committer.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "operators/sink.h"

namespace weir::connectors {

class KafkaCommitter final : public checkpoint::Committer {
 public:
  KafkaCommitter(const KafkaSinkOptions& options, KafkaClientFactory& factory,
                 const operators::CommitterContext& context);
  ~KafkaCommitter() override;

  Result<std::optional<checkpoint::Marker>> Peek() override;
  std::string place() const override { return cluster_id_.empty() ? std::string() : "Kafka cluster " + cluster_id_; }
  Status Fence() override;
  Result<std::optional<checkpoint::Marker>> ReadMarker() override;
  Status Sign(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> listed) override;
  Status Apply(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> committables) override;

 private:
  Result<std::optional<checkpoint::Marker>> FindMarker(KafkaReadUpTo up_to);
  // Kept for the next question: to end its clients takes a second.
  Result<KafkaMarkerReader*> Reader();
  // Makes the marker topic if it is missing. FailedPrecondition if it would forget markers or has several partitions.
  Status EnsureMarkerTopic();
  Status Transact(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> committables);
  Status ProduceSegment(const checkpoint::Committable& segment);

  const KafkaSinkOptions options_;
  const KafkaConnection admin_connection_;
  KafkaClientFactory& factory_;
  const operators::CommitterContext context_;
  std::unique_ptr<KafkaMarkerReader> reader_;
  std::string cluster_id_;                                // empty: not asked for yet
  std::unique_ptr<KafkaTransactionalProducer> producer_;  // null: to be fenced first
};

}  // namespace weir::connectors
