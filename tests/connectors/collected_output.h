// A SourceOutput that keeps what a reader or format emits, as texts, and the options that a definition would give.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/format/hlc.h"
#include "connectors/format/json_writer.h"
#include "operators/options_check.h"
#include "operators/source.h"

namespace weir::connectors {

class CollectedOutput final : public operators::SourceOutput {
 public:
  Status Emit(operators::Batch batch) override {
    ++batches;
    for (size_t i = 0; i < batch.rows(); ++i) {
      std::string line(operators::RowKindName(batch.kind(i)));
      line += ' ';
      batch.set_kind(i, operators::RowKind::kInsert);
      WEIR_RETURN_IF_ERROR(writer_.Append(batch, i, line));
      rows.push_back(std::move(line));
      times.push_back(batch.time(i));
    }
    kept.push_back(std::move(batch));
    return Status::Ok();
  }
  Status EmitSide(std::string_view tag, operators::Batch batch) override {
    for (size_t i = 0; i < batch.rows(); ++i) {
      std::string line(tag);
      line += ' ';
      WEIR_RETURN_IF_ERROR(writer_.Append(batch, i, line));
      side.push_back(std::move(line));
    }
    return Status::Ok();
  }
  bool HasSide(std::string_view) const override { return true; }
  void EmitWatermark(const std::string& split_id, operators::Watermark watermark) override {
    rows_before_watermark[split_id] = rows.size();
    watermarks[split_id] = watermark.time;
  }

  std::vector<std::string> rows;  // "+I {...}"
  std::vector<operators::EventTime> times;
  std::vector<std::string> side;
  std::map<std::string, operators::EventTime> watermarks;
  std::map<std::string, size_t> rows_before_watermark;
  std::vector<operators::Batch> kept;
  size_t batches = 0;

 private:
  JsonWriter writer_{""};
};

inline operators::RawValue RawText(std::string text) {
  return {.kind = operators::RawKind::kString, .text = std::move(text)};
}
inline operators::RawValue RawNumber(std::string text) {
  return {.kind = operators::RawKind::kNumber, .text = std::move(text)};
}
inline operators::RawValue RawBool(bool value) {
  return {.kind = operators::RawKind::kBool, .boolean = value, .text = {}};
}
inline operators::RawValue RawList(const std::vector<std::string>& texts) {
  operators::RawValue list{.kind = operators::RawKind::kList, .text = {}};
  for (const std::string& text : texts) list.list.push_back(RawText(text));
  return list;
}
using RawMembers = std::vector<std::pair<std::string, operators::RawValue>>;
inline operators::RawValue RawObject(RawMembers members) {
  return {.kind = operators::RawKind::kObject, .text = {}, .members = std::move(members)};
}

// Fails the test through `problems` if the definition is not right.
inline operators::Options OptionsOf(const std::vector<operators::OptionSpec>& specs, RawMembers members,
                                    operators::Problems& problems) {
  return operators::CheckOptions(RawObject(std::move(members)), specs, problems);
}

}  // namespace weir::connectors
