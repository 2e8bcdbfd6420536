// Kafka records in an output segment (checkpoint/sealed_file.h). The file is a sequence of frames; integers are varints
// (base/bytes.h):
//
//   'T' length bytes                          the topic of the records that follow
//   'R' flags [timestamp] [key] [value] [headers]
//                                             a record: flags 1: has a key, 2: has a value, 4: has a timestamp, 8: has
//                                             headers; timestamp in ms since 1970, key and value as length and bytes,
//                                             headers as their number, then of each name and value as length and bytes
//   'S'                                       end
//
// A file that ends without 'S', or holds anything else, is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/status.h"
#include "connectors/kafka/client.h"

namespace weir::connectors {

void AppendSegmentTopic(std::string& out, std::string_view topic);
void AppendSegmentRow(std::string& out, const ProduceRow& row);
void AppendSegmentEnd(std::string& out);

// Gives the records of the file `path` to `take`, some at a time and in order; they are valid during the call. Stops at
// its first error, which comes back. Corruption names the file and the byte. Blocks: a committer's thread.
Status ReadSegment(FileSystem& fs, const std::string& path,
                   const std::function<Status(const std::string& topic, std::span<const ProduceRow> rows)>& take);

}  // namespace weir::connectors
