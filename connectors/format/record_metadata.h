// What a record carries beside its value, as columns: the option "metadata" maps a field (topic, partition, offset,
// timestamp, key, header:<name>; for a changefeed also updated and table) to a column's name. Belongs to one
// deserializer.
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

// What only the format knows; asked for only where `wants` says so. Text lives as long as the batch.
struct MessageMetadata {
  operators::Value key;      // null: the record has none
  operators::Value updated;  // the changefeed's own text
  operators::Value table;
};

class RecordMetadata {
 public:
  enum class Field : uint8_t { kTopic, kPartition, kOffset, kTimestamp, kKey, kUpdated, kTable, kHeader };

  // From the checked option; CheckMetadata has reported fields that the format lacks.
  explicit RecordMetadata(const operators::Options& options);

  // Columns in the order of Fill.
  std::vector<std::string> columns() const;
  bool wants(Field field) const { return (wanted_ >> static_cast<unsigned>(field) & 1) != 0; }
  // Sets the first columns().size() values. Text of the record goes to `arena`.
  void Fill(const RawRecord& record, const MessageMetadata& message, operators::Arena& arena,
            std::vector<operators::Value>& row) const;

 private:
  struct Entry {
    Field field = Field::kTopic;
    std::string column;
    std::string header = {};  // kHeader
  };

  std::vector<Entry> entries_;
  uint32_t wanted_ = 0;  // a bit for each field
};

// Keys and headers are anything: text where they are UTF-8, else bytes.
operators::ValueType TextOrBytes(std::string_view bytes);

operators::OptionSpec MetadataOption();
void CheckMetadata(const operators::Options& options, bool changefeed, operators::Problems& problems);

}  // namespace weir::connectors
