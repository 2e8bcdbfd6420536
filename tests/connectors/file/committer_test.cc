// What the committer refuses, and that two jobs do not see each other.
#include "connectors/file/committer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/file/marker.h"
#include "connectors/marker_text.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::connectors {
namespace {

using checkpoint::Committable;
using checkpoint::Marker;

constexpr UniqueId kAttempt{.high = 0x1111, .low = 1};
constexpr UniqueId kOther{.high = 0x2222, .low = 2};

Marker MarkerOf(UniqueId attempt, uint64_t number) {
  return {.job = "a",
          .storage = {.high = 3, .low = 4},
          .attempt = attempt,
          .checkpoint = {.number = number, .id = {.high = number, .low = 9}}};
}

class FileCommitterTest : public testing::Test {
 protected:
  // A sealed part with `text` by `attempt`.
  Committable Seal(const std::string& job, UniqueId attempt, uint64_t sequence, const std::string& text) {
    PartWriter parts(fs_, SinkFolder("/out", job), false);
    const std::string name = PartName(PartNameStem("part", "sink", attempt, 0), sequence);
    EXPECT_TRUE(parts.Append(name, text).ok());
    const Result<Part> part = parts.Seal(1);
    EXPECT_TRUE(part.has_value());
    return {
        .system = "file:/out", .uid = "sink", .payload = PartToJson(*part), .size_bytes = part->size_bytes, .rows = 1};
  }
  std::string FinalPath(const Committable& committable) {
    return JoinPath("/out", PartFromJson(committable.payload)->name);
  }

  simulation::SimFileSystem fs_{3};
};

TEST_F(FileCommitterTest, TheMarkerIsWhatWasSignedOrApplied) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_FALSE(committer.Peek()->has_value());
  ASSERT_TRUE(committer.Fence().ok());
  ASSERT_FALSE(committer.ReadMarker()->has_value());
  ASSERT_TRUE(committer.Sign(MarkerOf(kAttempt, 0), {}).ok());
  EXPECT_EQ(**committer.Peek(), MarkerOf(kAttempt, 0));
  const Committable part = Seal("a", kAttempt, 0, "x\n");
  ASSERT_TRUE(committer.Apply(MarkerOf(kAttempt, 1), {&part, 1}).ok());
  EXPECT_EQ(**committer.ReadMarker(), MarkerOf(kAttempt, 1));
  EXPECT_EQ(*ReadFile(fs_, FinalPath(part)), "x\n");
  ASSERT_TRUE(committer.Apply(MarkerOf(kAttempt, 1), {&part, 1}).ok()) << "again";
  EXPECT_EQ(*ReadFile(fs_, FinalPath(part)), "x\n");
}

TEST_F(FileCommitterTest, TwoCommittersOfOneJobFenceEachOther) {
  auto first = std::make_unique<FileCommitter>(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(first->Fence().ok());
  FileCommitter second(fs_, SinkFolder("/out", "a"));
  const Status refused = second.Fence();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("/out"), std::string::npos);
  first.reset();
  EXPECT_TRUE(second.Fence().ok());
}

TEST_F(FileCommitterTest, TwoJobsOnOneFolderDoNotDisturbEachOther) {
  FileCommitter a(fs_, SinkFolder("/out", "a"));
  FileCommitter b(fs_, SinkFolder("/out", "b"));
  ASSERT_TRUE(a.Fence().ok());
  ASSERT_TRUE(b.Fence().ok());
  const Committable of_a = Seal("a", kAttempt, 0, "a\n");
  const Committable of_b = Seal("b", kAttempt, 0, "b\n");  // even under the same name
  ASSERT_TRUE(a.Sign(MarkerOf(kOther, 0), {&of_a, 1}).ok());
  ASSERT_TRUE(b.Sign(MarkerOf(kOther, 0), {&of_b, 1}).ok());
  ASSERT_TRUE(a.Apply(MarkerOf(kOther, 1), {&of_a, 1}).ok());
  EXPECT_TRUE(Exists(fs_, SinkFolder("/out", "b").HiddenPart(PartFromJson(of_b.payload)->name)));
  EXPECT_EQ(b.ReadMarker()->value().checkpoint.number, 0U);
}

TEST_F(FileCommitterTest, SignDeletesWhatNobodyListsButNotThisAttemptsParts) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  const Committable listed = Seal("a", kOther, 0, "listed\n");
  const Committable lost = Seal("a", kOther, 1, "not listed\n");
  const Committable ours = Seal("a", kAttempt, 0, "ours\n");
  ASSERT_TRUE(committer.Sign(MarkerOf(kAttempt, 0), {&listed, 1}).ok());
  const SinkFolder folder("/out", "a");
  EXPECT_TRUE(Exists(fs_, folder.HiddenPart(PartFromJson(listed.payload)->name)));
  EXPECT_FALSE(Exists(fs_, folder.HiddenPart(PartFromJson(lost.payload)->name)));
  EXPECT_TRUE(Exists(fs_, folder.HiddenPart(PartFromJson(ours.payload)->name)));
}

TEST_F(FileCommitterTest, ADamagedMarkerIsAnErrorThatNamesTheFile) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  ASSERT_TRUE(committer.Sign(MarkerOf(kAttempt, 1), {}).ok());
  const std::string path = SinkFolder("/out", "a").marker();
  const std::string good = *ReadFile(fs_, path);
  for (size_t i = 0; i + 1 < good.size(); ++i) {
    ASSERT_TRUE(fs_.Damage(path, [&](std::string& content) { content[i] = static_cast<char>(content[i] ^ 1); }).ok());
    const auto found = committer.Peek();
    ASSERT_FALSE(found.has_value()) << i;
    EXPECT_EQ(found.error().code(), StatusCode::kCorruption);
    EXPECT_NE(found.error().message().find(path), std::string::npos);
    ASSERT_TRUE(fs_.Damage(path, [&](std::string& content) { content = good; }).ok());
  }
  for (const size_t size : {size_t{0}, size_t{1}, good.size() / 2}) {
    ASSERT_TRUE(fs_.Damage(path, [&](std::string& content) { content = good.substr(0, size); }).ok());
    EXPECT_FALSE(committer.Peek().has_value()) << size;
  }
}

TEST_F(FileCommitterTest, APartThatIsNotWhatTheCheckpointSaysIsNotPublished) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  const Committable part = Seal("a", kOther, 0, "listed\n");
  const std::string hidden = SinkFolder("/out", "a").HiddenPart(PartFromJson(part.payload)->name);
  ASSERT_TRUE(committer.Sign(MarkerOf(kAttempt, 0), {&part, 1}).ok());
  ASSERT_TRUE(fs_.Damage(hidden, [](std::string& content) { content[2] ^= 1; }).ok());
  const Status flipped = committer.Apply(MarkerOf(kAttempt, 1), {&part, 1});
  EXPECT_EQ(flipped.code(), StatusCode::kCorruption);
  EXPECT_NE(flipped.message().find(hidden), std::string::npos);
  ASSERT_TRUE(fs_.Remove(hidden).ok());
  const Status gone = committer.Apply(MarkerOf(kAttempt, 1), {&part, 1});
  EXPECT_EQ(gone.code(), StatusCode::kCorruption);
  EXPECT_EQ(committer.ReadMarker()->value().checkpoint.number, 0U);
}

// Scenario 21 for files: a part that waits under its hidden name makes the checkpoint that lists it damaged.
TEST_F(FileCommitterTest, VerifyFindsWhatIsMissingOrChangedBeforeAnythingIsPublished) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  const std::vector<Committable> parts = {Seal("a", kOther, 0, "first\n"), Seal("a", kOther, 1, "second\n")};
  EXPECT_TRUE(committer.Verify(parts).ok());
  EXPECT_TRUE(committer.Verify({}).ok());
  const std::string hidden = SinkFolder("/out", "a").HiddenPart(PartFromJson(parts[1].payload)->name);
  ASSERT_TRUE(fs_.Damage(hidden, [](std::string& content) { content[2] ^= 1; }).ok());
  const Status flipped = committer.Verify(parts);
  EXPECT_EQ(flipped.code(), StatusCode::kCorruption);
  EXPECT_NE(flipped.message().find(hidden), std::string::npos);
  ASSERT_TRUE(fs_.Damage(hidden, [](std::string& content) { content.pop_back(); }).ok());
  EXPECT_EQ(committer.Verify(parts).code(), StatusCode::kCorruption);
  EXPECT_TRUE(committer.Verify({parts.data(), 1}).ok());
  ASSERT_TRUE(fs_.Remove(hidden).ok());
  const Status gone = committer.Verify(parts);
  EXPECT_EQ(gone.code(), StatusCode::kCorruption);
  EXPECT_NE(gone.message().find(hidden), std::string::npos);
}

TEST_F(FileCommitterTest, VerifyTakesAPartThatIsPublishedAlready) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  const std::vector<Committable> parts = {Seal("a", kAttempt, 0, "first\n"), Seal("a", kAttempt, 1, "second\n")};
  ASSERT_TRUE(committer.Sign(MarkerOf(kAttempt, 0), {}).ok());
  ASSERT_TRUE(committer.Apply(MarkerOf(kAttempt, 1), {parts.data(), 1}).ok());
  EXPECT_TRUE(committer.Verify(parts).ok());
}

// Half of a checkpoint can be seen, the other half is damaged: to pass over it would write the first half again.
TEST_F(FileCommitterTest, VerifyStopsTheStartWhereDamageMeetsVisibleParts) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  const std::vector<Committable> parts = {Seal("a", kAttempt, 0, "first\n"), Seal("a", kAttempt, 1, "second\n")};
  ASSERT_TRUE(committer.Sign(MarkerOf(kAttempt, 0), {}).ok());
  ASSERT_TRUE(committer.Apply(MarkerOf(kAttempt, 1), {parts.data(), 1}).ok());
  ASSERT_TRUE(fs_.Remove(SinkFolder("/out", "a").HiddenPart(PartFromJson(parts[1].payload)->name)).ok());
  const Status stopped = committer.Verify(parts);
  EXPECT_EQ(stopped.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(stopped.message().find(PartFromJson(parts[0].payload)->name), std::string::npos);
  ASSERT_TRUE(fs_.Damage(FinalPath(parts[0]), [](std::string& content) { content[0] ^= 1; }).ok());
  EXPECT_EQ(committer.Verify({parts.data(), 1}).code(), StatusCode::kFailedPrecondition);
}

TEST_F(FileCommitterTest, AnotherAttemptsMarkerMeansFenced) {
  FileCommitter committer(fs_, SinkFolder("/out", "a"));
  ASSERT_TRUE(committer.Fence().ok());
  ASSERT_TRUE(committer.Sign(MarkerOf(kOther, 0), {}).ok());
  EXPECT_EQ(committer.Apply(MarkerOf(kAttempt, 1), {}).code(), StatusCode::kFenced);
}

TEST(SinkFolderTest, NamesTellTheAttempt) {
  const std::string name = PartName(PartNameStem("part", "my sink/1", kAttempt, 3), 12);
  EXPECT_EQ(name, "part-my~20sink~2f1-0000000000001111-3-12.jsonl");
  EXPECT_TRUE(IsOfAttempt(name, kAttempt));
  EXPECT_FALSE(IsOfAttempt(name, kOther));
  EXPECT_FALSE(IsOfAttempt(PartName(PartNameStem("part", "x-0000000000001111-3", kOther, 0), 1), kAttempt));
}

TEST(SinkFolderTest, PathsBecomeAbsoluteAndPlain) {
  EXPECT_EQ(*AbsolutePath("/a//b/./c/../d/", ""), "/a/b/d");
  EXPECT_EQ(*AbsolutePath("out", "/cwd"), "/cwd/out");
  EXPECT_EQ(*AbsolutePath("/..", ""), "/");
  EXPECT_FALSE(AbsolutePath("out", "").has_value());
  EXPECT_FALSE(AbsolutePath("", "/x").has_value());
}

}  // namespace
}  // namespace weir::connectors
