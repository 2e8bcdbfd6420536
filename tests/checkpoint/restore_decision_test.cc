#include "checkpoint/restore_decision.h"

#include <gtest/gtest.h>

namespace weir::checkpoint {
namespace {

using From = RestoreRequest::From;

CheckpointId Id(uint64_t number) { return {.number = number, .id = {.high = 77, .low = number}}; }
constexpr UniqueId kStorage{.high = 1, .low = 1};
constexpr UniqueId kOtherStorage{.high = 2, .low = 2};

Marker At(uint64_t number, UniqueId storage = kStorage) {
  return {.job = "orders",
          .storage = storage,
          .attempt = {.high = 3, .low = 3},
          .checkpoint = number == 0 ? CheckpointId{} : Id(number)};
}

SystemProgress Progress(const std::string& identity, uint64_t base, std::vector<uint64_t> later) {
  SystemProgress progress{.identity = identity, .base = std::nullopt, .later = {}};
  if (base > 0) progress.base = Id(base);
  for (const uint64_t number : later) {
    progress.later.push_back({.checkpoint = Id(number), .committables = {{identity, "sink", "{}", 10, 2}}});
  }
  return progress;
}

// Storage up to checkpoint 10; kafka was known at 7 and has output in 8 and 10.
RestoreFacts Facts(std::optional<Marker> marker) {
  RestoreFacts facts;
  facts.job = "orders";
  facts.storage = kStorage;
  facts.storage_path = "/s/orders";
  facts.greatest_number = 11;  // an aborted one
  facts.first_published = true;
  CheckpointMetadata newest;
  newest.job = "orders";
  newest.storage = kStorage;
  newest.id = Id(10);
  newest.ancestors = {Id(8), Id(9)};
  newest.systems = {Progress("kafka", 7, {8, 10})};
  facts.newest = newest;
  facts.systems = {{.identity = "kafka", .reachable = true, .marker = marker}};
  return facts;
}

TEST(RestoreDecisionTest, AppliesWhatComesAfterTheMarker) {
  const std::vector<std::pair<uint64_t, size_t>> cases = {{7, 2}, {8, 1}, {10, 0}};
  for (const auto& [at, left] : cases) {
    const auto decision = DecideRestore({}, Facts(At(at)));
    ASSERT_TRUE(decision.has_value()) << decision.error().ToString();
    EXPECT_EQ(decision->action, RestoreAction::kResume);
    EXPECT_EQ(decision->next_number, 12U);
    EXPECT_EQ(decision->systems[0].progress.base, Id(at));
    EXPECT_EQ(decision->systems[0].progress.later.size(), left);
  }
}

TEST(RestoreDecisionTest, ComparesIdsAndNotNumbers) {
  Marker marker = At(8, kOtherStorage);
  marker.checkpoint.id = {.high = 1, .low = 2};
  const auto decision = DecideRestore({}, Facts(marker));
  ASSERT_FALSE(decision.has_value());
  EXPECT_EQ(decision.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(decision.error().message().find(kOtherStorage.ToString()), std::string::npos);
}

TEST(RestoreDecisionTest, NineWroteNoMarkerAndIsNotOnTheLine) {
  EXPECT_FALSE(DecideRestore({}, Facts(At(9))).has_value());
}

TEST(RestoreDecisionTest, ASignatureAloneIsNoMarkerOfOutput) {
  RestoreFacts facts = Facts(At(0));
  EXPECT_FALSE(DecideRestore({}, facts).has_value());
  facts.newest->systems = {Progress("kafka", 0, {8, 10})};
  const auto decision = DecideRestore({}, facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->systems[0].progress.later.size(), 2U);
}

TEST(RestoreDecisionTest, AnUnreachableSystemWaitsButNotWhereItIsNeeded) {
  RestoreFacts facts = Facts(std::nullopt);
  facts.systems[0].reachable = false;
  const auto decision = DecideRestore({}, facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_FALSE(decision->systems[0].reachable);
  EXPECT_EQ(decision->systems[0].progress.later.size(), 2U);
  facts.newest->systems.clear();  // new to the checkpoint
  EXPECT_EQ(DecideRestore({}, facts).error().code(), StatusCode::kUnavailable);
  RestoreRequest none;
  none.from = From::kNone;
  EXPECT_EQ(DecideRestore(none, facts).error().code(), StatusCode::kUnavailable);
  facts.newest.reset();
  facts.first_published = false;
  EXPECT_EQ(DecideRestore({}, facts).error().code(), StatusCode::kUnavailable);
}

TEST(RestoreDecisionTest, WithoutAMarkerOnlyAHintOfEverythingOrAWordHelps) {
  RestoreFacts facts = Facts(std::nullopt);
  EXPECT_FALSE(DecideRestore({}, facts).has_value());
  facts.applied_hints["kafka"] = Id(8);
  EXPECT_FALSE(DecideRestore({}, facts).has_value());
  RestoreRequest assume;
  assume.assume = 8;
  auto decision = DecideRestore(assume, facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->systems[0].progress.later.size(), 1U);
  facts.applied_hints["kafka"] = Id(10);
  decision = DecideRestore({}, facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_TRUE(decision->systems[0].progress.later.empty());
  ASSERT_EQ(decision->report.size(), 1U);
  EXPECT_EQ(decision->report[0].level, LogLevel::kWarning);
  EXPECT_NE(decision->report[0].text.find("system kafka has no marker"), std::string::npos);
  // A marker that is there wins.
  facts.systems[0].marker = At(7);
  decision = DecideRestore(assume, facts);
  EXPECT_EQ(decision->systems[0].progress.later.size(), 2U);
}

TEST(RestoreDecisionTest, AHintBetraysADeletedMarkerThatTheMetadataDoesNotKnow) {
  RestoreFacts facts = Facts(std::nullopt);
  facts.newest->systems = {Progress("kafka", 0, {8, 10})};
  EXPECT_TRUE(DecideRestore({}, facts).has_value());
  facts.applied_hints["kafka"] = Id(8);
  EXPECT_FALSE(DecideRestore({}, facts).has_value());
}

TEST(RestoreDecisionTest, ADamagedNewerOneIsPassedOverOnlyIfNoMarkerNamesIt) {
  RestoreFacts facts = Facts(At(10));
  facts.damaged = {{.number = 11, .cause = Status::Corruption("cut")}};
  const auto decision = DecideRestore({}, facts);
  ASSERT_TRUE(decision.has_value());
  ASSERT_EQ(decision->report.size(), 1U);
  EXPECT_EQ(decision->report[0].level, LogLevel::kWarning);
  EXPECT_NE(decision->report[0].text.find("checkpoint 11"), std::string::npos);
  facts.systems[0].marker = At(11);
  EXPECT_NE(DecideRestore({}, facts).error().message().find("can't be passed over"), std::string::npos);
  facts.systems[0].reachable = false;
  EXPECT_EQ(DecideRestore({}, facts).error().code(), StatusCode::kUnavailable);
  facts.newest.reset();
  EXPECT_EQ(DecideRestore({}, facts).error().code(), StatusCode::kCorruption);
}

TEST(RestoreDecisionTest, ANewSystemIsSignedWhereItIs) {
  RestoreFacts facts = Facts(At(7));
  facts.systems.push_back({.identity = "files", .reachable = true, .marker = At(3)});
  const auto decision = DecideRestore({}, facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_TRUE(decision->systems[1].is_new);
  EXPECT_EQ(decision->systems[1].progress.base, Id(3));
  facts.systems[1].marker = At(3, kOtherStorage);  // somebody else's output under our job's name
  EXPECT_FALSE(DecideRestore({}, facts).has_value());
}

TEST(RestoreDecisionTest, ARemovedSystemNeedsItsOutputConfirmedOrDropped) {
  RestoreFacts facts = Facts(At(7));
  facts.systems.clear();
  EXPECT_NE(DecideRestore({}, facts).error().message().find("--drop-output kafka"), std::string::npos);
  facts.applied_hints["kafka"] = Id(8);
  EXPECT_NE(DecideRestore({}, facts).error().message().find(" 2 rows"), std::string::npos);
  RestoreRequest drop;
  drop.drop_output = {"kafka"};
  EXPECT_TRUE(DecideRestore(drop, facts).has_value());
  facts.applied_hints["kafka"] = Id(10);
  EXPECT_TRUE(DecideRestore({}, facts).has_value());
}

RestoreFacts Chosen(uint64_t number, std::optional<Marker> marker) {
  RestoreFacts facts = Facts(marker);
  CheckpointMetadata chosen = *facts.newest;
  chosen.id = Id(number);
  chosen.ancestors.clear();
  chosen.systems = {Progress("kafka", 4, {number})};
  facts.chosen = chosen;
  return facts;
}

RestoreRequest Path(std::optional<uint64_t> rewind = std::nullopt) {
  RestoreRequest request;
  request.from = From::kPath;
  request.path = "/kept/chk-8";
  request.rewind = rewind;
  return request;
}

TEST(RestoreDecisionTest, ADescendantInStorageIsTakenUnlessARewindNamesTheNewest) {
  auto decision = DecideRestore(Path(), Chosen(8, At(10)));
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->action, RestoreAction::kResume);
  decision = DecideRestore(Path(9), Chosen(8, At(10)));  // used already
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->action, RestoreAction::kResume);
  decision = DecideRestore(Path(10), Chosen(8, At(10)));
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->action, RestoreAction::kPublishChosen);
  EXPECT_EQ(decision->systems[0].progress, Progress("kafka", 10, {}));
  EXPECT_EQ(decision->next_number, 12U);
}

TEST(RestoreDecisionTest, AChosenCheckpointThatASystemHasNotAppliedIsNotOffered) {
  EXPECT_NE(DecideRestore(Path(10), Chosen(8, At(4))).error().message().find("only an applied checkpoint"),
            std::string::npos);
}

TEST(RestoreDecisionTest, AForeignLineInTheStorageGivesWayOnlyWithItsNumber) {
  RestoreFacts facts = Chosen(8, At(10));
  facts.newest->ancestors.clear();
  EXPECT_NE(DecideRestore(Path(), facts).error().message().find("--rewind=10"), std::string::npos);
  EXPECT_FALSE(DecideRestore(Path(9), facts).has_value());
  EXPECT_TRUE(DecideRestore(Path(10), facts).has_value());
  facts.systems[0].marker = At(8);  // the system is where the chosen checkpoint left it
  const auto decision = DecideRestore(Path(), facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->action, RestoreAction::kPublishChosen);
}

TEST(RestoreDecisionTest, ACloneStartsWithoutMarkers) {
  RestoreFacts facts = Chosen(8, std::nullopt);
  facts.newest.reset();
  facts.first_published = false;
  EXPECT_FALSE(DecideRestore(Path(), facts).has_value());  // our own marker is gone
  facts.chosen->job = "original";
  const auto decision = DecideRestore(Path(), facts);
  ASSERT_TRUE(decision.has_value()) << decision.error().ToString();
  EXPECT_EQ(decision->systems[0].progress, Progress("kafka", 0, {}));
}

TEST(RestoreDecisionTest, FirstStartNeedsAnEmptyWorld) {
  RestoreFacts facts = Facts(std::nullopt);
  facts.newest.reset();
  facts.greatest_number = 0;
  EXPECT_FALSE(DecideRestore({}, facts).has_value());  // first-published is there
  facts.first_published = false;
  const auto decision = DecideRestore({}, facts);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->action, RestoreAction::kFirstStart);
  EXPECT_EQ(decision->next_number, 1U);
  facts.systems[0].marker = At(5);
  EXPECT_NE(DecideRestore({}, facts).error().message().find("is empty, but system kafka has output"),
            std::string::npos);
}

TEST(RestoreDecisionTest, UidsOfTheStateMustBeInTheDefinition) {
  RestoreFacts facts = Facts(At(10));
  facts.newest->enumerators = {{"orders", "x"}, {"lost", "y"}};
  facts.uids = {"orders"};
  EXPECT_NE(DecideRestore({}, facts).error().message().find("'lost'"), std::string::npos);
  RestoreRequest request;
  request.allow_non_restored_state = true;
  EXPECT_TRUE(DecideRestore(request, facts).has_value());
}

TEST(RestoreDecisionTest, AMappedOperatorHasTheStateOfTheFormerOne) {
  RestoreFacts facts = Facts(At(10));
  facts.newest->enumerators = {{"former", "x"}, {"orders", "y"}};
  facts.uids = {"orders", "renamed"};
  EXPECT_NE(DecideRestore({}, facts).error().message().find("--map-operator OLD=NEW"), std::string::npos);
  RestoreRequest request;
  request.map_operators = {{"former", "renamed"}};
  const auto decision = DecideRestore(request, facts);
  ASSERT_TRUE(decision.has_value()) << decision.error().ToString();
  EXPECT_EQ(decision->renamed, (state::StateOwners{{"former", "renamed"}}));
  // A command line that is repeated finds the state under its new name.
  facts.newest->enumerators = {{"renamed", "x"}, {"orders", "y"}};
  const auto repeated = DecideRestore(request, facts);
  ASSERT_TRUE(repeated.has_value()) << repeated.error().ToString();
  EXPECT_TRUE(repeated->renamed.empty());
  EXPECT_EQ(repeated->report.back().level, LogLevel::kInfo);
}

TEST(RestoreDecisionTest, AMappingThatCannotBeMeantIsRefused) {
  RestoreFacts facts = Facts(At(10));
  facts.newest->enumerators = {{"a", "x"}, {"b", "y"}};
  facts.uids = {"b", "c"};
  const auto refusal = [&](const std::map<std::string, std::string>& mapping) {
    RestoreRequest request;
    request.map_operators = mapping;
    return MatchOperators(request, facts.uids, *facts.newest).refusal.message();
  };
  EXPECT_EQ(refusal({{"a", "c"}}), "");
  EXPECT_NE(refusal({{"a", "d"}}).find("no operator with state that is called 'd'"), std::string::npos);
  EXPECT_NE(refusal({{"b", "c"}}).find("still has an operator 'b'"), std::string::npos);
  EXPECT_NE(refusal({{"a", "b"}}).find("holds state of both"), std::string::npos);
  facts.newest->enumerators = {{"a", "x"}, {"e", "y"}};
  EXPECT_NE(refusal({{"a", "c"}, {"e", "c"}}).find("would also come from 'a'"), std::string::npos);
}

}  // namespace
}  // namespace weir::checkpoint
