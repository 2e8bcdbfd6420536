#include "connectors/format/row_shape.h"

#include <memory>
#include <utility>

namespace weir::connectors {
namespace {

// Longer records are read all the same, by look-ups.
constexpr size_t kPredictionsMax = 1024;

}  // namespace

RowShape::RowShape(std::vector<std::string> reserved, std::vector<std::string> wanted)
    : reserved_(reserved.size()),
      declared_(reserved.size() + wanted.size()),
      open_(wanted.empty()),
      columns_(std::move(reserved)) {
  for (std::string& name : wanted) columns_.push_back(std::move(name));
  Reset();
}

void RowShape::Reset() {
  columns_.resize(declared_);
  index_.clear();
  predicted_.clear();
  schema_ = nullptr;
  for (size_t i = 0; i < declared_; ++i) index_.emplace(columns_[i], static_cast<int32_t>(i));
}

int32_t RowShape::LookUp(size_t position, std::string_view name) {
  key_.assign(name);
  int32_t column = kPassOver;
  if (const auto found = index_.find(key_); found != index_.end()) {
    column = static_cast<size_t>(found->second) < reserved_ ? kPassOver : found->second;
  } else if (open_) {
    if (columns_.size() >= kColumnsMax) return kFull;
    column = static_cast<int32_t>(columns_.size());
    columns_.push_back(key_);
    index_.emplace(key_, column);
    schema_ = nullptr;
  }
  if (position < kPredictionsMax) {
    if (position >= predicted_.size()) predicted_.resize(position + 1);
    predicted_[position].name.assign(name);
    predicted_[position].column = column;
  }
  return column;
}

const operators::SchemaPtr& RowShape::schema() {
  if (schema_ == nullptr) schema_ = std::make_shared<const operators::Schema>(columns_);
  return schema_;
}

}  // namespace weir::connectors
