// A key's rows of one time share two slots in the queue: "before" for a -U, "after" for what holds from then on. A row
// that meets another in its slot is merged with it, so that one which comes again changes nothing, and rows of several
// column families become one. Columns that both have: "after" keeps the newer, "before" the older.
//
//   slot's row   comes     becomes
//   +I or +U     +I, +U    one row; the newer kind
//   -D           -D        one row
//   +I or +U     -D        the -D alone, with the image of the -U, if one waits
//   -D           +I, +U    the -D as a -U in "before", and the new row
//   (any)        -U        in "before"; dropped beside a -D, which has taken back the old row already
//
// Best effort (LagSwitch): what waits leaves in pieces, in order; once nothing waits, what comes passes through. Each
// row that leaves so is noted in LeftEarly. One that says more of the same key and time passes through in either mode:
// that time is out already.
#include "operators/sequence.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "operators/dead_letter.h"
#include "operators/lag_switch.h"
#include "operators/left_early.h"
#include "operators/paced_operator.h"
#include "operators/row_codec.h"
#include "operators/sequence_progress.h"
#include "operators/time_queue.h"
#include "state/key_groups.h"

namespace weir::operators {
namespace {

constexpr std::string_view kBefore("\0", 1);
constexpr std::string_view kAfter("\1", 1);
constexpr size_t kEmitRowsMax = Batch::kDefaultCapacity;
constexpr size_t kEmitBytesMax = 1u << 20;
constexpr size_t kPieceBytesMax = 4u << 20;

std::string_view WaitingKey(const TimeQueue::Due& due) {
  return due.key_and_suffix.substr(0, due.key_and_suffix.size() - kAfter.size());
}

// Rows on their way out, in order; a batch for each run of rows with one schema.
class Releaser {
 public:
  explicit Releaser(const StoredSchemas& schemas) : schemas_(schemas) {}

  Status Add(const TimeQueue::Due& due, Output& output) {
    const std::optional<EncodedRow> row = ReadRow(due.value);
    if (!row.has_value()) return Status::Corruption("a waiting row can't be read");
    const bool other = !rows_.empty() && rows_.back().schema != row->schema;
    if (other || rows_.size() == kEmitRowsMax || bytes_.size() >= kEmitBytesMax) WEIR_RETURN_IF_ERROR(Emit(output));
    const std::string_view key = WaitingKey(due);
    rows_.push_back({row->kind, row->schema, due.time, key.size(), row->values.size()});
    bytes_ += key;
    bytes_ += row->values;
    return Status::Ok();
  }

  Status Emit(Output& output) {
    if (rows_.empty()) return Status::Ok();
    WEIR_ASSIGN_OR_RETURN(const SchemaPtr schema, schemas_.Find(rows_.front().schema));
    Batch batch(schema, rows_.size());
    std::string_view bytes = batch.arena().Copy(bytes_);
    for (const Row& row : rows_) {
      Value* values = batch.AddRow(row.kind, row.time);
      const std::string_view key = bytes.substr(0, row.key_size);
      bytes.remove_prefix(row.key_size);
      if (!DecodeValues(bytes.substr(0, row.values_size), {values, schema->size()})) {
        return Status::Corruption("the values of a waiting row can't be read");
      }
      bytes.remove_prefix(row.values_size);
      batch.SetKey(batch.rows() - 1, {state::HashKey(key), key});
    }
    rows_.clear();
    bytes_.clear();
    return output.Emit(std::move(batch));
  }

 private:
  struct Row {
    RowKind kind;
    uint64_t schema;
    EventTime time;
    size_t key_size;  // in bytes_, one row after the other: key, values
    size_t values_size;
  };
  const StoredSchemas& schemas_;
  std::vector<Row> rows_;
  std::string bytes_;
};

class SequenceOperator final : public PacedOperator {
 public:
  SequenceOperator(Duration best_effort_window, BadRecordPolicy policy)
      : policy_(policy), releaser_(schemas_), mode_(best_effort_window) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    WEIR_RETURN_IF_ERROR(queue_.Open(context, "rows", kRowCodec));
    WEIR_RETURN_IF_ERROR(schemas_.Open(context.uid, *context.state));
    WEIR_RETURN_IF_ERROR(progress_.Open(context));
    WEIR_RETURN_IF_ERROR(left_.Open(context));
    EventTime watermark = EventTime::Max();
    for (const SequenceProgress::Part& part : progress_.parts()) {
      queue_.NothingUpTo(part.range, part.time);
      left_.NothingUpTo(part.range, part.time);
      watermark = std::min(watermark, part.time);
    }
    mode_.Open(context, watermark);
    if (progress_.waiting().has_value()) {
      waiting_ = *progress_.waiting();
    } else {
      WEIR_ASSIGN_OR_RETURN(waiting_, queue_.Count());
    }
    if (context.metrics == nullptr) return Status::Ok();
    NamedMetrics& named = context.metrics->named;
    duplicate_ = &named.Counter(context.uid, "rows_duplicate");
    stale_ = &named.Counter(context.uid, "rows_stale");
    early_ = &named.Counter(context.uid, "rows_early");
    shown_waiting_ = &named.Gauge(context.uid, "rows_waiting");
    ShowWaiting();
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    if (!batch.keyed()) return Status::FailedPrecondition("a sequence needs rows with a key");
    rows_.clear();
    for (uint32_t i = 0; i < batch.rows(); ++i) {
      const EventTime time = batch.time(i);
      if (time == EventTime::Min()) {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, "the row has no event time"));
      } else if (time <= progress_.TimeOf(batch.key(i).hash)) {
        CountIn(stale_);
      } else {
        rows_.push_back(i);
      }
    }
    const bool passes = mode_.best_effort() && waiting_ == 0;
    leaves_.assign(batch.rows(), 0);
    if (passes || left_.any()) WEIR_RETURN_IF_ERROR(PassEarly(batch, passes));
    WEIR_RETURN_IF_ERROR(AddRows(batch));
    ShowWaiting();
    batch.Filter(leaves_);
    WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    return bad_->EmitTo(output);
  }

  Status ProcessWatermark(Watermark watermark, Output& output) override {
    WEIR_RETURN_IF_ERROR(queue_.TakeUpTo(watermark.time, [&](const TimeQueue::Due& due) {
      --waiting_;
      return releaser_.Add(due, output);
    }));
    WEIR_RETURN_IF_ERROR(left_.Forget(watermark.time));
    // The end of the input is no time of the source: a later start may read on.
    if (watermark.time != EventTime::Max()) {
      progress_.Raise(watermark.time);
      mode_.Raise(watermark.time);
    }
    ShowWaiting();
    return releaser_.Emit(output);
  }

  // What waits leaves in best effort, a piece at a time.
  Result<bool> Continue(Output& output) override {
    mode_.Look();
    if (!mode_.best_effort() || waiting_ == 0) return false;
    Arena arena;
    size_t bytes = 0;
    EventTime last_time;
    std::string last_key;
    const auto leave = [&](const TimeQueue::Due& due) -> Status {
      bytes += due.key_and_suffix.size() + due.value.size();
      last_time = due.time;
      last_key = WaitingKey(due);
      --waiting_;
      WEIR_RETURN_IF_ERROR(NoteWaiting(due, arena));
      return releaser_.Add(due, output);
    };
    // Never between the two slots of a key and time.
    const auto enough = [&](const TimeQueue::Due& due) {
      return bytes >= kPieceBytesMax && (due.time != last_time || WaitingKey(due) != last_key);
    };
    WEIR_RETURN_IF_ERROR(queue_.TakeUpTo(EventTime::Max(), leave, enough));
    ShowWaiting();
    WEIR_RETURN_IF_ERROR(releaser_.Emit(output));
    return true;
  }
  std::optional<MonotonicTime> NextDeadline() const override { return mode_.NextLook(); }

  Status SnapshotState(CheckpointId) override {
    WEIR_RETURN_IF_ERROR(left_.Store());
    return progress_.Store(waiting_);
  }

 private:
  // A row taken out of its slot, with a copy of its bytes.
  struct Waiting {
    RowKind kind = RowKind::kInsert;
    SchemaPtr schema;
    std::vector<Value> values;  // text points into `bytes`
    std::vector<char> bytes;    // stay where they are when this moves
  };

  static std::string_view SlotOf(RowKind kind) { return kind == RowKind::kUpdateBefore ? kBefore : kAfter; }
  static void CountIn(std::atomic<uint64_t>* counter) {
    if (counter != nullptr) counter->fetch_add(1, std::memory_order_relaxed);
  }
  void ShowWaiting() {
    if (shown_waiting_ != nullptr) shown_waiting_->store(static_cast<double>(waiting_), std::memory_order_relaxed);
  }

  // Of `rows_`, those stay that are to wait; those that leave at once are marked in `leaves_`.
  Status PassEarly(Batch& batch, bool passes) {
    places_.clear();
    for (const uint32_t i : rows_) places_.push_back(left_.PlaceOf(batch.time(i), batch.key(i), batch.arena()));
    WEIR_RETURN_IF_ERROR(left_.Prefetch(places_));
    size_t stay = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint32_t row = rows_[i];
      const RowKind kind = batch.kind(row);
      WEIR_ASSIGN_OR_RETURN(const LeftEarly::Found found,
                            left_.Look(places_[i], kind, *batch.schema(), {batch.row(row), batch.columns()}));
      if (found == LeftEarly::Found::kSame) {
        CountIn(duplicate_);
      } else if (passes || found == LeftEarly::Found::kOther) {
        WEIR_RETURN_IF_ERROR(left_.Note(places_[i], batch.time(row), kind, /*in_parts=*/false));
        leaves_[row] = 1;
        CountIn(early_);
      } else {
        rows_[stay++] = row;
      }
    }
    rows_.resize(stay);
    return Status::Ok();
  }

  Status NoteWaiting(const TimeQueue::Due& due, Arena& arena) {
    const std::optional<EncodedRow> row = ReadRow(due.value);
    if (!row.has_value()) return Status::Corruption("a waiting row can't be read");
    WEIR_ASSIGN_OR_RETURN(const SchemaPtr schema, schemas_.Find(row->schema));
    values_.resize(schema->size());
    if (!DecodeValues(row->values, values_)) return Status::Corruption("the values of a waiting row can't be read");
    const std::string_view key = WaitingKey(due);
    const state::EntryKey place = left_.PlaceOf(due.time, {state::HashKey(key), key}, arena);
    WEIR_ASSIGN_OR_RETURN([[maybe_unused]] const LeftEarly::Found found,
                          left_.Look(place, row->kind, *schema, values_));
    CountIn(early_);
    return left_.Note(place, due.time, row->kind, /*in_parts=*/true);
  }

  // `rows_` are to wait.
  Status AddRows(Batch& batch) {
    if (rows_.empty()) return Status::Ok();
    WEIR_ASSIGN_OR_RETURN(const uint64_t schema, schemas_.NumberOf(batch.schema()));
    places_.clear();
    for (const uint32_t i : rows_) {
      places_.push_back(queue_.PlaceOf(batch.time(i), batch.key(i), SlotOf(batch.kind(i)), batch.arena()));
    }
    WEIR_RETURN_IF_ERROR(queue_.Prefetch(places_));
    for (size_t i = 0; i < rows_.size(); ++i) WEIR_RETURN_IF_ERROR(AddRow(batch, rows_[i], places_[i], schema));
    return Status::Ok();
  }

  Status AddRow(Batch& batch, uint32_t row, const state::EntryKey& place, uint64_t schema) {
    const RowKind kind = batch.kind(row);
    scratch_.clear();
    AppendRow(scratch_, kind, schema, {batch.row(row), batch.columns()});
    WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> waiting, queue_.Get(place));
    const bool same = waiting.has_value() && *waiting == scratch_;
    if (same) CountIn(duplicate_);
    if (same) return Status::Ok();
    if (!waiting.has_value() && kind != RowKind::kUpdateBefore) {
      ++waiting_;
      return queue_.Put(place, scratch_);
    }
    Waiting next{kind, batch.schema(), {batch.row(row), batch.row(row) + batch.columns()}, {}};
    const auto other = [&](std::string_view slot) {
      return queue_.PlaceOf(batch.time(row), batch.key(row), slot, batch.arena());
    };
    return kind == RowKind::kUpdateBefore ? AddBefore(place, other(kAfter), std::move(next))
                                          : AddAfter(place, other(kBefore), std::move(next));
  }

  // A -U at `place`; `after` is the other slot.
  Status AddBefore(const state::EntryKey& place, const state::EntryKey& after, Waiting next) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Waiting> end, Load(after));
    if (end.has_value() && end->kind == RowKind::kDelete) {
      CountIn(duplicate_);
      return Status::Ok();
    }
    WEIR_ASSIGN_OR_RETURN(const std::optional<Waiting> first, Load(place));
    return first.has_value() ? Store(place, Merged(next, *first, /*count_all_known=*/true)) : StoreNew(place, next);
  }

  // A row in the other slot meets what waits there; `before` is the slot of a -U.
  Status AddAfter(const state::EntryKey& place, const state::EntryKey& before, Waiting next) {
    WEIR_ASSIGN_OR_RETURN(std::optional<Waiting> former, Load(place));
    WEIR_CHECK(former.has_value());
    const bool ends = next.kind == RowKind::kDelete;
    if (ends == (former->kind == RowKind::kDelete)) return Store(place, Merged(*former, next, true));
    CountIn(duplicate_);
    WEIR_ASSIGN_OR_RETURN(const std::optional<Waiting> first, Load(before));
    if (!ends) {
      former->kind = RowKind::kUpdateBefore;
      WEIR_RETURN_IF_ERROR(first.has_value() ? Status::Ok() : StoreNew(before, *former));
      return Store(place, next);
    }
    if (!first.has_value()) return Store(place, next);
    --waiting_;
    WEIR_RETURN_IF_ERROR(queue_.Remove(before));
    Waiting merged = Merged(next, *first, false);
    merged.kind = RowKind::kDelete;
    return Store(place, merged);
  }

  Result<std::optional<Waiting>> Load(const state::EntryKey& place) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> found, queue_.Get(place));
    if (!found.has_value()) return std::nullopt;
    Waiting waiting;
    waiting.bytes.assign(found->begin(), found->end());
    const std::optional<EncodedRow> row = ReadRow({waiting.bytes.data(), waiting.bytes.size()});
    if (!row.has_value()) return Error(Status::Corruption("a waiting row can't be read"));
    waiting.kind = row->kind;
    WEIR_ASSIGN_OR_RETURN(waiting.schema, schemas_.Find(row->schema));
    waiting.values.resize(waiting.schema->size());
    if (!DecodeValues(row->values, waiting.values)) {
      return Error(Status::Corruption("the values of a waiting row can't be read"));
    }
    return std::optional(std::move(waiting));
  }

  Status StoreNew(const state::EntryKey& place, const Waiting& row) {
    ++waiting_;
    return Store(place, row);
  }
  Status Store(const state::EntryKey& place, const Waiting& row) {
    WEIR_ASSIGN_OR_RETURN(const uint64_t schema, schemas_.NumberOf(row.schema));
    scratch_.clear();
    AppendRow(scratch_, row.kind, schema, row.values);
    return queue_.Put(place, scratch_);
  }

  // `over` where it has a column, `under` elsewhere; of the kind of `over`. Text stays where it is.
  Waiting Merged(const Waiting& under, const Waiting& over, bool count_all_known) {
    Waiting merged{over.kind, under.schema, under.values, {}};
    std::vector<std::string_view> names(under.schema->columns().begin(), under.schema->columns().end());
    bool all_known = true;
    for (size_t c = 0; c < over.values.size(); ++c) {
      if (over.values[c].absent()) continue;
      const std::string& name = over.schema->columns()[c];
      if (const std::optional<size_t> at = under.schema->Find(name); at.has_value()) {
        all_known = all_known && !under.values[*at].absent();
        merged.values[*at] = over.values[c];
      } else {
        all_known = false;
        names.push_back(name);
        merged.values.push_back(over.values[c]);
      }
    }
    if (names.size() > under.values.size()) merged.schema = schemas_.Get(names);
    if (count_all_known && all_known) CountIn(duplicate_);
    return merged;
  }

  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;
  TimeQueue queue_;
  StoredSchemas schemas_;
  SequenceProgress progress_;
  Releaser releaser_;
  LagSwitch mode_;
  LeftEarly left_;
  uint64_t waiting_ = 0;
  std::atomic<uint64_t>* duplicate_ = nullptr;
  std::atomic<uint64_t>* stale_ = nullptr;
  std::atomic<uint64_t>* early_ = nullptr;
  std::atomic<double>* shown_waiting_ = nullptr;
  std::vector<uint32_t> rows_;   // of the batch: neither stale nor bad, in the end those that are to wait
  std::vector<uint8_t> leaves_;  // of the batch: at once
  std::vector<state::EntryKey> places_;
  std::vector<Value> values_;
  std::string scratch_;
};

}  // namespace

OperatorType SequenceType() {
  OperatorType type;
  type.name = "sequence";
  type.doc = "Rows in order of event time: each waits until the watermark has passed it.";
  type.needs_key = true;
  type.has_state = true;
  OptionSpec window{"best-effort-window", OptionType::kDuration, false, "0s",
                    "How far the watermark may be behind the clock before rows leave as they come, until it is within "
                    "a quarter of that; 0: never."};
  window.min = 0;
  type.options = {std::move(window), OnErrorSpec()};
  type.create = [](const Options& options) -> Result<std::unique_ptr<Operator>> {
    return std::make_unique<SequenceOperator>(options.Time("best-effort-window"), OnError(options));
  };
  return type;
}

}  // namespace weir::operators
