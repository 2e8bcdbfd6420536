#include "operators/schema.h"

#include <utility>

#include "base/bytes.h"

namespace weir::operators {

Schema::Schema(std::vector<std::string> columns) : columns_(std::move(columns)) {
  for (size_t i = 0; i < columns_.size(); ++i) index_.emplace(columns_[i], i);
}

std::optional<size_t> Schema::Find(std::string_view column) const {
  const auto it = index_.find(column);
  if (it == index_.end()) return std::nullopt;
  return it->second;
}

SchemaPtr SchemaCache::Get(const std::vector<std::string_view>& columns) {
  std::string key;
  for (std::string_view column : columns) AppendLengthPrefixed(key, column);
  SchemaPtr& schema = schemas_[key];
  if (schema == nullptr)
    schema = std::make_shared<const Schema>(std::vector<std::string>(columns.begin(), columns.end()));
  return schema;
}

}  // namespace weir::operators
