// The KafkaClient port: everything Weir wants of a Kafka cluster, in blocks of records and not in messages, so that no
// object per message exists above it. One real implementation (rdkafka_client.h), one simulated (tests/simulation/
// sim_kafka.h); tests/integration/kafka_conformance runs the same cases on both.
//
// KafkaConsumer and KafkaProducer belong to one task's thread, never wait, and wake that task when there is something
// to do. KafkaAdmin, KafkaTransactionalProducer and KafkaMarkerReader wait for the cluster, each call for a bounded
// time: they are used from a Worker only. Partitions are assigned by the caller; a member of a group is
// group_consumer.h.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"

namespace weir::connectors {

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
  std::string ToString() const { return topic + "-" + std::to_string(partition); }
};

// Where the cluster is and how to talk to it. `properties` are librdkafka's and override Weir's defaults; those that
// would break Weir are refused (properties.h). Their values never reach a message.
struct KafkaConnection {
  std::string bootstrap_servers;
  std::vector<std::pair<std::string, std::string>> properties;
  std::string client_id = "weir";
};

// A null key or value is a view without data; an empty one has data and no size.
struct KafkaRecord {
  uint32_t partition = 0;  // index in the order of KafkaConsumer::Assign
  int64_t offset = 0;
  int64_t timestamp_ms = -1;
  std::string_view key;
  std::string_view value;
};

// Of a key, value or header as it came: nothing for null.
inline std::optional<std::string_view> Nullable(std::string_view bytes) {
  return bytes.data() == nullptr ? std::nullopt : std::optional(bytes);
}

struct KafkaHeader {
  std::string_view name;
  std::string_view value;
};

// Records as they came, those of a partition in their order. Destroyed on the task's thread before its consumer.
class FetchedBlock {
 public:
  virtual ~FetchedBlock() = default;
  std::span<const KafkaRecord> records() const { return records_; }
  virtual std::vector<KafkaHeader> Headers(size_t record) const = 0;

 protected:
  std::vector<KafkaRecord> records_;
};

struct PartitionStart {
  TopicPartition partition;
  int64_t offset = 0;  // concrete: the next one to read
};

struct Watermarks {
  int64_t low = 0;   // offset of the first record kept
  int64_t high = 0;  // offset that the next record gets
};

class KafkaConsumer {
 public:
  virtual ~KafkaConsumer() = default;
  // Adds partitions; the first ever has index 0. Their records come from `offset` on.
  virtual Status Assign(std::span<const PartitionStart> partitions) = 0;
  // At most 1,024 records; null: nothing now, the wakeup will call. An error names the partition and ends the reading:
  // its topic is gone, its offset is outside the log, access is denied, the client has failed for good. That the
  // cluster can't be reached is not an error: the client goes on trying.
  virtual Result<std::unique_ptr<FetchedBlock>> Fetch() = 0;
  // The next offset of a partition behind everything that Fetch handed out, past control records once its end is
  // reached.
  virtual int64_t Position(uint32_t partition) const = 0;
  // As last heard from the broker, without asking it; -1 unknown.
  virtual int64_t HighWatermark(uint32_t partition) const = 0;
  // A paused partition delivers nothing and loses nothing.
  virtual Status Pause(uint32_t partition) = 0;
  virtual Status Resume(uint32_t partition) = 0;
  // Records fetched before are not delivered afterwards. Blocks that are still held stay valid.
  virtual Status Seek(uint32_t partition, int64_t offset) = 0;
};

struct ProduceRow {
  std::string_view key = {};    // null: none
  std::string_view value = {};  // null: a tombstone
  int64_t timestamp_ms = 0;     // 0: the time of producing
  int32_t partition = -1;       // -1: by the key (murmur2 of the bytes, as Kafka's own clients do)
  std::span<const KafkaHeader> headers = {};
};

struct ProduceProgress {
  uint64_t accepted = 0;      // rows that Produce took
  uint64_t acknowledged = 0;  // of these, stored by the broker for good
  Status error;               // of the first row that failed; nothing is accepted afterwards
};

class KafkaProducer {
 public:
  virtual ~KafkaProducer() = default;
  // Takes rows from the front and copies their bytes; the number taken is smaller than asked when the queue is full
  // (the wakeup calls once there is room). A row too large for the client or an unknown topic is an error.
  virtual Result<size_t> Produce(const std::string& topic, std::span<const ProduceRow> rows) = 0;
  // Serves acknowledgements; cheap.
  virtual const ProduceProgress& Progress() = 0;
  virtual bool HasRoom() const = 0;
  // Nothing lingers: what is queued is sent now. The wakeup calls when all of it is acknowledged.
  virtual void Flush() = 0;
};

struct KafkaTransactionOptions {
  std::string transactional_id;
  Duration transaction_timeout;  // after which the broker ends an open transaction; at least 1 s
  Duration request_timeout;      // how long one call waits for the cluster
};

// One transactional producer, which never lingers. Every call may wait, at most about the request timeout; one thread
// at a time. After an error the object is only good for Abort or destruction. Destroyed while a transaction is open it
// tries for a second or two to end it; what then is open is left to the next Init of the id, or to the transaction
// timeout.
//
// Codes that the calls have in common, beside those told below:
//   kFenced              a newer producer has the id, or the broker has ended the transaction because its time was over
//                        (the broker does not tell which)
//   kUnavailable         the cluster didn't answer within the request timeout
//   kFailedPrecondition  the cluster refuses this user, or the call is out of order (rows without Begin)
//   kInternal            the client has given the transaction up
class KafkaTransactionalProducer {
 public:
  virtual ~KafkaTransactionalProducer() = default;
  // Once, before all else. Fences every older producer with this transactional id and ends its open transaction;
  // returns when none of its transactions is under way any more. InvalidArgument: the transaction timeout is above what
  // the broker allows.
  virtual Status Init() = 0;
  virtual Status Begin() = 0;
  // Copies; waits while the client's queue is full. A row too large: InvalidArgument naming topic, size and limit; an
  // unknown topic: NotFound. A limit that only the broker knows is told by Commit.
  virtual Status Produce(const std::string& topic, std::span<const ProduceRow> rows) = 0;
  // Sends what is queued and commits; a transaction without rows does nothing. An error that Produce has told is told
  // again, and nothing of the transaction is ever visible. So it is after InvalidArgument and NotFound, and as a rule
  // after kFenced and kInternal; but a commit is repeated while its answer is awaited, so that the first try may have
  // gone through before the second was refused. After kUnavailable it may even go through later, until the next Init of
  // the id: what is sure is what the marker says after that.
  virtual Status Commit() = 0;
  // Ends the open transaction, so that nothing of it is ever visible; without one it does nothing. Where a Commit was
  // left without an answer it changes nothing and tells that error again.
  virtual Status Abort() = 0;
};

enum class KafkaReadUpTo : uint8_t {
  kLastStable,  // where a transaction that is open now begins: nobody is waited for
  kEnd,         // the end at the time of the call: waits for transactions of others that are open below it
};

// What an exactly-once sink asks of the cluster about its marker. Every call waits, at most about as long as the
// timeout given to KafkaClientFactory::NewMarkerReader. One thread at a time. Errors as KafkaAdmin's.
class KafkaMarkerReader {
 public:
  virtual ~KafkaMarkerReader() = default;
  // The same for all brokers of a cluster and for its whole life.
  virtual Result<std::string> ClusterId() = 0;
  // What holds for the topic, the broker's defaults counted in. Nothing: there is no setting by that name. NotFound: no
  // topic.
  virtual Result<std::optional<std::string>> TopicConfig(const std::string& topic, const std::string& name) = 0;
  // The value of the newest committed record under `key` in a partition, which is read from its first record as
  // far as told. Nothing: none, or a tombstone. NotFound: no such topic or partition.
  virtual Result<std::optional<std::string>> NewestValue(const TopicPartition& partition, const std::string& key,
                                                         KafkaReadUpTo up_to) = 0;
};

struct TopicMetadata {
  std::string name;
  int32_t partitions = 0;
  std::string topic_id;  // empty if client or broker don't tell
};

// Every call waits for the cluster, at most as long as the timeout given to KafkaClientFactory::NewAdmin, and answers
// Unavailable with the address and the client's last error if that was not enough. One thread at a time.
class KafkaAdmin {
 public:
  virtual ~KafkaAdmin() = default;
  // All topics that this user sees, sorted.
  virtual Result<std::vector<TopicMetadata>> ListTopics() = 0;
  // NotFound, naming the topic.
  virtual Result<TopicMetadata> DescribeTopic(const std::string& topic) = 0;
  virtual Result<std::vector<Watermarks>> QueryWatermarks(std::span<const TopicPartition> partitions) = 0;
  // The first offset whose record is not older; nothing: all are older.
  virtual Result<std::vector<std::optional<int64_t>>> OffsetsForTime(std::span<const TopicPartition> partitions,
                                                                     int64_t timestamp_ms) = 0;
  // The group's committed offset (the next one to read); nothing: none.
  virtual Result<std::vector<std::optional<int64_t>>> CommittedOffsets(const std::string& group,
                                                                       std::span<const TopicPartition> partitions) = 0;
  virtual Status CommitOffsets(const std::string& group, std::span<const PartitionStart> offsets) = 0;
  // AlreadyExists if there is one by that name. `config` as Kafka names it ("cleanup.policy").
  virtual Status CreateTopic(const std::string& topic, int32_t partitions,
                             const std::vector<std::pair<std::string, std::string>>& config) = 0;
};

struct KafkaClientContext {
  const Clock* clock = nullptr;
  WorkerFactory* workers = nullptr;
  Wakeup* wakeup = nullptr;
};

enum class KafkaRole : uint8_t { kConsumer, kProducer };

class KafkaGroupConsumer;
struct KafkaGroupMembership;

class KafkaClientFactory {
 public:
  virtual ~KafkaClientFactory() = default;
  // InvalidArgument for the first property that the client does not know or whose value it does not take.
  virtual Status CheckProperty(KafkaRole role, const std::string& name, const std::string& value) = 0;
  virtual Result<std::unique_ptr<KafkaConsumer>> NewConsumer(const KafkaConnection& connection,
                                                             const KafkaClientContext& context) = 0;
  virtual Result<std::unique_ptr<KafkaGroupConsumer>> NewGroupConsumer(const KafkaConnection& connection,
                                                                       const KafkaGroupMembership& membership,
                                                                       const KafkaClientContext& context) = 0;
  virtual Result<std::unique_ptr<KafkaProducer>> NewProducer(const KafkaConnection& connection,
                                                             const KafkaClientContext& context) = 0;
  virtual Result<std::unique_ptr<KafkaAdmin>> NewAdmin(const KafkaConnection& connection, Duration timeout) = 0;
  // Talks to nobody yet. `clock` outlives it, here and below.
  virtual Result<std::unique_ptr<KafkaTransactionalProducer>> NewTransactionalProducer(
      const KafkaConnection& connection, const KafkaTransactionOptions& options, const Clock& clock) = 0;
  virtual Result<std::unique_ptr<KafkaMarkerReader>> NewMarkerReader(const KafkaConnection& connection,
                                                                     Duration timeout, const Clock& clock) = 0;
};

}  // namespace weir::connectors
