// The source "file": one record a line, from a file or from all files of a folder that match a pattern; read to the
// end, or followed as they grow, get other names, and as new ones appear. A file is a split. Files are only ever
// appended to: one that was cut off or written anew fails the job. Made by the registry.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"
#include "connectors/format/bad_record.h"
#include "operators/options.h"
#include "operators/registry.h"

namespace weir::connectors {

struct FileSourceOptions {
  std::string path;  // absolute; the last part may hold * and ?
  bool follow = false;
  Duration discovery_interval = std::chrono::seconds(1);  // also how often a followed file's end is looked at
  uint64_t line_bytes_max = 16 << 20;
  BadRecordPolicy bad_records = BadRecordPolicy::kFail;
  operators::Options format;  // of NewDeserializer
};

// True if `name` is of the form `pattern`: * is any text, ? any one byte.
bool MatchesPattern(std::string_view name, std::string_view pattern);

// `fs` outlives everything that the type creates. Relative paths are below `working_directory`, refused if that is
// empty.
operators::SourceType FileSourceType(FileSystem& fs, std::string working_directory);

}  // namespace weir::connectors
