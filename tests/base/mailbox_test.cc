#include "base/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

namespace weir {
namespace {

class CountingWakeup final : public Wakeup {
 public:
  void Wake() override {
    ++wakes;
    available.release();
  }
  std::atomic<int> wakes = 0;
  std::counting_semaphore<> available{0};
};

TEST(MailboxTest, GivesMessagesInOrderAndWakesForEach) {
  CountingWakeup owner;
  Mailbox<std::unique_ptr<int>> mailbox(owner);
  EXPECT_TRUE(mailbox.empty());
  EXPECT_EQ(mailbox.Take(), std::nullopt);
  mailbox.Post(std::make_unique<int>(1));
  mailbox.Post(std::make_unique<int>(2));
  EXPECT_EQ(owner.wakes, 2);
  EXPECT_FALSE(mailbox.empty());
  EXPECT_EQ(**mailbox.Take(), 1);
  EXPECT_EQ(**mailbox.Take(), 2);
  EXPECT_TRUE(mailbox.empty());
}

TEST(MailboxTest, KeepsEachSendersOrderAndLosesNothing) {
  constexpr int kSenders = 4;
  constexpr int kMessages = 2'000;
  CountingWakeup owner;
  Mailbox<std::pair<int, int>> mailbox(owner);
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&mailbox, sender] {
      for (int i = 0; i < kMessages; ++i) mailbox.Post({sender, i});
    });
  }
  std::vector<int> next(kSenders, 0);
  for (int received = 0; received < kSenders * kMessages; ++received) {
    owner.available.acquire();
    const auto message = mailbox.Take();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->second, next.at(static_cast<size_t>(message->first))++);
  }
  EXPECT_TRUE(mailbox.empty());
}

}  // namespace
}  // namespace weir
