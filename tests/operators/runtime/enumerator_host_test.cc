#include "operators/runtime/enumerator_host.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/operators/runtime/test_pieces.h"
#include "tests/simulation/manual_clock.h"

namespace weir::operators {
namespace {

// A reader's task: what it is told, as text.
class ToldReader final : public ReaderPort {
 public:
  void AddSplits(std::vector<SourceSplit> splits) override {
    for (const SourceSplit& split : splits) told += split.id + "@" + split.position + " ";
    if (splits.empty()) told += "none ";
  }
  void NoMoreSplits() override { told += "last "; }
  void HandleSourceEvent(std::string event) override { told += event + " "; }
  void AcknowledgeSourceEvents(uint64_t through) override { told += "ack" + std::to_string(through) + " "; }
  std::string told;
};

// Its control in the test's hand.
struct Script {
  std::optional<std::string> restored;
  std::vector<SourceSplit> started_with;
  std::string events;
  std::string snapshot = "snap";
  EnumeratorContext context;
  bool ready = true;
  int steps = 0;
  Status next_step;
};

class ScriptedEnumerator final : public SplitEnumerator {
 public:
  explicit ScriptedEnumerator(Script& script) : script_(script) {}
  Status Start(EnumeratorContext context, std::optional<std::string> restored,
               std::vector<SourceSplit> splits) override {
    script_.context = std::move(context);
    script_.restored = std::move(restored);
    script_.started_with = std::move(splits);
    return Status::Ok();
  }
  Status Step() override {
    ++script_.steps;
    return script_.next_step;
  }
  Status HandleEvent(uint32_t subtask, const std::string& event) override {
    script_.events += std::to_string(subtask) + ":" + event + " ";
    return Status::Ok();
  }
  bool ready() const override { return script_.ready; }
  Result<std::string> SnapshotState(CheckpointId) override { return script_.snapshot; }

 private:
  Script& script_;
};

struct EnumeratorHostTest : ::testing::Test {
  void Make(uint32_t parallelism, std::optional<std::string> restored = {}) {
    EnumeratorHostOptions options;
    options.uid = "orders";
    options.parallelism = parallelism;
    options.enumerator = std::make_unique<ScriptedEnumerator>(script);
    options.restored = std::move(restored);
    options.clock = &clock;
    options.wakeup = &wakeup;
    options.on_failure = [this](Status cause) { failure = std::move(cause); };
    host = std::make_unique<EnumeratorHost>(std::move(options));
    std::vector<ReaderPort*> ports;
    readers.resize(parallelism);
    for (ToldReader& reader : readers) ports.push_back(&reader);
    host->SetReaders(std::move(ports));
  }

  NoWakeup wakeup;
  simulation::ManualClock clock;
  Script script;
  std::vector<ToldReader> readers;
  std::unique_ptr<EnumeratorHost> host;
  Status failure;
};

TEST_F(EnumeratorHostTest, StartsWhenEveryReaderHasReported) {
  Make(2);
  host->ReaderRestored(1, {});
  host->Step();
  EXPECT_EQ(script.steps, 0);
  EXPECT_FALSE(host->ready());
  host->ReaderRestored(0, {});
  host->Step();
  EXPECT_EQ(script.steps, 1);
  EXPECT_TRUE(host->ready());
  EXPECT_FALSE(script.restored.has_value());
}

TEST_F(EnumeratorHostTest, RestoredSplitsCountOnceAndFinishedOnesAreNeverAssigned) {
  Make(2, EncodeEnumeratorSnapshot({"state", {{"old", "9"}}}));
  const RestoredReader both{{{{"a", "5"}, false}, {{"b", "7"}, true}}, {}};
  host->ReaderRestored(0, both);
  host->ReaderRestored(1, both);
  host->Step();
  EXPECT_EQ(*script.restored, "state");
  EXPECT_EQ(script.started_with, (std::vector<SourceSplit>{{"a", "5"}, {"b", "7"}, {"old", "9"}}));
  script.context.assign_splits(1, {{"a", "5"}, {"b", "7"}, {"old", "9"}, {"new", "0"}});
  EXPECT_EQ(readers[1].told, "none a@5 new@0 ");
  const auto snapshot = host->SnapshotState({1, {}});
  ASSERT_TRUE(snapshot.has_value());
  const auto decoded = DecodeEnumeratorSnapshot(*snapshot);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->enumerator, "snap");
  EXPECT_EQ(decoded->finished_splits, (std::map<std::string, std::string>{{"b", "7"}, {"old", "9"}}));
}

TEST_F(EnumeratorHostTest, ASplitAtTwoPositionsStopsTheJob) {
  Make(2);
  host->ReaderRestored(0, {{{{"a", "5"}, false}}, {}});
  host->ReaderRestored(1, {{{{"a", "6"}, false}}, {}});
  EXPECT_EQ(host->Step(), StepResult::kFinished);
  EXPECT_EQ(failure.ToString(),
            "corruption: source 'orders': split 'a' is in the restored state at two positions: 5 and 6");
}

TEST_F(EnumeratorHostTest, RepeatsRestoredEventsOnceInFrontOfNewOnes) {
  Make(2);
  host->PostReaderEvent(1, 1, "new");
  const RestoredReader both{{}, {{"event:5-00000000000000000002", "two"}, {"event:5-00000000000000000001", "one"}}};
  host->ReaderRestored(0, both);
  host->ReaderRestored(1, both);
  host->Step();
  EXPECT_EQ(script.events, "1:one 1:two 1:new ");
}

TEST_F(EnumeratorHostTest, ASnapshotHoldsWaitingEventsAndAcknowledgesThem) {
  Make(2);
  host->ReaderRestored(0, {});
  host->ReaderRestored(1, {});
  host->Step();
  host->PostReaderEvent(1, 1, "x");
  host->PostReaderEvent(1, 2, "y");
  ASSERT_TRUE(host->SnapshotState({1, {}}).has_value());
  EXPECT_EQ(script.events, "1:x 1:y ");
  EXPECT_EQ(readers[1].told, "none ack2 ");
  EXPECT_EQ(readers[0].told, "none ");
  ASSERT_TRUE(host->SnapshotState({2, {}}).has_value());
  EXPECT_EQ(readers[1].told, "none ack2 ") << "said once";
}

TEST_F(EnumeratorHostTest, TellsReadersThatGetNothingOnceItIsReady) {
  Make(2);
  script.ready = false;
  host->ReaderRestored(0, {});
  host->ReaderRestored(1, {});
  host->Step();
  script.context.assign_splits(0, {{"a", "0"}});
  EXPECT_EQ(readers[1].told, "");
  script.ready = true;
  host->Step();
  host->Step();
  EXPECT_EQ(readers[0].told, "a@0 ");
  EXPECT_EQ(readers[1].told, "none ");
}

TEST_F(EnumeratorHostTest, StepsAtLeastEachSecondAndReportsAFailureOnce) {
  Make(1);
  host->ReaderRestored(0, {});
  EXPECT_EQ(host->Step(), StepResult::kIdle);
  EXPECT_EQ(*host->NextDeadline() - clock.Now(), std::chrono::seconds(1));
  script.next_step = Status::Unavailable("no broker");
  EXPECT_EQ(host->Step(), StepResult::kFinished);
  EXPECT_EQ(failure.ToString(), "unavailable: source 'orders': no broker");
  failure = Status::Ok();
  EXPECT_EQ(host->Step(), StepResult::kFinished);
  EXPECT_TRUE(failure.ok());
  EXPECT_FALSE(host->ready());
}

TEST(EnumeratorSnapshotTest, RefusesDamagedBytes) {
  const std::string good = EncodeEnumeratorSnapshot({"state", {{"a", "1"}, {"b", "2"}}});
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeEnumeratorSnapshot(good.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(DecodeEnumeratorSnapshot(good + "x").has_value());
  std::string foreign = good;
  foreign[0] = 9;
  EXPECT_EQ(DecodeEnumeratorSnapshot(foreign).error().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace weir::operators
