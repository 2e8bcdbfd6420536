// Taking out is a merge of the parts in which something is due. Of each part a chunk of entries is in memory; the
// chunks share a fixed number of bytes, and when one is used up the next is read from behind its last entry. The
// reading that finds no more due entries sees the first that is not, so that the part is left alone until then. What is
// in a chunk and stays is read again by the next who takes out.
#include "operators/time_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "state/key_groups.h"

namespace weir::operators {
namespace {

constexpr uint32_t kPartsAimed = 1024;
constexpr size_t kChunksBytesMax = 8u << 20;
constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr size_t kTimeSize = 12;

void AppendTime(std::string& out, EventTime time) {
  AppendBigEndian64(out, static_cast<uint64_t>(time.wall_ns) ^ kSignBit);
  AppendBigEndian32(out, static_cast<uint32_t>(time.logical));
}

EventTime TimeOf(std::string_view name_space) {
  return {static_cast<int64_t>(ReadBigEndian64(name_space) ^ kSignBit),
          static_cast<int32_t>(ReadBigEndian32(name_space.substr(8)))};
}

}  // namespace

// Due entries of one part, in order.
struct TimeQueue::Chunk {
  struct Piece {
    size_t at = 0;  // in `bytes`: namespace, then value
    size_t name_space_size = 0;
    size_t value_size = 0;
  };
  size_t part = 0;  // in earliest_
  std::string bytes;
  std::vector<Piece> pieces;
  size_t next = 0;
  bool more = true;  // the state may hold more that is due

  bool used_up() const { return next == pieces.size(); }
  std::string_view name_space() const {
    return std::string_view(bytes).substr(pieces[next].at, pieces[next].name_space_size);
  }
  std::string_view value() const {
    return std::string_view(bytes).substr(pieces[next].at + pieces[next].name_space_size, pieces[next].value_size);
  }
};

uint32_t TimeQueue::PartsOf(uint32_t key_groups) {
  uint32_t parts = key_groups;
  while (parts * 2 <= kPartsAimed) parts *= 2;
  return parts;
}

Status TimeQueue::Open(const OperatorContext& context, std::string_view name, std::string_view codec) {
  if (context.state == nullptr) return Status::FailedPrecondition("\"" + context.uid + "\" has no state");
  state_ = context.state;
  parts_ = PartsOf(context.key_groups);
  const state::HashRange range = state::RangeOf(context.subtask, context.parallelism, context.key_groups);
  first_part_ = state::KeyGroupOf(range.first, parts_);
  earliest_.assign(state::KeyGroupOf(range.last, parts_) - first_part_ + 1, EventTime::Min());
  const std::string type = "by-time/v1(" + std::string(codec) + ";parts:" + std::to_string(parts_) + ")";
  WEIR_ASSIGN_OR_RETURN(
      id_, state_->Register({.uid = context.uid, .name = std::string(name), .kind = "map", .codec = type}));
  return Status::Ok();
}

size_t TimeQueue::PartAt(uint32_t hash) const {
  const uint32_t part = state::KeyGroupOf(hash, parts_) - first_part_;
  WEIR_CHECK_LT(part, earliest_.size());
  return part;
}

void TimeQueue::NothingUpTo(state::HashRange range, EventTime time) {
  for (size_t part = PartAt(range.first); part <= PartAt(range.last); ++part) {
    earliest_[part] = std::max(earliest_[part], time.Next());
  }
}

state::EntryKey TimeQueue::PlaceOf(EventTime time, const RowKey& key, std::string_view suffix, Arena& arena) const {
  const size_t size = kTimeSize + key.bytes.size() + suffix.size();
  std::string head;
  AppendTime(head, time);
  char* to = arena.Allocate(size);
  const std::string_view name_space(to, size);
  to = std::copy(head.begin(), head.end(), to);
  to = std::copy(key.bytes.begin(), key.bytes.end(), to);
  std::copy(suffix.begin(), suffix.end(), to);
  const uint32_t part = state::KeyGroupOf(key.hash, parts_);
  return {.hash = state::RangeOf(part, parts_, parts_).first, .key = {}, .name_space = name_space};
}

Status TimeQueue::Put(const state::EntryKey& place, std::string_view value) {
  EventTime& earliest = earliest_[PartAt(place.hash)];
  earliest = std::min(earliest, TimeOf(place.name_space));
  return state_->Put(id_, place, value);
}

Status TimeQueue::Fill(Chunk& chunk, EventTime upto, size_t bytes_max) {
  std::string first;
  if (chunk.pieces.empty()) {
    AppendTime(first, earliest_[chunk.part]);
  } else {
    --chunk.next;
    first = chunk.name_space();
    first += '\0';
  }
  chunk.bytes.clear();
  chunk.pieces.clear();
  chunk.next = 0;
  chunk.more = false;
  earliest_[chunk.part] = EventTime::Max();
  bool whole = true;
  const uint32_t part = first_part_ + static_cast<uint32_t>(chunk.part);
  const state::EntryKey from{.hash = state::RangeOf(part, parts_, parts_).first, .key = {}, .name_space = first};
  const std::string behind(kTimeSize, '\xff');  // the logical part has no sign: behind all times
  WEIR_RETURN_IF_ERROR(state_->ScanKeyRange(
      id_, from, behind, [&](std::string_view, std::string_view name_space, std::string_view value) {
        whole = name_space.size() >= kTimeSize;
        if (!whole) return false;
        const EventTime time = TimeOf(name_space);
        chunk.more = time <= upto && chunk.bytes.size() >= bytes_max;
        if (chunk.more || time > upto) {
          earliest_[chunk.part] = time;
          return false;
        }
        chunk.pieces.push_back({chunk.bytes.size(), name_space.size(), value.size()});
        chunk.bytes += name_space;
        chunk.bytes += value;
        return true;
      }));
  return whole ? Status::Ok() : Status::Corruption("an entry that waits for its time has none");
}

Status TimeQueue::TakeUpTo(EventTime upto, std::move_only_function<Status(const Due& due)> visit,
                           std::move_only_function<bool(const Due& due)> enough) {
  std::vector<Chunk> chunks;
  for (size_t part = 0; part < earliest_.size(); ++part) {
    if (earliest_[part] <= upto) chunks.emplace_back().part = part;
  }
  if (chunks.empty()) return Status::Ok();
  const size_t bytes_max = kChunksBytesMax / chunks.size();
  std::vector<Chunk*> heap;
  for (Chunk& chunk : chunks) {
    WEIR_RETURN_IF_ERROR(Fill(chunk, upto, bytes_max));
    if (!chunk.used_up()) heap.push_back(&chunk);
  }
  const auto later = [](const Chunk* a, const Chunk* b) { return a->name_space() > b->name_space(); };
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    const Due due{TimeOf(heap.front()->name_space()), heap.front()->name_space().substr(kTimeSize),
                  heap.front()->value()};
    if (enough && enough(due)) break;
    std::pop_heap(heap.begin(), heap.end(), later);
    Chunk& chunk = *heap.back();
    const std::string_view name_space = chunk.name_space();
    const uint32_t part = first_part_ + static_cast<uint32_t>(chunk.part);
    WEIR_RETURN_IF_ERROR(state_->Delete(id_, {state::RangeOf(part, parts_, parts_).first, {}, name_space}));
    WEIR_RETURN_IF_ERROR(visit(due));
    ++chunk.next;
    if (chunk.used_up() && chunk.more) WEIR_RETURN_IF_ERROR(Fill(chunk, upto, bytes_max));
    if (chunk.used_up()) {
      heap.pop_back();
    } else {
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  for (const Chunk* chunk : heap) {
    earliest_[chunk->part] = std::min(earliest_[chunk->part], TimeOf(chunk->name_space()));
  }
  return Status::Ok();
}

Result<uint64_t> TimeQueue::Count() {
  uint64_t count = 0;
  WEIR_RETURN_IF_ERROR(state_->ScanAll(id_, [&](std::string_view, std::string_view, std::string_view) {
    ++count;
    return true;
  }));
  return count;
}

}  // namespace weir::operators
