// What the rdkafka_*.cc files share: configuration and ownership of librdkafka's C handles. Included by no one else.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/group_consumer.h"

namespace weir::connectors {

struct RdKafkaDelete {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
  void operator()(rd_kafka_error_t* error) const { rd_kafka_error_destroy(error); }
  void operator()(rd_kafka_headers_t* headers) const { rd_kafka_headers_destroy(headers); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
template <class T>
using RdKafkaPtr = std::unique_ptr<T, RdKafkaDelete>;

// Setting after setting onto a configuration; the first one that is refused is kept.
class RdKafkaConfig {
 public:
  explicit RdKafkaConfig(KafkaRole role);
  // Weir's defaults, then the connection's properties over them.
  void Apply(const KafkaConnection& connection);
  void Set(const std::string& name, const std::string& value);
  // Quietly nothing where the library is too old to know it; true if it was taken.
  bool SetIfKnown(const std::string& name, const std::string& value);
  std::string Get(const std::string& name) const;
  rd_kafka_conf_t* raw() { return conf_.get(); }
  const Status& status() const { return status_; }
  // Makes the client. `opaque` reaches its callbacks.
  Result<rd_kafka_t*> NewClient(rd_kafka_type_t type, void* opaque);

 private:
  KafkaRole role_;
  RdKafkaPtr<rd_kafka_conf_t> conf_;
  Status status_;
  std::string token_config_;  // secret
};

// Tells what the client last complained about, for a message: filled by the error callback, read on the same thread.
struct RdKafkaComplaint {
  std::string text;
};
void RecordRdKafkaError(rd_kafka_t* client, int error, const char* reason, void* complaint);

// The cluster didn't answer in time, or can't be reached.
bool IsUnanswered(rd_kafka_resp_err_t error);

// What an error of a call means. What can't be reached is Unavailable and tells the connection's own complaint; what
// the broker refuses is final. `what` begins the message: where, and which question.
Status RdKafkaFailure(std::string what, rd_kafka_resp_err_t error, Duration timeout, const RdKafkaComplaint& complaint);

RdKafkaPtr<rd_kafka_topic_partition_list_t> NewPartitionList(std::span<const TopicPartition> partitions);

// "1.5 s".
std::string SecondsText(Duration duration);

Result<std::unique_ptr<KafkaConsumer>> NewRdKafkaConsumer(const KafkaConnection& connection,
                                                          const KafkaClientContext& context);
Result<std::unique_ptr<KafkaGroupConsumer>> NewRdKafkaGroupConsumer(const KafkaConnection& connection,
                                                                    const KafkaGroupMembership& membership,
                                                                    const KafkaClientContext& context);
Result<std::unique_ptr<KafkaProducer>> NewRdKafkaProducer(const KafkaConnection& connection,
                                                          const KafkaClientContext& context);
Result<std::unique_ptr<KafkaAdmin>> NewRdKafkaAdmin(const KafkaConnection& connection, Duration timeout);
Result<std::unique_ptr<KafkaTransactionalProducer>> NewRdKafkaTransactionalProducer(
    const KafkaConnection& connection, const KafkaTransactionOptions& options, const Clock& clock);
Result<std::unique_ptr<KafkaMarkerReader>> NewRdKafkaMarkerReader(const KafkaConnection& connection, Duration timeout,
                                                                  const Clock& clock);

}  // namespace weir::connectors
