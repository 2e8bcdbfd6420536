// A key's state says what it has had last: kinds of row, each with its time. A kind is a set of columns together with
// what the row does (takes an old image back, upserts, deletes), so that a -U and its +U, and rows of several column
// families, stand side by side at one time. A key is forgotten by a queue in order of time: it waits there at a time at
// which it was last newest, and if it has had a newer row by the time that one is out of retention, it waits on.
#include "operators/deduplicate.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "operators/dead_letter.h"
#include "operators/time_queue.h"
#include "state/key_groups.h"

namespace weir::operators {
namespace {

constexpr size_t kSeenSize = 20;
constexpr uint64_t kActionMask = 3;

enum Action : uint64_t { kTakesBack, kUpserts, kDeletes };

Action ActionOf(RowKind kind) {
  switch (kind) {
    case RowKind::kUpdateBefore: return kTakesBack;
    case RowKind::kDelete: return kDeletes;
    case RowKind::kInsert:
    case RowKind::kUpdateAfter: break;
  }
  return kUpserts;
}

// The newest row of one kind. 20 bytes: kind, nanoseconds, logical part, each big-endian.
struct Seen {
  uint64_t kind = 0;  // hash of the columns' names, the action in its lowest bits
  EventTime time;
};

bool ReadSeen(std::string_view bytes, std::vector<Seen>& out) {
  out.clear();
  for (; bytes.size() >= kSeenSize; bytes.remove_prefix(kSeenSize)) {
    out.push_back({ReadBigEndian64(bytes),
                   {static_cast<int64_t>(ReadBigEndian64(bytes.substr(8))),
                    static_cast<int32_t>(ReadBigEndian32(bytes.substr(16)))}});
  }
  return bytes.empty() && !out.empty();
}

void AppendSeen(std::string& out, const Seen& seen) {
  AppendBigEndian64(out, seen.kind);
  AppendBigEndian64(out, static_cast<uint64_t>(seen.time.wall_ns));
  AppendBigEndian32(out, static_cast<uint32_t>(seen.time.logical));
}

EventTime NewestOf(const std::vector<Seen>& seen) {
  EventTime newest;
  for (const Seen& each : seen) newest = std::max(newest, each.time);
  return newest;
}

class DeduplicateOperator final : public Operator {
 public:
  DeduplicateOperator(Duration retention, bool columns_apart, BadRecordPolicy policy)
      : retention_ns_(retention.count()), columns_apart_(columns_apart), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    if (context.state == nullptr) return Status::FailedPrecondition("\"" + context.uid + "\" has no state");
    bad_.emplace(context.uid, policy_, context.metrics);
    state_ = context.state;
    WEIR_ASSIGN_OR_RETURN(
        newest_, state_->Register({.uid = context.uid, .name = "newest", .kind = "value", .codec = "seen/v1"}));
    WEIR_RETURN_IF_ERROR(to_forget_.Open(context, "to-forget", "nothing"));
    if (context.metrics != nullptr) stale_ = &context.metrics->named.Counter(context.uid, "rows_stale");
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    if (!batch.keyed()) return Status::FailedPrecondition("deduplicate needs rows with a key");
    entries_.clear();
    for (size_t i = 0; i < batch.rows(); ++i) entries_.push_back({batch.key(i).hash, batch.key(i).bytes, {}});
    WEIR_RETURN_IF_ERROR(state_->Prefetch(newest_, entries_));
    const uint64_t all_columns = ColumnsOf(batch, std::nullopt);
    keep_.assign(batch.rows(), 0);
    EventTime newest = upto_;
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (batch.time(i) == EventTime::Min()) {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, "the row has no event time"));
        continue;
      }
      const Value* values = batch.row(i);
      const bool whole = std::none_of(values, values + batch.columns(), [](const Value& v) { return v.absent(); });
      const uint64_t columns = whole ? all_columns : ColumnsOf(batch, i);
      const Seen row{(columns & ~kActionMask) | ActionOf(batch.kind(i)), batch.time(i)};
      WEIR_ASSIGN_OR_RETURN(const bool passes, Pass(row, entries_[i], batch.arena()));
      keep_[i] = passes ? 1 : 0;
      if (!passes && stale_ != nullptr) stale_->fetch_add(1, std::memory_order_relaxed);
      newest = std::max(newest, row.time);
    }
    WEIR_RETURN_IF_ERROR(Forget(newest));
    batch.Filter(keep_);
    WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    return bad_->EmitTo(output);
  }

 private:
  // Of the columns that the row has; without a row: of all.
  uint64_t ColumnsOf(const Batch& batch, std::optional<size_t> row) {
    scratch_.clear();
    for (size_t c = 0; c < batch.columns(); ++c) {
      if (row.has_value() && batch.at(*row, c).absent()) continue;
      AppendLengthPrefixed(scratch_, batch.schema()->columns()[c]);
    }
    return Hash64(scratch_);
  }

  // Whether `row` is newer than what its key has had; if so, notes it.
  Result<bool> Pass(const Seen& row, const state::EntryKey& key, Arena& arena) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> found, state_->Get(newest_, key));
    seen_.clear();
    if (found.has_value() && !ReadSeen(*found, seen_)) {
      return Error(Status::Corruption("what a key has had can't be read"));
    }
    if (!IsNew(row)) return false;
    const Action action = static_cast<Action>(row.kind & kActionMask);
    std::erase_if(seen_, [&](const Seen& each) {
      const bool apart = columns_apart_ && action != kDeletes && each.kind != row.kind;
      return each.time < row.time && !apart;
    });
    seen_.push_back(row);
    scratch_.clear();
    for (const Seen& each : seen_) AppendSeen(scratch_, each);
    WEIR_RETURN_IF_ERROR(state_->Put(newest_, key, scratch_));
    if (found.has_value() || retention_ns_ == 0) return true;
    WEIR_RETURN_IF_ERROR(to_forget_.Put(to_forget_.PlaceOf(row.time, {key.hash, key.key}, {}, arena), {}));
    return true;
  }

  // Against `seen_`.
  bool IsNew(const Seen& row) const {
    const bool deletes = (row.kind & kActionMask) == kDeletes;
    return std::none_of(seen_.begin(), seen_.end(), [&](const Seen& each) {
      const bool apart = columns_apart_ && !deletes && (each.kind & kActionMask) != kDeletes;
      return each.kind == row.kind ? each.time >= row.time : !apart && each.time > row.time;
    });
  }

  // What is older than `newest` less the retention.
  Status Forget(EventTime newest) {
    if (retention_ns_ == 0 || newest <= upto_) return Status::Ok();
    upto_ = newest;
    if (newest.wall_ns < std::numeric_limits<int64_t>::min() + retention_ns_) return Status::Ok();
    const EventTime before{newest.wall_ns - retention_ns_, newest.logical};
    return to_forget_.TakeUpTo(before.Previous(), [&](const TimeQueue::Due& due) -> Status {
      const RowKey key{state::HashKey(due.key_and_suffix), due.key_and_suffix};
      const state::EntryKey entry{key.hash, key.bytes, {}};
      WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> found, state_->Get(newest_, entry));
      if (!found.has_value()) return Status::Ok();
      if (!ReadSeen(*found, seen_)) return Status::Corruption("what a key has had can't be read");
      const EventTime time = NewestOf(seen_);
      if (time < before) return state_->Delete(newest_, entry);
      Arena arena(256);
      return to_forget_.Put(to_forget_.PlaceOf(time, key, {}, arena), {});
    });
  }

  const int64_t retention_ns_;
  const bool columns_apart_;
  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;
  state::SubtaskState* state_ = nullptr;
  state::StateId newest_;
  TimeQueue to_forget_;  // each key that has state, once
  EventTime upto_;       // the newest time seen
  std::atomic<uint64_t>* stale_ = nullptr;
  std::vector<state::EntryKey> entries_;
  std::vector<Seen> seen_;  // of one key
  std::vector<uint8_t> keep_;
  std::string scratch_;
};

}  // namespace

OperatorType DeduplicateType() {
  OperatorType type;
  type.name = "deduplicate";
  type.doc = "Drops rows that are not newer, by event time, than what their key has had.";
  type.needs_key = true;
  type.has_state = true;
  OptionSpec retention{"retention", OptionType::kDuration, false, "24h",
                       "How far a key's newest row may be behind the newest of all before the key is forgotten, in "
                       "event time; 0: never."};
  retention.min = 0;
  type.options = {std::move(retention),
                  {"columns-apart", OptionType::kBool, false, "false",
                   "Whether rows with other columns are other parts of the key, each with a newest time of its own "
                   "(column families)."},
                  OnErrorSpec()};
  type.create = [](const Options& options) -> Result<std::unique_ptr<Operator>> {
    return std::make_unique<DeduplicateOperator>(options.Time("retention"), options.Bool("columns-apart"),
                                                 OnError(options));
  };
  return type;
}

}  // namespace weir::operators
