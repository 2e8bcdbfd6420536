// The options of format "cockroachdb" beside format, columns and metadata. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "operators/options.h"

namespace weir::connectors {

enum class Envelope : uint8_t { kWrapped, kBare, kRow, kKeyOnly, kEnriched };

struct CockroachdbOptions {
  Envelope envelope = Envelope::kWrapped;
  bool avro = false;
  std::vector<std::string> key_columns;                              // of tables that `tables` does not name
  std::unordered_map<std::string, std::vector<std::string>> tables;  // their key columns; never iterated
  std::string topic_prefix;
  bool tombstones_delete = false;
  bool json_null_object = false;
};

std::vector<operators::OptionSpec> CockroachdbOptionSpecs();
// `used`: the format is cockroachdb; otherwise each option that is given is a problem.
void CheckCockroachdbOptions(const operators::Options& options, bool used, operators::Problems& problems);
CockroachdbOptions ParseCockroachdbOptions(const operators::Options& options);

}  // namespace weir::connectors
