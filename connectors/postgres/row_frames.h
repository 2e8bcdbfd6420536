// Batches as frames of a segment (segment.h), by the sink's options: one object a writer, on its task's thread.
#pragma once

#include <cstdint>
#include <string>

#include "connectors/postgres/options.h"
#include "operators/batch.h"

namespace weir::connectors {

class PostgresRowFrames {
 public:
  // `any_text`: rows go to the dead letters if the server refuses them, so that also those may be sealed that every
  // server refuses. Without, the job stops before, and its definition can still be changed for them.
  explicit PostgresRowFrames(const PostgresTarget& target, bool any_text = false)
      : target_(target), any_text_(any_text) {}

  // The next rows begin a file, or another piece that is read by itself.
  void Restart() { schema_ = nullptr; }
  // Appends the batch's rows, with what they need in front, and answers how many. An error names row and column, or the
  // kind.
  Result<uint64_t> Append(const operators::Batch& batch, std::string& out);

 private:
  const PostgresTarget& target_;
  const bool any_text_;
  operators::SchemaPtr schema_;  // of the newest column frame; null: there is none
};

}  // namespace weir::connectors
