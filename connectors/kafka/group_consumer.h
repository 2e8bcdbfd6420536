// The part of the KafkaClient port (client.h) that is a member of a Kafka consumer group: the group's coordinator gives
// partitions and takes them away, and the member commits its own offsets. One real implementation,
// rdkafka_group_consumer.cc. There is no simulated twin: what matters here (generations, fencing, who gets what in
// which order) is the broker's and librdkafka's behaviour, and a twin would only repeat what we believe of them; the
// cases run on a real broker (tests/integration/kafka_group_test.cc).
//
// A thread of the client's own polls, one message at a time, for as long as the object lives: a task that stands still
// behind a slow sink is not put out of its group, and a rebalance never waits for it. Methods: the task's thread; none
// waits. The destructor leaves the group (a static member stays in it for its session timeout, as Kafka means it) and
// waits for that a second or two at most.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connectors/kafka/client.h"

namespace weir::connectors {

struct KafkaGroupMembership {
  std::string group;
  std::vector<std::string> topics;  // these, or
  std::string topic_pattern;        // all whose whole name matches
  std::string strategy;             // cooperative-sticky, range or roundrobin
  std::string instance_id;          // of a static member; empty: dynamic
  bool start_latest = false;        // where a partition without a committed offset begins
  Duration request_timeout = std::chrono::seconds(10);
};

// One thing that happened to a member. Between its kAssigned and its kRevoked a partition has an index of its own,
// which is never used again: an offset can't be committed for an assignment that has ended.
struct GroupEvent {
  enum class Kind : uint8_t {
    kAssigned,  // `partition` is the index of `name`
    kRecords,   // `block`, its records by index
    kPosition,  // the reading of `partition` has come to `offset`, past control records, behind all records so far
    kRevoked,   // no record of `partition` follows
  };
  Kind kind = Kind::kRecords;
  uint32_t partition = 0;
  TopicPartition name = {};
  int64_t offset = -1;
  std::unique_ptr<FetchedBlock> block = nullptr;
};

struct GroupOffset {
  uint32_t partition = 0;  // index
  int64_t offset = 0;      // the next one to read
};

struct GroupCounts {
  uint64_t rebalances = 0;
  uint64_t commits = 0;
  uint64_t commit_errors = 0;
};

class KafkaGroupConsumer {
 public:
  virtual ~KafkaGroupConsumer() = default;
  // The next event; nothing: none now, the wakeup will call. Records of a partition that has been revoked in between
  // are left out. An error ends the reading: a topic of the list is missing, a committed offset is outside the log,
  // access is denied, another process has this member's instance id (kFenced). A cluster that can't be reached is none,
  // and a lost session is none: the member joins again.
  virtual Result<std::optional<GroupEvent>> Poll() = 0;
  // What may be committed from now on; of earlier calls what is not repeated is kept. Sent soon, by the member itself;
  // offsets of assignments that have ended are dropped, and those of a partition that is being revoked are committed
  // before it is given up. A commit that fails is counted and logged, and not repeated by itself.
  virtual void Commit(std::span<const GroupOffset> offsets) = 0;
  // As last heard from the broker, without asking it; -1 unknown.
  virtual int64_t HighWatermark(const TopicPartition& partition) const = 0;
  virtual GroupCounts Counts() const = 0;
};

}  // namespace weir::connectors
