// A queue from many threads to one: commands to a task, results to the coordinator. Unbounded by itself; every sender
// has its own bound (one checkpoint, one assignment, one result in flight). Posting wakes the owner.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/wakeup.h"

namespace weir {

template <class T>
class Mailbox {
 public:
  // `owner` outlives the mailbox's last Post.
  explicit Mailbox(Wakeup& owner) : owner_(owner) {}

  // Any thread.
  void Post(T message) {
    {
      std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    owner_.Wake();
  }

  // The owner's thread. Empty: nothing waits.
  std::optional<T> Take() {
    std::lock_guard lock(mutex_);
    if (messages_.empty()) return std::nullopt;
    std::optional<T> message(std::move(messages_.front()));
    messages_.pop_front();
    return message;
  }

  bool empty() const {
    std::lock_guard lock(mutex_);
    return messages_.empty();
  }

 private:
  Wakeup& owner_;
  mutable std::mutex mutex_;
  std::deque<T> messages_;  // guarded by mutex_
};

}  // namespace weir
