#include "checkpoint/checkpoint_storage.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/fault_site.h"
#include "checkpoint/applied_hint.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::checkpoint {
namespace {

class CheckpointStorageTest : public testing::Test {
 protected:
  std::unique_ptr<CheckpointStorage> Open() {
    auto storage = CheckpointStorage::Open(fs_, "/a/b/storage/", "orders", random_);
    EXPECT_TRUE(storage.has_value()) << storage.error().ToString();
    return storage.has_value() ? std::move(*storage) : nullptr;
  }
  state::StateFile NewFile(CheckpointStorage& storage, const std::string& name, const std::string& content) {
    const std::string path = "shared/" + name;
    auto file = fs_.OpenForWrite(JoinPath(storage.root(), path), WriteMode::kCreateNew);
    EXPECT_TRUE((*file)->Append(content).ok());
    EXPECT_TRUE((*file)->Close().ok());
    return {.name = name, .path = path, .size_bytes = content.size(), .checksum = Hash64(content)};
  }
  CheckpointMetadata Metadata(CheckpointStorage& storage, uint64_t number, std::vector<state::StateFile> files) {
    CheckpointMetadata metadata;
    metadata.job = storage.job();
    metadata.storage = storage.id();
    metadata.id = {.number = number, .id = random_.NextId()};
    SubtaskMetadata subtask;
    subtask.state.files = std::move(files);
    metadata.vertices = {{.vertex = 0, .uids = {"x"}, .parallelism = 1, .subtasks = {subtask}}};
    return metadata;
  }
  PublishFate Publish(CheckpointStorage& storage, uint64_t number, std::vector<state::StateFile> files) {
    EXPECT_TRUE(storage.Begin(number).ok());
    return storage.Publish(Metadata(storage, number, std::move(files))).fate;
  }

  // A checkpoint whose output in these segments waits for a system.
  PublishFate PublishWithSegments(CheckpointStorage& storage, uint64_t number, const std::vector<std::string>& names) {
    CheckpointMetadata metadata = Metadata(storage, number, {});
    CheckpointOutput output{.checkpoint = metadata.id, .committables = {}};
    for (const std::string& name : names) {
      output.committables.push_back({.system = "kafka:x", .uid = "sink", .payload = {}, .segment = name});
    }
    metadata.systems.push_back({.identity = "kafka:x", .base = std::nullopt, .later = {}});
    if (!names.empty()) metadata.systems.front().later.push_back(std::move(output));
    EXPECT_TRUE(storage.Begin(number).ok());
    return storage.Publish(metadata).fate;
  }
  std::string NewSegment(CheckpointStorage& storage, const std::string& name) {
    std::string path = JoinPath(storage.OutputFolder(), name);
    EXPECT_TRUE(WriteFileDurably(fs_, path, "rows").ok());
    return path;
  }

  simulation::SimFileSystem fs_{5};
  SeededRandom random_{6};
};

TEST_F(CheckpointStorageTest, KeepsItsIdentityAndItsLock) {
  auto storage = Open();
  const UniqueId id = storage->id();
  const auto second = CheckpointStorage::Open(fs_, "/a/b/storage", "orders", random_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(second.error().message().find("/a/b/storage/orders"), std::string::npos);
  storage.reset();
  fs_.PowerLoss(simulation::UnsyncedData::kDropped, simulation::UnsyncedNames::kDropped);
  EXPECT_EQ(Open()->id(), id);
}

// Found by the simulator, seed 104777.
TEST_F(CheckpointStorageTest, AnIdentityWhoseFolderSyncFailedIsMadeDurableByTheNextStart) {
  Open();  // the folders are there for good
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    ASSERT_TRUE(fs_.Remove("/a/b/storage/orders/storage-id").ok());
    ASSERT_TRUE(fs_.SyncDirectory("/a/b/storage/orders").ok());
    fs_.Arm({.kind = simulation::OperationKind::kSyncDirectory, .path_part = "/a/b/storage/orders", .nth = nth});
    (void)CheckpointStorage::Open(fs_, "/a/b/storage", "orders", random_);
    fs_.Disarm();
    const UniqueId id = Open()->id();
    fs_.PowerLoss(simulation::UnsyncedData::kDropped, simulation::UnsyncedNames::kDropped);
    EXPECT_EQ(Open()->id(), id) << "folder sync " << nth;
  }
}

// Found by the simulator, seed 707456.
TEST_F(CheckpointStorageTest, FoldersWhoseSyncFailedAreMadeDurableByTheNextStart) {
  for (uint64_t nth = 1; nth <= 2; ++nth) {
    const std::string job = "job-" + std::to_string(nth);
    const std::string root = "/a/b/storage/" + job;
    ASSERT_TRUE(CreateDirectoriesDurably(fs_, root).ok());
    fs_.Arm({.kind = simulation::OperationKind::kSyncDirectory, .path_part = root, .nth = nth});
    (void)CheckpointStorage::Open(fs_, "/a/b/storage", job, random_);
    fs_.Disarm();
    auto storage = std::move(*CheckpointStorage::Open(fs_, "/a/b/storage", job, random_));
    ASSERT_TRUE(WriteFileDurably(fs_, JoinPath(storage->OutputFolder(), "segment"), "rows").ok());
    ASSERT_TRUE(WriteFileDurably(fs_, JoinPath(storage->SharedFolder(), "file"), "state").ok());
    fs_.PowerLoss(simulation::UnsyncedData::kDropped, simulation::UnsyncedNames::kDropped);
    EXPECT_TRUE(Exists(fs_, JoinPath(storage->OutputFolder(), "segment"))) << "folder sync " << nth;
    EXPECT_TRUE(Exists(fs_, JoinPath(storage->SharedFolder(), "file"))) << "folder sync " << nth;
    storage.reset();
  }
}

TEST_F(CheckpointStorageTest, RefusesAJobNameThatIsNoFolder) {
  for (const char* name : {"", ".", "..", "a/b"}) {
    EXPECT_EQ(CheckpointStorage::Open(fs_, "/s", name, random_).error().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(CheckpointStorageTest, WhatIsDurableSurvivesAPowerLoss) {
  auto storage = Open();
  ASSERT_EQ(Publish(*storage, 1, {NewFile(*storage, "f1", "one")}), PublishFate::kDurable);
  storage.reset();
  fs_.PowerLoss(simulation::UnsyncedData::kDropped, simulation::UnsyncedNames::kDropped);
  storage = Open();
  const auto metadata = storage->LoadMetadata(1);
  ASSERT_TRUE(metadata.has_value()) << metadata.error().ToString();
  EXPECT_TRUE(storage->VerifyFiles(*metadata, CheckpointStorage::Verify::kChecksums).ok());
  EXPECT_TRUE(storage->FirstPublished());
}

TEST_F(CheckpointStorageTest, PublishRefusesFilesThatAreNotThere) {
  auto storage = Open();
  state::StateFile file = NewFile(*storage, "f1", "one");
  file.size_bytes = 4;
  EXPECT_EQ(Publish(*storage, 1, {file}), PublishFate::kNotPublished);
  EXPECT_TRUE(storage->DurableNumbers()->empty());
  EXPECT_EQ(*storage->GreatestNumber(), 1U);
}

TEST_F(CheckpointStorageTest, GarbageIsWhatNoRetainedCheckpointNames) {
  auto storage = Open();
  const auto f1 = NewFile(*storage, "f1", "one");
  const auto f2 = NewFile(*storage, "f2", "two");
  ASSERT_EQ(Publish(*storage, 1, {f1}), PublishFate::kDurable);
  ASSERT_EQ(Publish(*storage, 2, {f1, f2}), PublishFate::kDurable);
  ASSERT_TRUE(storage->Begin(3).ok());  // aborted
  const auto f4 = NewFile(*storage, "f4", "four");
  NewFile(*storage, "left-over", "x");
  ASSERT_EQ(Publish(*storage, 4, {f2, f4}), PublishFate::kDurable);
  auto garbage = storage->FindGarbage(2);
  ASSERT_TRUE(garbage.has_value());
  EXPECT_EQ(garbage->folders, (std::vector<std::string>{storage->CheckpointFolder(1), storage->CheckpointFolder(3)}));
  EXPECT_EQ(garbage->files, std::vector<std::string>{storage->SharedFolder() + "/left-over"});
  ASSERT_TRUE(storage->DeleteGarbage(*garbage).ok());
  ASSERT_TRUE(storage->DeleteGarbage(*garbage).ok());
  garbage = storage->FindGarbage(1);
  EXPECT_EQ(garbage->files, std::vector<std::string>{storage->SharedFolder() + "/f1"});
}

TEST_F(CheckpointStorageTest, ASegmentStaysAsLongAsARetainedCheckpointNamesIt) {
  auto storage = Open();
  const std::string a = NewSegment(*storage, "a");
  const std::string b = NewSegment(*storage, "b");
  const std::string unnamed = NewSegment(*storage, "being-written");
  ASSERT_EQ(PublishWithSegments(*storage, 1, {"a"}), PublishFate::kDurable);
  ASSERT_EQ(PublishWithSegments(*storage, 2, {"a", "b"}), PublishFate::kDurable);
  EXPECT_TRUE(storage->FindGarbage(1)->files.empty());
  ASSERT_EQ(PublishWithSegments(*storage, 3, {"b"}), PublishFate::kDurable);
  EXPECT_TRUE(storage->FindGarbage(2)->files.empty()) << "checkpoint 2 names both";
  ASSERT_EQ(PublishWithSegments(*storage, 4, {"b"}), PublishFate::kDurable);
  EXPECT_EQ(storage->FindGarbage(2)->files, std::vector<std::string>{a});
  ASSERT_EQ(PublishWithSegments(*storage, 5, {}), PublishFate::kDurable);
  EXPECT_TRUE(storage->FindGarbage(2)->files.empty());
  EXPECT_EQ(storage->FindGarbage(1)->files, std::vector<std::string>{b});
  // A start knows that nothing writes.
  storage.reset();
  storage = Open();
  EXPECT_EQ(storage->FindLeftovers(1)->files, (std::vector<std::string>{a, b, unnamed}));
  EXPECT_EQ(storage->FindLeftovers(2)->files, (std::vector<std::string>{a, unnamed}));
}

TEST_F(CheckpointStorageTest, TheGreatestAbortedFolderStays) {
  auto storage = Open();
  ASSERT_EQ(Publish(*storage, 1, {}), PublishFate::kDurable);
  for (uint64_t number = 2; number < 6; ++number) ASSERT_TRUE(storage->Begin(number).ok());
  const auto garbage = storage->FindGarbage(3);
  EXPECT_EQ(garbage->folders.size(), 3U);
  ASSERT_TRUE(storage->DeleteGarbage(*garbage).ok());
  EXPECT_EQ(*storage->GreatestNumber(), 5U);
}

TEST_F(CheckpointStorageTest, AFolderWithANumberThatIsNotOursLeavesTheNumbersAlone) {
  ASSERT_TRUE(fs_.CreateDirectories("/storage/job/chk-18446744073709551615").ok());
  const auto storage = Open();
  EXPECT_EQ(*storage->GreatestNumber(), 0U);
}

TEST_F(CheckpointStorageTest, AnUnreadableRetainedCheckpointKeepsAllFiles) {
  auto storage = Open();
  const auto f1 = NewFile(*storage, "f1", "one");
  ASSERT_EQ(Publish(*storage, 1, {f1}), PublishFate::kDurable);
  ASSERT_EQ(Publish(*storage, 2, {}), PublishFate::kDurable);
  storage.reset();
  storage = Open();
  ASSERT_TRUE(fs_.Damage(storage->CheckpointFolder(1) + "/_metadata", [](std::string& bytes) { bytes.clear(); }).ok());
  EXPECT_TRUE(storage->FindGarbage(2)->files.empty());
  ASSERT_TRUE(storage->KeepAside(1).ok());
  EXPECT_EQ(*storage->DurableNumbers(), std::vector<uint64_t>{2});
  EXPECT_EQ(storage->FindGarbage(2)->files.size(), 1U);
}

TEST_F(CheckpointStorageTest, ADeletionThatIsCutOffLeavesTheRetainedWhole) {
  for (uint64_t nth = 1; nth < 12; ++nth) {
    simulation::SimFileSystem fs(nth);
    auto storage = *CheckpointStorage::Open(fs, "/s", "j", random_);
    CheckpointMetadata newest;
    for (uint64_t number = 1; number < 6; ++number) {
      const std::string path = "shared/f" + std::to_string(number);
      ASSERT_TRUE(WriteFileDurably(fs, JoinPath(storage->root(), path), "x").ok());
      newest.job = "j";
      newest.storage = storage->id();
      newest.id = {.number = number, .id = random_.NextId()};
      SubtaskMetadata subtask;
      subtask.state.files = {{.name = "f", .path = path, .size_bytes = 1, .checksum = Hash64("x")}};
      newest.vertices = {{.vertex = 0, .uids = {}, .parallelism = 1, .subtasks = {subtask}}};
      ASSERT_TRUE(storage->Begin(number).ok());
      ASSERT_EQ(storage->Publish(newest).fate, PublishFate::kDurable);
    }
    const auto garbage = storage->FindGarbage(1);
    fs.Arm({.nth = nth, .action = simulation::FaultAction::kCrashTorn});
    (void)storage->DeleteGarbage(*garbage).ok();
    storage.reset();
    fs.Disarm();
    fs.PowerLoss();
    storage = *CheckpointStorage::Open(fs, "/s", "j", random_);
    EXPECT_EQ(storage->DurableNumbers()->front(), 5U);
    EXPECT_TRUE(storage->VerifyFiles(newest, CheckpointStorage::Verify::kChecksums).ok());
  }
}

TEST_F(CheckpointStorageTest, ImportTakesTheFilesOfAnotherStorage) {
  auto storage = Open();
  ASSERT_EQ(Publish(*storage, 1, {NewFile(*storage, "f1", "one"), NewFile(*storage, "f2", "two")}),
            PublishFate::kDurable);
  auto other = *CheckpointStorage::Open(fs_, "/other", "orders", random_);
  CheckpointMetadata metadata = *ReadCheckpointFolder(fs_, "/a/b/storage/orders/chk-1");
  ASSERT_TRUE(other->Import("/a/b/storage/orders/chk-1/", {.high = 1, .low = 2}, metadata).ok());
  ASSERT_TRUE(fs_.RemoveTree("/a/b").ok());
  EXPECT_TRUE(other->VerifyFiles(metadata, CheckpointStorage::Verify::kChecksums).ok());
  EXPECT_EQ(metadata.StateFiles().size(), 2U);
}

TEST_F(CheckpointStorageTest, HintsAreHints) {
  auto storage = Open();
  const CheckpointId id{.number = 4, .id = {.high = 1, .low = 9}};
  EXPECT_FALSE(ReadAppliedHint(fs_, storage->root(), "file:/out").has_value());
  ASSERT_TRUE(WriteAppliedHint(fs_, storage->root(), "file:/out", id).ok());
  EXPECT_EQ(ReadAppliedHint(fs_, storage->root(), "file:/out"), id);
  EXPECT_EQ(AppliedHintName("file:/out"), "file%3A%2Fout");
  EXPECT_EQ(AppliedHintName(".."), "%2E.");
  EXPECT_LT(AppliedHintName(std::string(1000, '/')).size(), 256U);
  ASSERT_TRUE(fs_.Damage(storage->root() + "/applied/file%3A%2Fout", [](std::string& bytes) { bytes[3] = 7; }).ok());
  EXPECT_FALSE(ReadAppliedHint(fs_, storage->root(), "file:/out").has_value());
}

TEST_F(CheckpointStorageTest, DeletesEverythingButItsNumbers) {
  auto storage = Open();
  const std::string segment = NewSegment(*storage, "s-1");
  EXPECT_EQ(Publish(*storage, 1, {NewFile(*storage, "a", "aaa")}), PublishFate::kDurable);
  EXPECT_EQ(PublishWithSegments(*storage, 2, {"s-1"}), PublishFate::kDurable);
  EXPECT_EQ(Publish(*storage, 3, {NewFile(*storage, "b", "bbb")}), PublishFate::kDurable);
  ASSERT_TRUE(storage->DeleteAll().ok());
  EXPECT_TRUE(storage->DurableNumbers()->empty());
  EXPECT_EQ(*storage->GreatestNumber(), 3U);
  EXPECT_TRUE(storage->FirstPublished());
  EXPECT_TRUE(fs_.List(storage->SharedFolder())->empty());
  EXPECT_TRUE(fs_.List(storage->CheckpointFolder(3))->empty());
  EXPECT_FALSE(Exists(fs_, segment));
  EXPECT_TRUE(storage->DeleteAll().ok());
}

TEST_F(CheckpointStorageTest, ACrashOfTheDeletionLeavesTheNewestOrNone) {
  for (const auto names : {simulation::UnsyncedNames::kKept, simulation::UnsyncedNames::kDropped}) {
    bool finished = false;
    for (uint64_t step = 1; !finished; ++step) {
      SCOPED_TRACE("power loss at operation " + std::to_string(step));
      auto storage = Open();
      uint64_t number = *storage->GreatestNumber();
      for (const char* name : {"a", "b", "c"}) {
        ++number;
        EXPECT_EQ(Publish(*storage, number, {NewFile(*storage, name + std::to_string(number), name)}),
                  PublishFate::kDurable);
      }
      fs_.Arm({.nth = step, .action = simulation::FaultAction::kCrashBefore});
      finished = storage->DeleteAll().ok();
      storage.reset();
      fs_.Disarm();
      fs_.PowerLoss({}, names);
      storage = Open();
      const std::vector<uint64_t> left = *storage->DurableNumbers();
      EXPECT_TRUE(left.empty() || left.front() == number);
      EXPECT_TRUE(left.empty() || !finished);
      EXPECT_EQ(*storage->GreatestNumber(), number);
      for (const uint64_t one : left) {
        const auto metadata = storage->LoadMetadata(one);
        ASSERT_TRUE(metadata.has_value());
        if (one == number) {
          EXPECT_TRUE(storage->VerifyFiles(*metadata, CheckpointStorage::Verify::kChecksums).ok());
        }
      }
      EXPECT_TRUE(storage->DeleteAll().ok());
    }
  }
}

}  // namespace
}  // namespace weir::checkpoint
