#include "connectors/kafka/rdkafka_client.h"

#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {
namespace {

class RdKafkaClientFactory final : public KafkaClientFactory {
 public:
  Status CheckProperty(KafkaRole role, const std::string& name, const std::string& value) override {
    RdKafkaConfig config(role);
    config.Set(name, value);
    return config.status();
  }
  Result<std::unique_ptr<KafkaConsumer>> NewConsumer(const KafkaConnection& connection,
                                                     const KafkaClientContext& context) override {
    return NewRdKafkaConsumer(connection, context);
  }
  Result<std::unique_ptr<KafkaGroupConsumer>> NewGroupConsumer(const KafkaConnection& connection,
                                                               const KafkaGroupMembership& membership,
                                                               const KafkaClientContext& context) override {
    return NewRdKafkaGroupConsumer(connection, membership, context);
  }
  Result<std::unique_ptr<KafkaProducer>> NewProducer(const KafkaConnection& connection,
                                                     const KafkaClientContext& context) override {
    return NewRdKafkaProducer(connection, context);
  }
  Result<std::unique_ptr<KafkaAdmin>> NewAdmin(const KafkaConnection& connection, Duration timeout) override {
    return NewRdKafkaAdmin(connection, timeout);
  }
  Result<std::unique_ptr<KafkaTransactionalProducer>> NewTransactionalProducer(const KafkaConnection& connection,
                                                                               const KafkaTransactionOptions& options,
                                                                               const Clock& clock) override {
    return NewRdKafkaTransactionalProducer(connection, options, clock);
  }
  Result<std::unique_ptr<KafkaMarkerReader>> NewMarkerReader(const KafkaConnection& connection, Duration timeout,
                                                             const Clock& clock) override {
    return NewRdKafkaMarkerReader(connection, timeout, clock);
  }
};

}  // namespace

std::unique_ptr<KafkaClientFactory> NewRdKafkaClientFactory() { return std::make_unique<RdKafkaClientFactory>(); }

}  // namespace weir::connectors
