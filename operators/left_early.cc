// A stub is a byte that says whether a deletion is among what has left, and a set of prints, 8 bytes each. Whoever
// looks for a row finds it by the print of the whole row, or by those of all its columns. A row that passes through
// leaves the first alone; one that waited leaves them all, since it may have been merged from rows of several column
// families. What a row does (upserts, deletes, takes an old image back) is part of every print.
#include "operators/left_early.h"

#include <algorithm>

#include "base/bytes.h"
#include "operators/key.h"

namespace weir::operators {
namespace {

constexpr std::string_view kLeftEarlyName = "left-early";
constexpr size_t kNewestSize = 12;
constexpr size_t kPrintSize = 8;

bool IsStub(std::string_view bytes) { return bytes.size() > kPrintSize && bytes.size() % kPrintSize == 1; }

char ActionTag(RowKind kind) {
  switch (kind) {
    case RowKind::kUpdateBefore: return 'b';
    case RowKind::kDelete: return 'd';
    case RowKind::kInsert:
    case RowKind::kUpdateAfter: break;
  }
  return 'u';
}

}  // namespace

Status LeftEarly::Open(const OperatorContext& context) {
  uid_ = context.uid;
  WEIR_RETURN_IF_ERROR(stubs_.Open(context, "left", "prints/v1"));
  state_ = context.state;
  WEIR_ASSIGN_OR_RETURN(const auto entries, state_->OperatorEntries(uid_));
  for (const auto& entry : entries) {
    if (entry.name != kLeftEarlyName) continue;
    if (entry.value.size() != kNewestSize) return Status::Corruption("the time of what has left early can't be read");
    newest_ = std::max(newest_, {static_cast<int64_t>(ReadBigEndian64(entry.value)),
                                 static_cast<int32_t>(ReadBigEndian32(std::string_view(entry.value).substr(8)))});
  }
  return Status::Ok();
}

Status LeftEarly::Store() {
  if (!any()) return state_->DeleteOperatorEntry(uid_, kLeftEarlyName);
  std::string bytes;
  AppendBigEndian64(bytes, static_cast<uint64_t>(newest_.wall_ns));
  AppendBigEndian32(bytes, static_cast<uint32_t>(newest_.logical));
  return state_->PutOperatorEntry(uid_, kLeftEarlyName, bytes);
}

state::EntryKey LeftEarly::PlaceOf(EventTime time, const RowKey& key, Arena& arena) const {
  return stubs_.PlaceOf(time, key, {}, arena);
}

// The order of the columns, and those that are absent, make no difference.
void LeftEarly::Print(RowKind kind, const Schema& schema, std::span<const Value> values) {
  column_prints_.clear();
  uint64_t sum = 0;
  for (size_t c = 0; c < values.size(); ++c) {
    if (values[c].absent()) continue;
    scratch_.assign(1, ActionTag(kind));
    AppendLengthPrefixed(scratch_, schema.columns()[c]);
    AppendExactValue(scratch_, values[c]);
    column_prints_.push_back(Hash64(scratch_));
    sum += column_prints_.back();
  }
  scratch_.assign(1, ActionTag(kind));
  AppendBigEndian64(scratch_, column_prints_.size());
  AppendBigEndian64(scratch_, sum);
  row_print_ = Hash64(scratch_);
}

bool LeftEarly::Holds(uint64_t print) const {
  for (std::string_view prints = std::string_view(stub_).substr(1); !prints.empty(); prints.remove_prefix(kPrintSize)) {
    if (ReadBigEndian64(prints) == print) return true;
  }
  return false;
}

Result<LeftEarly::Found> LeftEarly::Look(const state::EntryKey& place, RowKind kind, const Schema& schema,
                                         std::span<const Value> values) {
  Print(kind, schema, values);
  WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> found, stubs_.Get(place));
  stub_.assign(found.value_or(std::string_view("\0", 1)));
  if (!found.has_value()) return Found::kNothing;
  if (!IsStub(stub_)) return Error(Status::Corruption("a stub of what has left early can't be read"));
  // A deletion has taken the old row back already.
  if (kind == RowKind::kUpdateBefore && stub_[0] != 0) return Found::kSame;
  const bool in_parts =
      !column_prints_.empty() && std::ranges::all_of(column_prints_, [this](uint64_t print) { return Holds(print); });
  return in_parts || Holds(row_print_) ? Found::kSame : Found::kOther;
}

Status LeftEarly::Note(const state::EntryKey& place, EventTime time, RowKind kind, bool in_parts) {
  if (kind == RowKind::kDelete) stub_[0] = 1;
  AppendBigEndian64(stub_, row_print_);
  if (in_parts) {
    for (const uint64_t print : column_prints_) AppendBigEndian64(stub_, print);
  }
  newest_ = std::max(newest_, time);
  return stubs_.Put(place, stub_);
}

Status LeftEarly::Forget(EventTime upto) {
  if (!any()) return Status::Ok();
  WEIR_RETURN_IF_ERROR(stubs_.TakeUpTo(upto, [](const TimeQueue::Due&) { return Status::Ok(); }));
  if (upto >= newest_) newest_ = EventTime::Min();
  return Status::Ok();
}

}  // namespace weir::operators
