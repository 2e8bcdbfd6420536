#include "operators/script/row_stage.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::operators::script {
namespace {

constexpr size_t kCapacityMin = 8;
// Values of a batch: of wide rows it holds few.
constexpr size_t kCellsMax = 256 * 1024;
// A script that makes up names for each row must not fill the memory with schemas.
constexpr size_t kSchemasAskedMax = 10'000;
// Of new texts that wait to be emitted.
constexpr size_t kTextBytesMax = 4 << 20;

SchemaPtr NoColumns() { return std::make_shared<const Schema>(std::vector<std::string>()); }

}  // namespace

void RowStage::Begin(const Batch& input) {
  input_ = &input;
  text_ = Batch(NoColumns(), 0);
  capacity_ = std::max(input.rows(), kCapacityMin);
}

void RowStage::AddWhole(size_t input_row) {
  rows_.push_back({input_->schema(), values_.size()});
  const Value* from = input_->row(input_row);
  values_.insert(values_.end(), from, from + input_->columns());
  bytes_ += input_->columns() * sizeof(Value);
}

void RowStage::Add(std::vector<Column>& columns) {
  std::ranges::sort(
      columns, [](const Column& a, const Column& b) { return a.rank != b.rank ? a.rank < b.rank : a.name < b.name; });
  rows_.push_back({SchemaOf(columns), values_.size()});
  for (const Column& column : columns) values_.push_back(column.value);
  bytes_ += (columns.size() + 1) * sizeof(Value);
}

SchemaPtr RowStage::SchemaOf(const std::vector<Column>& columns) {
  const auto has_these = [&](const SchemaPtr& schema) {
    return schema != nullptr && std::ranges::equal(schema->columns(), columns, {}, {}, &Column::name);
  };
  if (has_these(last_schema_)) return last_schema_;
  if (has_these(input_->schema())) return last_schema_ = input_->schema();
  if (++schemas_asked_ > kSchemasAskedMax) {
    schemas_ = SchemaCache();
    schemas_asked_ = 0;
  }
  names_.clear();
  for (const Column& column : columns) names_.push_back(column.name);
  return last_schema_ = schemas_.Get(names_);
}

std::string_view RowStage::Keep(std::string_view text) {
  bytes_ += text.size();
  return text_.arena().Copy(text);
}

void RowStage::Drop() {
  rows_.clear();
  values_.clear();
  bytes_ = 0;
}

Status RowStage::MakeRoom(const SchemaPtr& schema, Output& output) {
  if (out_.schema() == schema && !out_.full()) return Status::Ok();
  // Runs are short where tables alternate: the next batch is as large as the run before lets expect.
  if (!out_.empty()) {
    capacity_ = out_.full() ? std::min(out_.capacity() * 2, Batch::kDefaultCapacity) : kCapacityMin;
    WEIR_RETURN_IF_ERROR(output.Emit(std::exchange(out_, Batch())));
  }
  out_ = Batch(schema, std::clamp<size_t>(kCellsMax / std::max<size_t>(schema->size(), 1), 1, capacity_));
  out_.ShareArenas(*input_);
  out_.ShareArenas(text_);
  return Status::Ok();
}

Status RowStage::Commit(size_t input_row, Output& output) {
  for (const Row& row : rows_) {
    WEIR_RETURN_IF_ERROR(MakeRoom(row.schema, output));
    Value* to = out_.AddRow(input_->kind(input_row), input_->time(input_row));
    std::copy_n(values_.data() + row.begin, row.schema->size(), to);
  }
  Drop();
  if (text_.bytes() < kTextBytesMax) return Status::Ok();
  if (!out_.empty()) WEIR_RETURN_IF_ERROR(output.Emit(std::exchange(out_, Batch())));
  text_ = Batch(NoColumns(), 0);
  return Status::Ok();
}

Status RowStage::Finish(Output& output) {
  input_ = nullptr;
  if (out_.empty()) return Status::Ok();
  return output.Emit(std::exchange(out_, Batch()));
}

}  // namespace weir::operators::script
