#include "connectors/generator/source.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::EventTime;
using operators::Options;
using operators::OptionType;
using operators::PollStatus;
using operators::SourceSplit;
using operators::Watermark;

constexpr std::string_view kIdPrefix = "orders-";
constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr Duration kPause = std::chrono::milliseconds(5);  // a batch of that time at once, not each row by itself

std::string PositionOf(uint64_t row) { return nlohmann::json({{"row", row}}).dump(); }

Result<uint64_t> RowOf(const SourceSplit& split) {
  const nlohmann::json json = nlohmann::json::parse(split.position, nullptr, false);
  if (json.is_object()) {
    if (const auto row = json.find("row"); row != json.end() && row->is_number_unsigned()) return row->get<uint64_t>();
  }
  return Error(Status::Corruption("position of split " + split.id + R"( is not {"row": <number>}: )" + split.position));
}

Result<uint32_t> NumberOf(const SourceSplit& split) {
  const std::string_view id = split.id;
  uint32_t number = 0;
  if (id.starts_with(kIdPrefix)) {
    const char* const end = id.data() + id.size();
    const auto [stopped, error] = std::from_chars(id.data() + kIdPrefix.size(), end, number);
    if (error == std::errc() && stopped == end) return number;
  }
  return Error(Status::FailedPrecondition("split " + split.id + " is none of this generator"));
}

// Knows all splits from the start: assigns them once.
class GeneratorEnumerator final : public operators::SplitEnumerator {
 public:
  explicit GeneratorEnumerator(uint32_t splits) : splits_(splits) {}

  Status Start(operators::EnumeratorContext context, std::optional<std::string>,
               std::vector<SourceSplit> held) override {
    std::vector<std::vector<SourceSplit>> of_subtask(context.parallelism);
    std::vector<std::string> positions(splits_, PositionOf(0));
    for (SourceSplit& split : held) {
      WEIR_ASSIGN_OR_RETURN(const uint32_t number, NumberOf(split));
      if (number >= splits_) return Status::FailedPrecondition("split " + split.id + " is none of this generator");
      positions[number] = std::move(split.position);
    }
    for (uint32_t i = 0; i < splits_; ++i) {
      std::string id(kIdPrefix);
      id += std::to_string(i);
      of_subtask[i % context.parallelism].push_back({std::move(id), std::move(positions[i])});
    }
    for (uint32_t subtask = 0; subtask < context.parallelism; ++subtask) {
      context.assign_splits(subtask, std::move(of_subtask[subtask]));
      context.no_more_splits(subtask);
    }
    return Status::Ok();
  }
  Status Step() override { return Status::Ok(); }
  bool ready() const override { return true; }
  Result<std::string> SnapshotState(CheckpointId) override { return std::to_string(splits_); }

 private:
  const uint32_t splits_;
};

class GeneratorSource final : public operators::Source {
 public:
  explicit GeneratorSource(GeneratorOptions options) : options_(options) {}
  Result<std::unique_ptr<operators::SplitEnumerator>> CreateEnumerator() override {
    return std::make_unique<GeneratorEnumerator>(options_.orders.splits);
  }
  Result<std::unique_ptr<operators::SourceReader>> CreateReader() override {
    return std::make_unique<GeneratorReader>(options_);
  }
  bool bounded() const override { return options_.rows != 0; }
  Status CheckRestored(const std::string& enumerator) const override {
    const std::string splits = std::to_string(options_.orders.splits);
    if (enumerator == splits) return Status::Ok();
    return Status::FailedPrecondition("the checkpoint has " + enumerator + " splits, the definition says " + splits +
                                      ", and the number can't change: set option splits to " + enumerator +
                                      ", or begin anew with --restore none");
  }

 private:
  const GeneratorOptions options_;
};

}  // namespace

uint64_t RowsOfSplit(const GeneratorOptions& options, uint32_t split) {
  if (options.rows == 0) return UINT64_MAX;
  const uint64_t splits = options.orders.splits;
  return options.rows / splits + (split < options.rows % splits ? 1 : 0);
}

GeneratorReader::GeneratorReader(GeneratorOptions options) : options_(options) {}

Status GeneratorReader::Open(operators::ReaderContext& context) {
  clock_ = context.clock;
  return Status::Ok();
}

Status GeneratorReader::AddSplits(std::vector<SourceSplit> splits) {
  for (SourceSplit& split : splits) {
    WEIR_ASSIGN_OR_RETURN(const uint32_t number, NumberOf(split));
    WEIR_ASSIGN_OR_RETURN(const uint64_t row, RowOf(split));
    splits_.push_back({.id = std::move(split.id),
                       .number = number,
                       .row = row,
                       .end = RowsOfSplit(options_, number),
                       .begin = clock_->Now(),
                       .begin_row = row});
  }
  return Status::Ok();
}

Result<PollStatus> GeneratorReader::PollNext(operators::SourceOutput& output) {
  deadline_.reset();
  const MonotonicTime now = options_.rows_per_second == 0 ? MonotonicTime() : clock_->Now();
  bool unfinished = false;
  for (size_t tried = 0; tried < splits_.size(); ++tried) {
    Split& split = splits_[next_ % splits_.size()];
    next_ = (next_ + 1) % splits_.size();
    if (split.row >= split.end) {
      if (!std::exchange(split.end_told, true)) output.EmitWatermark(split.id, Watermark{EventTime::Max()});
      continue;
    }
    unfinished = true;
    if (const uint64_t due = Due(split, now); due > 0) {
      WEIR_RETURN_IF_ERROR(Emit(split, std::min<uint64_t>(due, Batch::kDefaultCapacity), output));
      return PollStatus::kMore;
    }
    const MonotonicTime time = std::max(DueTime(split), now + kPause);
    deadline_ = deadline_.has_value() ? std::min(*deadline_, time) : time;
  }
  return unfinished || !complete_ ? PollStatus::kIdle : PollStatus::kFinished;
}

std::vector<SourceSplit> GeneratorReader::SnapshotState(CheckpointId) {
  std::vector<SourceSplit> splits;
  for (const Split& split : splits_) splits.push_back({split.id, PositionOf(split.row)});
  return splits;
}

uint64_t GeneratorReader::Due(const Split& split, MonotonicTime now) const {
  const uint64_t left = split.end - split.row;
  if (options_.rows_per_second == 0) return left;
  // In doubles: a rate is no promise to the row.
  const double seconds = static_cast<double>((now - split.begin).count()) / static_cast<double>(kNsPerSecond);
  const double rate = static_cast<double>(options_.rows_per_second) / options_.orders.splits;
  const auto due = split.begin_row + static_cast<uint64_t>(seconds * rate);
  return due <= split.row ? 0 : std::min(left, due - split.row);
}

MonotonicTime GeneratorReader::DueTime(const Split& split) const {
  const double rate = static_cast<double>(options_.rows_per_second) / options_.orders.splits;
  const double seconds = static_cast<double>(split.row + 1 - split.begin_row) / rate;
  return split.begin + Duration(static_cast<int64_t>(seconds * static_cast<double>(kNsPerSecond)) + 1);
}

Status GeneratorReader::Emit(Split& split, uint64_t count, operators::SourceOutput& output) {
  Batch batch(OrdersSchema(), count);
  EventTime time;
  for (uint64_t i = 0; i < count; ++i) {
    const Order order = OrderAt(options_.orders, split.number, split.row + i);
    time = order.updated;
    FillOrder(order, batch.arena(), batch.AddRow(operators::RowKind::kInsert, time));
  }
  split.row += count;
  WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
  output.EmitWatermark(split.id, Watermark{time});
  return Status::Ok();
}

operators::SourceType GeneratorSourceType() {
  return {
      .name = "generator",
      .doc = "Rows made up by a seeded preset, the same ones each time.",
      .options = {{.name = "preset",
                   .type = OptionType::kEnum,
                   .default_text = "orders",
                   .doc = "What the rows are: orders as a changefeed would send them.",
                   .choices = {"orders"}},
                  {.name = "rows-per-second",
                   .type = OptionType::kInteger,
                   .default_text = "0",
                   .doc = "Of all splits together; 0: as fast as possible.",
                   .min = 0,
                   .max = 1'000'000'000},
                  {.name = "rows",
                   .type = OptionType::kInteger,
                   .default_text = "0",
                   .doc = "How many of all splits together; 0: without end.",
                   .min = 0},
                  {.name = "seed", .type = OptionType::kInteger, .default_text = "1", .doc = "Other seed, other rows."},
                  {.name = "splits",
                   .type = OptionType::kInteger,
                   .default_text = "8",
                   .doc = "Parts that are made on their own; bounds the parallelism, and can't change on restore.",
                   .min = 1,
                   .max = 4096},
                  {.name = "customers",
                   .type = OptionType::kInteger,
                   .default_text = "100000",
                   .doc = "How many different customer_id there are.",
                   .min = 1}},
      .create = [](const Options& options) -> Result<std::unique_ptr<operators::Source>> {
        GeneratorOptions generator;
        generator.rows = static_cast<uint64_t>(options.Integer("rows"));
        generator.rows_per_second = static_cast<uint64_t>(options.Integer("rows-per-second"));
        generator.orders.seed = static_cast<uint64_t>(options.Integer("seed"));
        generator.orders.splits = static_cast<uint32_t>(options.Integer("splits"));
        generator.orders.customers = static_cast<uint64_t>(options.Integer("customers"));
        return std::make_unique<GeneratorSource>(generator);
      }};
}

}  // namespace weir::connectors
