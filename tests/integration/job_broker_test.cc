// The main job while its broker is killed with -9 and comes back, and while it stands still: the job goes on by itself,
// no row is lost, doubled or overtaken. WEIR_TORTURE=1 does it more often.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "base/random.h"
#include "tests/harness/kafka_broker.h"
#include "tests/integration/job_definitions.h"
#include "tests/integration/job_orders.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kRowsOfATrouble = 20'000;

int Rounds() { return std::getenv("WEIR_TORTURE") != nullptr ? 12 : 1; }

class JobBrokerTest : public testing::Test {
 protected:
  Weir Begin() { return {folder_, {"run", job_.definition(), "--quiet", "--set", "parallelism=2"}}; }

  // Rows are on their way through the job when it comes back.
  void FeedAndLookAway() {
    job_.Feed(kRowsOfATrouble);
    Pause(milliseconds(NewSystemRandom()->Below(400)));
  }
  void KillBrokerFor(Duration time) {
    FeedAndLookAway();
    broker_.Kill9();
    Pause(time);
    ASSERT_EQ(broker_.Restart().ToString(), "ok");
  }
  void FreezeBrokerFor(Duration time) {
    FeedAndLookAway();
    broker_.Pause();
    Pause(time);
    broker_.Resume();
  }
  void ExpectComplete(Weir& weir) {
    EXPECT_TRUE(Eventually(seconds(60),
                           [&] { return (job_.FilesComplete() && job_.ExactTopicComplete()) || !weir.Running(); }));
    EXPECT_TRUE(weir.Running()) << "ended by itself:\n" << weir.Output();
  }

  harness::KafkaBroker& broker_ = harness::SharedKafkaBroker();
  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  JobFolder folder_;
  OrdersJob job_{*world_, folder_, 1, 500};
};

TEST_F(JobBrokerTest, TheJobOutlivesABrokerThatDiesOrStandsStill) {
  Weir weir = Begin();
  for (int round = 0; round < Rounds() && !HasFailure(); ++round) {
    ASSERT_NO_FATAL_FAILURE(KillBrokerFor(milliseconds(500)));
    if (round % 2 == 1) ExpectComplete(weir);
    FreezeBrokerFor(seconds(3));
    if (round % 2 == 0) ExpectComplete(weir);
  }
  job_.Feed(100);
  ExpectComplete(weir);
  EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  job_.ExpectExactFiles();
  job_.ExpectExactTopic();
  job_.ExpectTopicAtLeastOnce({});  // the job was never killed: nothing is there twice
  std::cout << job_.fed() << " rows in, " << job_.kept() << " rows out\n";
}

// Whether rows were on their way to the topic when the broker died is up to the moment: then they wait, and the job
// says so.
TEST_F(JobBrokerTest, AJobStoppedWhileItsBrokerIsDeadEndsAndGoesOnExactly) {
  std::vector<int64_t> ends_ms;
  for (int round = 0; round < Rounds() && !HasFailure(); ++round) {
    Weir weir = Begin();
    EXPECT_TRUE(Eventually(seconds(30), [&] { return weir.Says("first start") || weir.Says("goes on from"); }));
    FeedAndLookAway();
    broker_.Kill9();
    Pause(seconds(1));  // some checkpoints are applied, and offsets wait to be committed
    const std::optional<int> code = weir.Stop();
    EXPECT_TRUE(code == 0 || code == 5) << code.value_or(-1) << "\n" << weir.Output();
    if (code == 5) {
      const bool cut = !weir.Says("stopped without a last checkpoint: the next start goes on from checkpoint");
      EXPECT_TRUE(!cut || weir.Says("rows wait for kafka:")) << weir.Output();
      if (!cut) ends_ms.push_back(WallMs());
    }
    ASSERT_EQ(broker_.Restart().ToString(), "ok");
  }
  Weir weir = Begin();
  ExpectComplete(weir);
  EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  job_.ExpectExactFiles();
  job_.ExpectExactTopic();
  job_.ExpectTopicAtLeastOnce(ends_ms);
}

}  // namespace
}  // namespace weir::job_test
