// What a source does with a record that its format refuses: fail the job, skip and count it, or put it aside with its
// original bytes. Used by every source that reads records; the task's thread.
#pragma once

#include <string>

#include "base/status.h"
#include "connectors/format/format.h"
#include "operators/dead_letter.h"
#include "operators/metrics.h"
#include "operators/source.h"

namespace weir::connectors {

using operators::BadRecordPolicy;

// `problem` is what Deserialize returned. kFail: the error that ends the task, naming topic, partition and offset.
// kSkip: counts. kDeadLetter: counts, and emits one row to the dead-letter output (operators/dead_letter.h) with topic,
// partition, offset, key, value, error and uid.
Status HandleBadRecord(BadRecordPolicy policy, const RawRecord& record, const Status& problem, const std::string& uid,
                       operators::SourceOutput& output, operators::SubtaskMetrics& metrics);

}  // namespace weir::connectors
