#include "base/worker.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

TEST(ThreadWorkerTest, RunsJobsInOrderOnAThreadOfItsOwn) {
  std::vector<int> ran;
  std::thread::id thread;
  {
    const std::unique_ptr<Worker> worker = NewThreadWorkerFactory()->NewWorker("order");
    for (int i = 0; i < 1'000; ++i) {
      worker->Submit([&ran, &thread, i] {
        ran.push_back(i);
        thread = std::this_thread::get_id();
      });
    }
  }  // its end waits for all of them
  ASSERT_EQ(ran.size(), 1'000U);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(ran[static_cast<size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(ThreadWorkerTest, NamesItsThread) {
  std::promise<std::string> name;
  const std::unique_ptr<Worker> worker = NewThreadWorkerFactory()->NewWorker("a-name-longer-than-15");
  worker->Submit([&name] {
    std::array<char, 16> text{};
    pthread_getname_np(pthread_self(), text.data(), text.size());
    name.set_value(text.data());
  });
  EXPECT_EQ(name.get_future().get(), "a-name-longer-t");
}

TEST(ThreadWorkerTest, TakesJobsThatCannotBeCopiedAndLetsGoOfThemAfterRunning) {
  auto held = std::make_unique<std::promise<int>>();
  std::future<int> result = held->get_future();
  std::atomic<bool> second = false;
  {
    const std::unique_ptr<Worker> worker = NewThreadWorkerFactory()->NewWorker("moves");
    worker->Submit([held = std::move(held)] { held->set_value(7); });
    worker->Submit([&second] { second = true; });
  }
  EXPECT_EQ(result.get(), 7);
  EXPECT_TRUE(second);
}

TEST(ThreadWorkerTest, ManyThreadsMaySubmit) {
  std::atomic<int> ran = 0;
  {
    const std::unique_ptr<Worker> worker = NewThreadWorkerFactory()->NewWorker("shared");
    std::vector<std::jthread> senders;
    for (int sender = 0; sender < 4; ++sender) {
      senders.emplace_back([&] {
        for (int i = 0; i < 500; ++i) worker->Submit([&ran] { ++ran; });
      });
    }
    senders.clear();
  }
  EXPECT_EQ(ran, 2'000);
}

TEST(ThreadWorkerTest, AJobMaySubmitAnother) {
  std::promise<void> done;
  const std::unique_ptr<Worker> worker = NewThreadWorkerFactory()->NewWorker("nested");
  worker->Submit([&] { worker->Submit([&] { done.set_value(); }); });
  done.get_future().wait();
}

}  // namespace
}  // namespace weir
