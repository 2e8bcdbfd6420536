// The names of a row's columns, shared by all rows of a batch and immutable. Types are the values' own. Rows without a
// declared schema share one schema per list of member names (SchemaCache), so that a topic with several tables or a
// changing table costs nothing extra. A Schema is safe on any thread; a SchemaCache belongs to one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::operators {

class Schema {
 public:
  explicit Schema(std::vector<std::string> columns);

  const std::vector<std::string>& columns() const { return columns_; }
  size_t size() const { return columns_.size(); }
  // Nothing if no column has that name. Hash lookup: once a batch, not once a row.
  std::optional<size_t> Find(std::string_view column) const;
  friend bool operator==(const Schema& a, const Schema& b) { return a.columns_ == b.columns_; }

 private:
  std::vector<std::string> columns_;
  std::unordered_map<std::string_view, size_t> index_;  // into columns_; never iterated
};

using SchemaPtr = std::shared_ptr<const Schema>;

class SchemaCache {
 public:
  // The schema with exactly these names in this order; made at the first call.
  SchemaPtr Get(const std::vector<std::string_view>& columns);

 private:
  std::unordered_map<std::string, SchemaPtr> schemas_;  // by length-prefixed names; never iterated
};

}  // namespace weir::operators
