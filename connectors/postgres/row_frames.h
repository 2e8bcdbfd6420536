// Batches as frames of a segment (segment.h), by the sink's options: one object a writer, on its task's thread.
#pragma once

#include <cstdint>
#include <string>

#include "connectors/postgres/options.h"
#include "operators/batch.h"

namespace weir::connectors {

class PostgresRowFrames {
 public:
  explicit PostgresRowFrames(const PostgresTarget& target) : target_(target) {}

  // The next rows begin a file, or another piece that is read by itself.
  void Restart() { schema_ = nullptr; }
  // Appends the batch's rows, with what they need in front, and answers how many. An error names column or kind.
  Result<uint64_t> Append(const operators::Batch& batch, std::string& out);

 private:
  const PostgresTarget& target_;
  operators::SchemaPtr schema_;  // of the newest column frame; null: there is none
};

}  // namespace weir::connectors
