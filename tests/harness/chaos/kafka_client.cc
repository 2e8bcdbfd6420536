#include "tests/harness/chaos/kafka_client.h"

#include <string>
#include <utility>

#include "connectors/kafka/group_consumer.h"

namespace weir::chaos {
namespace {

using connectors::FetchedBlock;
using connectors::KafkaAdmin;
using connectors::KafkaClientContext;
using connectors::KafkaClientFactory;
using connectors::KafkaConnection;
using connectors::KafkaConsumer;
using connectors::KafkaGroupConsumer;
using connectors::KafkaGroupMembership;
using connectors::KafkaMarkerReader;
using connectors::KafkaProducer;
using connectors::KafkaRole;
using connectors::KafkaTransactionalProducer;
using connectors::KafkaTransactionOptions;
using connectors::PartitionStart;
using connectors::TopicMetadata;
using connectors::TopicPartition;
using connectors::Watermarks;

using Offsets = std::vector<std::optional<int64_t>>;
using TopicConfig = std::vector<std::pair<std::string, std::string>>;

class FailingConsumer final : public KafkaConsumer {
 public:
  FailingConsumer(std::unique_ptr<KafkaConsumer> real, CallSites& sites) : real_(std::move(real)), sites_(sites) {}

  Status Assign(std::span<const PartitionStart> partitions) override {
    return Through("assign", [&] { return real_->Assign(partitions); });
  }
  Result<std::unique_ptr<FetchedBlock>> Fetch() override {
    return Through("fetch", [&] { return real_->Fetch(); });
  }
  int64_t Position(uint32_t partition) const override { return real_->Position(partition); }
  int64_t HighWatermark(uint32_t partition) const override { return real_->HighWatermark(partition); }
  Status Pause(uint32_t partition) override {
    return Through("pause", [&] { return real_->Pause(partition); });
  }
  Status Resume(uint32_t partition) override {
    return Through("resume", [&] { return real_->Resume(partition); });
  }
  Status Seek(uint32_t partition, int64_t offset) override {
    return Through("seek", [&] { return real_->Seek(partition, offset); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> Through(const std::string& method, Call call) {
    return sites_.Through("kafka: " + method, StatusCode::kInternal, call);
  }

  const std::unique_ptr<KafkaConsumer> real_;
  CallSites& sites_;
};

class FailingAdmin final : public KafkaAdmin {
 public:
  FailingAdmin(std::unique_ptr<KafkaAdmin> real, CallSites& sites) : real_(std::move(real)), sites_(sites) {}

  Result<std::vector<TopicMetadata>> ListTopics() override {
    return Through("list topics", [&] { return real_->ListTopics(); });
  }
  Result<TopicMetadata> DescribeTopic(const std::string& topic) override {
    return Through("describe topic", [&] { return real_->DescribeTopic(topic); });
  }
  Result<std::vector<Watermarks>> QueryWatermarks(std::span<const TopicPartition> partitions) override {
    return Through("query watermarks", [&] { return real_->QueryWatermarks(partitions); });
  }
  Result<Offsets> OffsetsForTime(std::span<const TopicPartition> partitions, int64_t timestamp_ms) override {
    return Through("offsets for time", [&] { return real_->OffsetsForTime(partitions, timestamp_ms); });
  }
  Result<Offsets> CommittedOffsets(const std::string& group, std::span<const TopicPartition> partitions) override {
    return Through("committed offsets", [&] { return real_->CommittedOffsets(group, partitions); });
  }
  Status CommitOffsets(const std::string& group, std::span<const PartitionStart> offsets) override {
    return Through("commit offsets", [&] { return real_->CommitOffsets(group, offsets); });
  }
  Status CreateTopic(const std::string& topic, int32_t partitions, const TopicConfig& config) override {
    return Through("create topic", [&] { return real_->CreateTopic(topic, partitions, config); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> Through(const std::string& method, Call call) {
    return sites_.Through("kafka: " + method, StatusCode::kUnavailable, call);
  }

  const std::unique_ptr<KafkaAdmin> real_;
  CallSites& sites_;
};

class FailingFactory final : public KafkaClientFactory {
 public:
  FailingFactory(std::unique_ptr<KafkaClientFactory> real, std::shared_ptr<CallSites> sites)
      : real_(std::move(real)), sites_(std::move(sites)) {}

  Status CheckProperty(KafkaRole role, const std::string& name, const std::string& value) override {
    return real_->CheckProperty(role, name, value);
  }
  Result<std::unique_ptr<KafkaConsumer>> NewConsumer(const KafkaConnection& connection,
                                                     const KafkaClientContext& context) override {
    WEIR_ASSIGN_OR_RETURN(auto consumer,
                          Through("new consumer", [&] { return real_->NewConsumer(connection, context); }));
    return std::make_unique<FailingConsumer>(std::move(consumer), *sites_);
  }
  Result<std::unique_ptr<KafkaGroupConsumer>> NewGroupConsumer(const KafkaConnection& connection,
                                                               const KafkaGroupMembership& membership,
                                                               const KafkaClientContext& context) override {
    return real_->NewGroupConsumer(connection, membership, context);
  }
  Result<std::unique_ptr<KafkaProducer>> NewProducer(const KafkaConnection& connection,
                                                     const KafkaClientContext& context) override {
    return real_->NewProducer(connection, context);
  }
  Result<std::unique_ptr<KafkaAdmin>> NewAdmin(const KafkaConnection& connection, Duration timeout) override {
    WEIR_ASSIGN_OR_RETURN(auto admin, Through("new admin", [&] { return real_->NewAdmin(connection, timeout); }));
    return std::make_unique<FailingAdmin>(std::move(admin), *sites_);
  }
  Result<std::unique_ptr<KafkaTransactionalProducer>> NewTransactionalProducer(const KafkaConnection& connection,
                                                                               const KafkaTransactionOptions& options,
                                                                               const Clock& clock) override {
    return real_->NewTransactionalProducer(connection, options, clock);
  }
  Result<std::unique_ptr<KafkaMarkerReader>> NewMarkerReader(const KafkaConnection& connection, Duration timeout,
                                                             const Clock& clock) override {
    return real_->NewMarkerReader(connection, timeout, clock);
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> Through(const std::string& method, Call call) {
    return sites_->Through("kafka: " + method, StatusCode::kInternal, call);
  }

  const std::unique_ptr<KafkaClientFactory> real_;
  const std::shared_ptr<CallSites> sites_;
};

}  // namespace

std::unique_ptr<KafkaClientFactory> FailingKafka(std::unique_ptr<KafkaClientFactory> real,
                                                 std::shared_ptr<CallSites> sites) {
  return std::make_unique<FailingFactory>(std::move(real), std::move(sites));
}

}  // namespace weir::chaos
