// Sees a reader's watermarks on their way out, because a split's position holds its newest. Passes all else on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "operators/source.h"

namespace weir::connectors {

class WatermarkTap final : public operators::SourceOutput {
 public:
  // `newest_of` answers where the newest watermark of a split is kept; null for a split that is not known.
  using NewestOf = std::function<operators::EventTime*(const std::string& split_id)>;
  WatermarkTap(operators::SourceOutput& output, NewestOf newest_of)
      : output_(output), newest_of_(std::move(newest_of)) {}

  Status Emit(operators::Batch batch) override { return output_.Emit(std::move(batch)); }
  Status EmitSide(std::string_view tag, operators::Batch batch) override {
    return output_.EmitSide(tag, std::move(batch));
  }
  bool HasSide(std::string_view tag) const override { return output_.HasSide(tag); }
  void EmitWatermark(const std::string& split_id, operators::Watermark watermark) override {
    operators::EventTime* const newest = newest_of_(split_id);
    // A message that was delivered again takes nothing back.
    if (newest == nullptr || watermark.time <= *newest) return;
    *newest = watermark.time;
    output_.EmitWatermark(split_id, watermark);
  }

 private:
  operators::SourceOutput& output_;
  const NewestOf newest_of_;
};

}  // namespace weir::connectors
