// The enumerator's questions to the cluster and what follows from the answers: which partitions there are, where a
// first start begins and ends in each, whether a saved offset can still be read. Runs on a Worker, because KafkaAdmin
// waits.
#pragma once

#include <set>
#include <vector>

#include "base/status.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/split.h"

namespace weir::connectors {

class KafkaDiscovery {
 public:
  KafkaDiscovery(const KafkaSourceOptions& options, KafkaAdmin& admin) : options_(options), admin_(admin) {}

  // All partitions with concrete offsets, as the options say.
  Result<std::vector<KafkaSplit>> FirstStart();
  // The saved splits, checked, and the partitions that are not in `known`, from their earliest record. An error names
  // topic, partition and both numbers where a saved offset is beyond the end or before the start of the log. Where the
  // definition ends what had no end, it ends now; where it no longer does, reading goes on. What the definition retires
  // is left out, here and everywhere.
  Result<std::vector<KafkaSplit>> Restore(std::vector<KafkaSplit> saved, const std::set<TopicPartition>& known);
  // Partitions that are not in `known`, from their earliest record.
  Result<std::vector<KafkaSplit>> FindNew(const std::set<TopicPartition>& known);

 private:
  Result<std::vector<TopicPartition>> ListPartitions();
  Result<std::vector<KafkaSplit>> StartOffsets(std::span<const TopicPartition> partitions,
                                               std::span<const Watermarks> marks);
  Status SetEnds(std::span<KafkaSplit> splits, std::span<const Watermarks> marks) const;
  Status CheckNamed(const std::map<TopicPartition, int64_t>& offsets, std::string_view option,
                    std::span<const TopicPartition> partitions) const;

  const KafkaSourceOptions& options_;
  KafkaAdmin& admin_;
};

}  // namespace weir::connectors
