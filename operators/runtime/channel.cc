#include "operators/runtime/channel.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace weir::operators {

Channel::Channel(ChannelOptions options, Wakeup& producer, Wakeup& consumer)
    : options_(options), producer_(producer), consumer_(consumer) {}

bool Channel::HasRoom(size_t rows, size_t bytes) const {
  if (rows_ == 0) return true;
  return rows_ + rows <= options_.rows_max && bytes_ + bytes <= options_.bytes_max;
}

bool Channel::TryPush(Element& element) {
  const Batch* batch = std::get_if<Batch>(&element);
  const size_t rows = batch != nullptr ? batch->rows() : 0;
  const size_t bytes = batch != nullptr ? batch->bytes() : 0;
  WEIR_CHECK(batch == nullptr || rows > 0);
  bool was_empty = false;
  {
    std::lock_guard lock(mutex_);
    was_empty = entries_.empty();
    const bool behind_its_like = std::holds_alternative<Watermark>(element) && !was_empty &&
                                 std::holds_alternative<Watermark>(entries_.back().element);
    if (behind_its_like || (batch != nullptr && !HasRoom(rows, bytes))) {
      producer_waits_ = true;
      return false;
    }
    entries_.push_back({std::move(element), rows, bytes});
    rows_ += rows;
    bytes_ += bytes;
    size_.store(entries_.size(), std::memory_order_release);
  }
  if (was_empty) consumer_.Wake();
  return true;
}

std::optional<Element> Channel::TryPop() {
  std::optional<Element> element;
  bool wake_producer = false;
  {
    std::lock_guard lock(mutex_);
    if (entries_.empty()) return std::nullopt;
    Entry& first = entries_.front();
    rows_ -= first.rows;
    bytes_ -= first.bytes;
    element.emplace(std::move(first.element));
    entries_.pop_front();
    size_.store(entries_.size(), std::memory_order_release);
    // Half empty before the producer is woken: otherwise the two tasks take turns for each batch.
    if (producer_waits_ && rows_ <= options_.rows_max / 2 && bytes_ <= options_.bytes_max / 2) {
      producer_waits_ = false;
      wake_producer = true;
    }
  }
  if (wake_producer) producer_.Wake();
  return element;
}

size_t Channel::rows() const {
  std::lock_guard lock(mutex_);
  return rows_;
}

size_t Channel::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace weir::operators
