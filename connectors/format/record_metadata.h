// What a record carries beside its value, as columns: the option "metadata" maps a field (topic, partition, offset,
// timestamp, key; for a changefeed also updated) to a column's name. Belongs to one deserializer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "connectors/format/format.h"
#include "operators/batch.h"
#include "operators/options.h"
#include "operators/value.h"

namespace weir::connectors {

class RecordMetadata {
 public:
  enum class Field : uint8_t { kTopic, kPartition, kOffset, kTimestamp, kKey, kUpdated };

  // From the checked option; CheckMetadata has reported fields that the format lacks.
  explicit RecordMetadata(const operators::Options& options);

  // Columns in the order of Fill.
  std::vector<std::string> columns() const;
  // Sets the first columns().size() values. `updated` is the changefeed's own text. Text goes to `arena`.
  void Fill(const RawRecord& record, operators::Value updated, operators::ValueType key_type, operators::Arena& arena,
            std::vector<operators::Value>& row) const;

 private:
  std::vector<std::pair<Field, std::string>> fields_;
};

operators::OptionSpec MetadataOption();
void CheckMetadata(const operators::Options& options, bool changefeed, operators::Problems& problems);

}  // namespace weir::connectors
