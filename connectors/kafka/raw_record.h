// A fetched record as formats take it. Pure; any thread.
#pragma once

#include <vector>

#include "connectors/format/format.h"
#include "connectors/kafka/client.h"

namespace weir::connectors {

// Views of what is given.
inline RawRecord RawRecordOf(const TopicPartition& partition, const KafkaRecord& record,
                             const std::vector<RecordHeader>& headers) {
  return {.topic = partition.topic,
          .partition = partition.partition,
          .offset = record.offset,
          .timestamp_ms = record.timestamp_ms,
          .key = Nullable(record.key),
          .value = Nullable(record.value),
          .headers = headers};
}

}  // namespace weir::connectors
