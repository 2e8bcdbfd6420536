// Which member of an object becomes which column. Either the columns are wanted ones, named beforehand - everything
// else is passed over - or they are all that turn up: the shape grows with the members it meets, so that a topic with
// several tables or a changing table keeps one schema and is never cut into small batches; what a row lacks is absent
// in it. The reader asks for members in the order of the record before, so that the answer is one comparison a member.
// Belongs to one deserializer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "operators/schema.h"

namespace weir::connectors {

class RowShape {
 public:
  static constexpr int32_t kPassOver = -1;
  static constexpr int32_t kFull = -2;
  static constexpr size_t kColumnsMax = 2000;

  // `reserved` are columns that the deserializer fills itself (metadata), first in the schema and not to be overwritten
  // by a member of that name. `wanted`: what else there may be; empty: everything.
  RowShape(std::vector<std::string> reserved, std::vector<std::string> wanted);

  // The column of the record's `position`th member. kFull: it would be one column too many; after Reset there is room.
  int32_t ColumnOf(size_t position, std::string_view name) {
    if (position < predicted_.size() && predicted_[position].name == name) [[likely]] {
      return predicted_[position].column;
    }
    return LookUp(position, name);
  }
  // Back to the columns it began with: what turned up once is forgotten.
  void Reset();

  size_t size() const { return columns_.size(); }
  // With all columns met so far.
  const operators::SchemaPtr& schema();

 private:
  struct Prediction {
    std::string name;
    int32_t column = kPassOver;
  };

  int32_t LookUp(size_t position, std::string_view name);

  const size_t reserved_;
  const size_t declared_;  // reserved and wanted
  const bool open_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, int32_t> index_;  // never iterated
  std::vector<Prediction> predicted_;
  std::string key_;              // for look-ups, so that they allocate nothing
  operators::SchemaPtr schema_;  // null: a column has been added since
};

}  // namespace weir::connectors
