// The simulated disk's crashes, power losses and errors: what they may and may not leave.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/sim_file_system.h"

namespace weir::simulation {
namespace {

constexpr uint64_t kSeeds = 200;

std::unique_ptr<WritableFile> Open(FileSystem& fs, const std::string& path, WriteMode mode = WriteMode::kAppend) {
  auto file = fs.OpenForWrite(path, mode);
  EXPECT_TRUE(file.has_value()) << file.error().ToString();
  return std::move(*file);
}

void Append(FileSystem& fs, const std::string& path, std::string_view data, bool sync) {
  const std::unique_ptr<WritableFile> file = Open(fs, path);
  EXPECT_TRUE(file->Append(data).ok());
  if (sync) {
    EXPECT_TRUE(file->Sync().ok());
  }
}

std::string Content(FileSystem& fs, const std::string& path) {
  auto content = ReadFile(fs, path);
  return content.has_value() ? *content : "<" + std::string(StatusCodeName(content.error().code())) + ">";
}

// A file under a durable name with "durable" on disk.
void MakeDurable(SimFileSystem& fs, const std::string& path) {
  Append(fs, path, "durable", true);
  EXPECT_TRUE(fs.SyncDirectory("/").ok());
}

TEST(PowerLossTest, KeepsSyncedBytesUnderSyncedNames) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    MakeDurable(fs, "/a");
    fs.PowerLoss();
    EXPECT_EQ(Content(fs, "/a"), "durable");
  }
}

TEST(PowerLossTest, DropsUnsyncedBytes) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  Append(fs, "/a", " and more", false);
  EXPECT_EQ(Content(fs, "/a"), "durable and more");
  fs.PowerLoss(UnsyncedData::kDropped);
  EXPECT_EQ(Content(fs, "/a"), "durable");
}

TEST(PowerLossTest, ACopyHasWhatIsDurableAndWhatIsNotAndGoesItsOwnWay) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  ASSERT_TRUE(fs.Link("/a", "/b").ok());
  Append(fs, "/a", " and more", false);
  const auto lock = fs.Lock("/lock");
  ASSERT_TRUE(lock.has_value());
  const std::unique_ptr<SimFileSystem> copy = fs.Copy(2);
  EXPECT_TRUE(copy->Lock("/lock").has_value());
  Append(fs, "/a", " of its own", true);
  EXPECT_EQ(Content(*copy, "/a"), "durable and more");
  Append(*copy, "/b", "!", false);
  EXPECT_EQ(Content(*copy, "/a"), "durable and more!");
  copy->PowerLoss(UnsyncedData::kDropped, UnsyncedNames::kDropped);
  EXPECT_EQ(Content(*copy, "/a"), "durable");
  EXPECT_FALSE(Exists(*copy, "/b"));
  EXPECT_EQ(Content(fs, "/b"), "durable and more of its own");
}

TEST(PowerLossTest, KeepsAPrefixOfTheOperations) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    MakeDurable(fs, "/a");
    for (const char* piece : {"-1", "-2", "-3"}) Append(fs, "/a", piece, false);
    fs.PowerLoss(UnsyncedData::kPrefix);
    seen.insert(Content(fs, "/a"));
  }
  EXPECT_EQ(seen, std::set<std::string>({"durable", "durable-1", "durable-1-2", "durable-1-2-3"}));
}

TEST(PowerLossTest, KeepsSectorsIndependently) {
  bool later_without_earlier = false;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    EXPECT_TRUE(fs.SyncDirectory("/").ok());
    Append(fs, "/a", "", true);
    EXPECT_TRUE(fs.SyncDirectory("/").ok());
    Append(fs, "/a", std::string(2000, 'x'), false);
    fs.PowerLoss(UnsyncedData::kSectors);
    const std::string content = Content(fs, "/a");
    ASSERT_LE(content.size(), 2000U);
    for (size_t at = 0; at < content.size(); ++at) {
      ASSERT_TRUE(content[at] == 'x' || content[at] == '\0');
      // A sector is there or not, as far as the file reaches.
      ASSERT_EQ(content[at], content[at / 512 * 512]);
    }
    later_without_earlier =
        later_without_earlier || (content.size() > 512 && content[0] == '\0' && content.back() == 'x');
  }
  EXPECT_TRUE(later_without_earlier);
}

TEST(PowerLossTest, TearsTheLastWrite) {
  std::set<size_t> lengths;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    MakeDurable(fs, "/a");
    Append(fs, "/a", "-whole", false);
    Append(fs, "/a", "-torn", false);
    fs.PowerLoss(UnsyncedData::kTornLast);
    const std::string content = Content(fs, "/a");
    EXPECT_TRUE(std::string("durable-whole-torn").starts_with(content));
    lengths.insert(content.size());
  }
  EXPECT_EQ(lengths, std::set<size_t>({13, 14, 15, 16, 17}));
}

TEST(PowerLossTest, MayUndoATruncation) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    MakeDurable(fs, "/a");
    EXPECT_TRUE(Open(fs, "/a", WriteMode::kTruncate)->Append("new").ok());
    fs.PowerLoss(UnsyncedData::kPrefix);
    seen.insert(Content(fs, "/a"));
  }
  EXPECT_EQ(seen, std::set<std::string>({"durable", "", "new"}));
}

TEST(PowerLossTest, LosesAFileWhoseFolderWasNotSynced) {
  SimFileSystem fs(1);
  Append(fs, "/a", "synced bytes", true);
  fs.PowerLoss({}, UnsyncedNames::kDropped);
  EXPECT_EQ(Content(fs, "/a"), "<not found>");
}

TEST(PowerLossTest, SyncOfAFolderDoesNotSyncItsFilesBytes) {
  SimFileSystem fs(1);
  Append(fs, "/a", "bytes", false);
  EXPECT_TRUE(fs.SyncDirectory("/").ok());
  fs.PowerLoss(UnsyncedData::kDropped);
  EXPECT_EQ(Content(fs, "/a"), "");
}

TEST(PowerLossTest, AFolderIsLostWithAllBelowIfItsOwnNameWasNotSynced) {
  SimFileSystem fs(1);
  EXPECT_TRUE(fs.CreateDirectories("/x/y").ok());
  Append(fs, "/x/y/a", "bytes", true);
  EXPECT_TRUE(fs.SyncDirectory("/x/y").ok());
  EXPECT_TRUE(fs.SyncDirectory("/x").ok());
  fs.PowerLoss({}, UnsyncedNames::kDropped);
  EXPECT_FALSE(Exists(fs, "/x"));
}

TEST(PowerLossTest, CreateDirectoriesDurablySavesWhatAnEarlierProcessHadMade) {
  SimFileSystem fs(1);
  EXPECT_TRUE(fs.CreateDirectories("/x").ok());
  fs.KillProcess();
  EXPECT_TRUE(CreateDirectoriesDurably(fs, "/x/y/z").ok());
  fs.PowerLoss({}, UnsyncedNames::kDropped);
  EXPECT_TRUE(Exists(fs, "/x/y/z"));
}

TEST(PowerLossTest, ARenameIsSeenWhollyOrNotAtAll) {
  std::set<std::vector<std::string>> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    MakeDurable(fs, "/old");
    EXPECT_TRUE(fs.Rename("/old", "/new").ok());
    fs.PowerLoss();
    seen.insert(*fs.List("/"));
  }
  EXPECT_EQ(seen, std::set<std::vector<std::string>>({{"old"}, {"new"}}));
}

TEST(PowerLossTest, ARenameBetweenFoldersIsDurableWithEitherFoldersSync) {
  for (const char* folder : {"/from", "/to"}) {
    SimFileSystem fs(1);
    EXPECT_TRUE(fs.CreateDirectories("/from").ok());
    EXPECT_TRUE(fs.CreateDirectories("/to").ok());
    EXPECT_TRUE(fs.SyncDirectory("/").ok());
    Append(fs, "/from/a", "bytes", true);
    EXPECT_TRUE(fs.Rename("/from/a", "/to/a").ok());
    EXPECT_TRUE(fs.SyncDirectory(folder).ok());
    fs.PowerLoss({}, UnsyncedNames::kDropped);
    EXPECT_EQ(Content(fs, "/to/a"), "bytes");
    EXPECT_FALSE(Exists(fs, "/from/a"));
  }
}

TEST(PowerLossTest, LaterNamesCanOutliveEarlierOnesButNotOfOneFile) {
  bool second_alone = false;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    Append(fs, "/first", "1", true);
    Append(fs, "/second", "2", true);
    fs.PowerLoss({}, UnsyncedNames::kSubset);
    second_alone = second_alone || (Exists(fs, "/second") && !Exists(fs, "/first"));

    Append(fs, "/moved", "3", true);
    EXPECT_TRUE(fs.Rename("/moved", "/there").ok());
    fs.PowerLoss({}, UnsyncedNames::kSubset);
    EXPECT_FALSE(Exists(fs, "/moved") && Exists(fs, "/there"));
  }
  EXPECT_TRUE(second_alone);
}

TEST(PowerLossTest, ARemovalNeedsASyncToo) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  EXPECT_TRUE(fs.Remove("/a").ok());
  fs.PowerLoss({}, UnsyncedNames::kDropped);
  EXPECT_EQ(Content(fs, "/a"), "durable");
  EXPECT_TRUE(fs.Remove("/a").ok());
  EXPECT_TRUE(fs.SyncDirectory("/").ok());
  fs.PowerLoss({}, UnsyncedNames::kDropped);
  EXPECT_FALSE(Exists(fs, "/a"));
}

TEST(PowerLossTest, WriteFileDurablyLeavesOldOrNewAtEveryStep) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (uint64_t step = 1;; ++step) {
      SimFileSystem fs(seed);
      ASSERT_TRUE(WriteFileDurably(fs, "/a", "old content").ok());
      const auto actions = {FaultAction::kCrashBefore, FaultAction::kCrashAfter, FaultAction::kCrashTorn};
      fs.Arm({.nth = step, .action = *(actions.begin() + seed % 3)});
      const Status status = WriteFileDurably(fs, "/a", "new content");
      const bool crashed = fs.crashed();
      fs.PowerLoss();
      const std::string content = Content(fs, "/a");
      EXPECT_TRUE(content == "new content" || (crashed && content == "old content")) << seed << ' ' << step << content;
      if (!crashed) {
        EXPECT_TRUE(status.ok());
        break;
      }
      EXPECT_TRUE(IsSimulatedCrash(status));
    }
  }
}

// The planted mistake: without the sync of the file the new name may show torn bytes.
TEST(PowerLossTest, FindsAMissingSync) {
  bool found = false;
  for (uint64_t seed = 0; seed < kSeeds && !found; ++seed) {
    SimFileSystem fs(seed);
    Append(fs, "/a.tmp", "new content", false);
    EXPECT_TRUE(fs.Rename("/a.tmp", "/a").ok());
    EXPECT_TRUE(fs.SyncDirectory("/").ok());
    fs.PowerLoss();
    found = Content(fs, "/a") != "new content";
  }
  EXPECT_TRUE(found);
}

TEST(PowerLossTest, SameSeedSameDisk) {
  const auto run = [](uint64_t seed) {
    SimFileSystem fs(seed);
    for (const char* path : {"/a", "/b", "/c"}) {
      for (int i = 0; i < 5; ++i) Append(fs, path, std::string(700, static_cast<char>('0' + i)), i == 1);
    }
    EXPECT_TRUE(fs.Rename("/a", "/d").ok());
    fs.PowerLoss();
    std::string all;
    const std::vector<std::string> names = *fs.List("/");
    for (const std::string& name : names) all += name + "=" + Content(fs, "/" + name) + "\n";
    return all;
  };
  std::set<std::string> different;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(run(seed), run(seed));
    different.insert(run(seed));
  }
  EXPECT_GT(different.size(), 10U);
}

TEST(CrashTest, EveryCallFailsUntilTheRestart) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  const std::unique_ptr<WritableFile> file = Open(fs, "/a");
  fs.Arm({.kind = OperationKind::kRename, .action = FaultAction::kCrashBefore});
  EXPECT_TRUE(IsSimulatedCrash(fs.Rename("/a", "/b")));
  EXPECT_TRUE(fs.crashed());
  EXPECT_TRUE(IsSimulatedCrash(file->Append("x")));
  EXPECT_TRUE(IsSimulatedCrash(fs.List("/").error()));
  EXPECT_TRUE(IsSimulatedCrash(fs.Remove("/a")));
  fs.KillProcess();
  EXPECT_FALSE(fs.crashed());
  EXPECT_EQ(Content(fs, "/a"), "durable");
}

TEST(CrashTest, BeforeAndAfterDifferInWhatWasDone) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  fs.Arm({.kind = OperationKind::kRename, .action = FaultAction::kCrashAfter});
  EXPECT_TRUE(IsSimulatedCrash(fs.Rename("/a", "/b")));
  fs.KillProcess();
  EXPECT_EQ(Content(fs, "/b"), "durable");
}

TEST(CrashTest, ATornAppendLeavesAPrefix) {
  std::set<size_t> lengths;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    const std::unique_ptr<WritableFile> file = Open(fs, "/a");
    fs.Arm({.kind = OperationKind::kAppend, .action = FaultAction::kCrashTorn});
    EXPECT_TRUE(IsSimulatedCrash(file->Append("0123")));
    fs.KillProcess();
    lengths.insert(Content(fs, "/a").size());
  }
  EXPECT_EQ(lengths, std::set<size_t>({0, 1, 2, 3, 4}));
}

TEST(CrashTest, ATornRemovalLeavesTheOuterPart) {
  bool partly = false;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    EXPECT_TRUE(fs.CreateDirectories("/x").ok());
    Append(fs, "/x/a", "1", true);
    Append(fs, "/x/b", "2", true);
    fs.Arm({.kind = OperationKind::kRemoveTree, .action = FaultAction::kCrashTorn});
    EXPECT_TRUE(IsSimulatedCrash(fs.RemoveTree("/x")));
    fs.KillProcess();
    partly = partly || (!Exists(fs, "/x/a") && Exists(fs, "/x/b"));
  }
  EXPECT_TRUE(partly);
}

TEST(CrashTest, AKilledProcessLosesItsHandlesAndLocksButNoBytes) {
  SimFileSystem fs(1);
  const std::unique_ptr<WritableFile> file = Open(fs, "/a");
  EXPECT_TRUE(file->Append("unsynced").ok());
  auto lock = fs.Lock("/lock");
  ASSERT_TRUE(lock.has_value());
  fs.KillProcess();
  EXPECT_EQ(Content(fs, "/a"), "unsynced");
  EXPECT_TRUE(IsSimulatedCrash(file->Append("a write of the dead")));
  EXPECT_EQ(Content(fs, "/a"), "unsynced");
  auto again = fs.Lock("/lock");
  EXPECT_TRUE(again.has_value());
  lock->reset();  // the dead holder's end does not free the new one's lock
  EXPECT_FALSE(fs.Lock("/lock").has_value());
}

TEST(FaultTest, FailsTheNthOperationOnce) {
  SimFileSystem fs(1);
  const std::unique_ptr<WritableFile> file = Open(fs, "/a");
  fs.Arm({.kind = OperationKind::kAppend, .nth = 2});
  EXPECT_TRUE(file->Append("1").ok());
  EXPECT_EQ(file->Append("2").code(), StatusCode::kIoError);
  EXPECT_TRUE(file->Append("3").ok());
  EXPECT_EQ(Content(fs, "/a"), "13");
}

TEST(FaultTest, FailsForGoodUntilDisarmed) {
  SimFileSystem fs(1);
  fs.Arm({.kind = OperationKind::kOpenForWrite, .path_part = "bad", .forever = true});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fs.OpenForWrite("/bad", WriteMode::kAppend).error().code(), StatusCode::kIoError);
    EXPECT_TRUE(fs.OpenForWrite("/good", WriteMode::kAppend).has_value());
  }
  fs.Disarm();
  EXPECT_TRUE(fs.OpenForWrite("/bad", WriteMode::kAppend).has_value());
}

TEST(FaultTest, AnErrorAfterTheEffectLeavesTheEffect) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  fs.Arm({.kind = OperationKind::kRename, .action = FaultAction::kErrorAfter});
  EXPECT_EQ(fs.Rename("/a", "/b").code(), StatusCode::kIoError);
  EXPECT_EQ(Content(fs, "/b"), "durable");
}

TEST(FaultTest, ReadsFailOnlyWhereTheFaultNamesThem) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  const uint64_t before = fs.operations();
  EXPECT_EQ(Content(fs, "/a"), "durable");
  EXPECT_EQ(fs.operations(), before);
  fs.Arm({.kind = OperationKind::kRead});
  EXPECT_EQ(Content(fs, "/a"), "<i/o error>");
}

TEST(FaultTest, AFailedSyncLosesThePagesAndASecondOneLies) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  {
    const std::unique_ptr<WritableFile> file = Open(fs, "/a");
    EXPECT_TRUE(file->Append(" lost").ok());
    fs.Arm({.kind = OperationKind::kSync});
    EXPECT_EQ(file->Sync().code(), StatusCode::kIoError);
    EXPECT_EQ(file->Sync().code(), StatusCode::kIoError);  // the file object remembers
  }
  EXPECT_TRUE(SyncFile(fs, "/a").ok());  // another one does not know
  EXPECT_EQ(Content(fs, "/a"), "durable lost");
  fs.PowerLoss(UnsyncedData::kKept);
  EXPECT_EQ(Content(fs, "/a"), "durable");
}

TEST(FaultTest, AFailedFolderSyncLeavesTheNamesFateOpen) {
  std::set<bool> survived;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    Append(fs, "/a", "x", true);
    fs.Arm({.kind = OperationKind::kSyncDirectory});
    EXPECT_EQ(fs.SyncDirectory("/").code(), StatusCode::kIoError);
    EXPECT_TRUE(fs.SyncDirectory("/").ok());
    fs.PowerLoss();
    survived.insert(Exists(fs, "/a"));
  }
  EXPECT_EQ(survived.size(), 2U);
}

TEST(FaultTest, AFullDiskTakesWhatFitsAndRecoversWhenFilesGo) {
  SimFileSystem fs(1);
  Append(fs, "/old", "0123456789", true);
  fs.SetCapacity(15);
  EXPECT_EQ(fs.FreeBytes("/"), 5U);
  const std::unique_ptr<WritableFile> file = Open(fs, "/a");
  const Status full = file->Append("abcdefgh");
  EXPECT_EQ(full.code(), StatusCode::kIoError);
  EXPECT_NE(full.message().find("No space left"), std::string::npos);
  EXPECT_EQ(Content(fs, "/a"), "abcde");
  EXPECT_TRUE(fs.Remove("/old").ok());
  EXPECT_EQ(fs.FreeBytes("/"), 10U);
  EXPECT_TRUE(file->Append("fgh").ok());
  fs.PowerLoss(UnsyncedData::kKept, UnsyncedNames::kKept);
  EXPECT_EQ(fs.FreeBytes("/"), 7U);
}

TEST(FaultTest, DamageReachesTheMedium) {
  SimFileSystem fs(1);
  MakeDurable(fs, "/a");
  EXPECT_TRUE(fs.Damage("/a", [](std::string& content) { content[0] = 'D'; }).ok());
  EXPECT_EQ(fs.Damage("/b", [](std::string&) {}).code(), StatusCode::kNotFound);
  fs.PowerLoss();
  EXPECT_EQ(Content(fs, "/a"), "Durable");
}

TEST(FaultTest, TheObserverSeesEachOperation) {
  SimFileSystem fs(1);
  std::string seen;
  fs.SetObserver([&](OperationKind kind, const std::string& path) {
    seen += std::string(OperationKindName(kind)) + ' ' + path + '\n';
  });
  Append(fs, "/a", "x", true);
  EXPECT_EQ(seen, "open for write /a\nappend /a\nsync /a\n");
  EXPECT_EQ(fs.operations(), 3U);
}

}  // namespace
}  // namespace weir::simulation
