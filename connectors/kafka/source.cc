#include "connectors/kafka/source.h"

#include <utility>

#include "connectors/format/bad_record.h"
#include "connectors/format/format.h"
#include "connectors/kafka/enumerator.h"
#include "connectors/kafka/group_enumerator.h"
#include "connectors/kafka/group_options.h"
#include "connectors/kafka/group_reader.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/properties.h"
#include "connectors/kafka/reader.h"

namespace weir::connectors {
namespace {

class KafkaSource final : public operators::Source {
 public:
  KafkaSource(operators::Options raw, KafkaClientFactory& factory)
      : raw_(std::move(raw)), options_(ParseKafkaSourceOptions(raw_)), factory_(factory) {}

  Result<std::unique_ptr<operators::SplitEnumerator>> CreateEnumerator() override {
    if (options_.membership.has_value()) return std::make_unique<KafkaGroupEnumerator>();
    std::unique_ptr<Deserializer> deserializer;
    if (options_.changefeed.min_timestamp) {
      WEIR_ASSIGN_OR_RETURN(deserializer, NewDeserializer(raw_));
    }
    return std::make_unique<KafkaEnumerator>(options_, factory_, std::move(deserializer));
  }
  Result<std::unique_ptr<operators::SourceReader>> CreateReader() override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Deserializer> deserializer, NewDeserializer(raw_));
    if (options_.membership.has_value()) {
      return std::make_unique<KafkaGroupReader>(options_, std::move(deserializer), operators::OnError(raw_), factory_);
    }
    return std::make_unique<KafkaReader>(options_, std::move(deserializer), operators::OnError(raw_), factory_);
  }
  bool bounded() const override { return options_.bounded(); }
  Status CheckRestored(const std::string& enumerator) const override {
    return CheckRestoredAssignment(options_.membership.has_value(), enumerator);
  }

 private:
  const operators::Options raw_;
  const KafkaSourceOptions options_;
  KafkaClientFactory& factory_;
};

}  // namespace

operators::SourceType KafkaSourceType(KafkaClientFactory& factory) {
  operators::SourceType type;
  type.name = "kafka";
  type.doc = "Reads topics of a Kafka cluster; offsets are part of every checkpoint.";
  type.options = KafkaSourceOptionSpecs();
  type.divided_outside = IsGroupAssigned;
  type.check = [&factory](const operators::Options& options, operators::Problems& problems) {
    CheckKafkaSourceOptions(options, problems);
    CheckProperties(KafkaRole::kConsumer, options, factory, problems);
  };
  type.create = [&factory](const operators::Options& options) -> Result<std::unique_ptr<operators::Source>> {
    return std::make_unique<KafkaSource>(options, factory);
  };
  return type;
}

}  // namespace weir::connectors
