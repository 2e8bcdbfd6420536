// Batches as frames of a segment (segment.h), by the sink's options: one object a writer, on its task's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connectors/postgres/options.h"
#include "operators/batch.h"

namespace weir::connectors {

class PostgresRowFrames {
 public:
  // `dead_letters`: rows go to the dead letters if the server refuses them, so that they say where they come from, and
  // also those may be sealed that every server refuses. Without, the job stops before, and its definition can still be
  // changed for them.
  explicit PostgresRowFrames(PostgresTarget target, PostgresRowColumns columns = {}, bool dead_letters = false)
      : target_(std::move(target)), of_rows_(std::move(columns)), dead_letters_(dead_letters) {}

  // The next rows begin a file, or another piece that is read by itself.
  void Restart();
  // Appends the batch's rows, with what they need in front, and answers how many. An error names row and column, or the
  // kind.
  Result<uint64_t> Append(const operators::Batch& batch, std::string& out);

 private:
  // Target and columns of rows, as a C frame has named them.
  struct Shape {
    operators::SchemaPtr schema;
    std::string table;
    auto operator<=>(const Shape&) const = default;
  };

  void UseSchema(const operators::SchemaPtr& schema);
  // The target of rows that name `table`.
  void UseTarget(const std::string& table);
  // The frames in front of a row of `table` with the columns of schema_.
  void UseTable(const std::string& table, std::string& out);

  PostgresTarget target_;  // of a sink of many tables: of the newest row
  const PostgresRowColumns of_rows_;
  const bool dead_letters_;

  operators::SchemaPtr schema_;       // of the newest row; null: none
  std::optional<size_t> table_cell_;  // of schema_: where the table's name is
  std::vector<size_t> written_;       // of schema_
  std::vector<size_t> unwritten_;     // of schema_, for the dead letters; but for the table's name
  std::map<Shape, size_t> shapes_;    // -> number of its C frame in this piece
  size_t columns_frames_ = 0;         // in this piece
  std::string target_of_;             // how rows name target_
  bool has_target_ = false;           // this piece has a T frame with target_
  std::optional<Shape> shape_;        // what the next row has if nothing is in front of it
  operators::EventTime time_;         // the same
  std::string table_;                 // scratch
};

}  // namespace weir::connectors
