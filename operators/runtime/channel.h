// A bounded queue of elements from one task to one other: the whole back-pressure mechanism. The producer's task calls
// TryPush, the consumer's TryPop; both may be on different threads. Bounds hold for batches, in rows and bytes; one
// batch always fits into an empty channel. A watermark waits until the one right before it was taken: what it frees
// behind may be as much as many batches, and two that became one would free it at once. Other control elements never
// find a full channel: barriers are as many as checkpoints in flight.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "base/wakeup.h"
#include "operators/element.h"

namespace weir::operators {

struct ChannelOptions {
  size_t rows_max = 16 * 1024;
  size_t bytes_max = 4 * 1024 * 1024;
};

class Channel {
 public:
  // Both wakeups outlive the channel's last call.
  Channel(ChannelOptions options, Wakeup& producer, Wakeup& consumer);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Moves `element` in and says true; false leaves it as it is, and the producer will be woken when there is room.
  bool TryPush(Element& element);
  // Nothing: empty now; the consumer will be woken by the next push.
  std::optional<Element> TryPop();

  // Any thread, at once outdated.
  bool empty() const { return size_.load(std::memory_order_acquire) == 0; }
  size_t rows() const;
  size_t bytes() const;

 private:
  struct Entry {
    Element element;
    size_t rows;
    size_t bytes;
  };
  bool HasRoom(size_t rows, size_t bytes) const;

  // Set once.
  const ChannelOptions options_;
  Wakeup& producer_;
  Wakeup& consumer_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Entry> entries_;
  size_t rows_ = 0;  // of the batches inside
  size_t bytes_ = 0;
  bool producer_waits_ = false;

  std::atomic<size_t> size_{0};  // written under mutex_; lets a consumer pass an empty channel without the lock
};

}  // namespace weir::operators
