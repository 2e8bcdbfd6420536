#include "connectors/kafka/register_kafka.h"

#include "connectors/kafka/sink.h"
#include "connectors/kafka/source.h"

namespace weir::connectors {

void RegisterKafka(operators::Registry& registry, KafkaClientFactory& factory) {
  registry.Add(KafkaSourceType(factory));
  registry.Add(KafkaSinkType(factory));
}

}  // namespace weir::connectors
