// The same cases against the machine's disk and the simulated one: what the simulator says about the engine is worth
// as much as the two agree.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "tests/simulation/sim_file_system.h"

namespace weir {
namespace {

// A file system and a folder in it that is the test's own.
class Ground {
 public:
  virtual ~Ground() = default;
  virtual FileSystem& fs() = 0;
  virtual std::string folder() = 0;
};

class PosixGround final : public Ground {
 public:
  PosixGround() {
    folder_ = (std::filesystem::temp_directory_path() / "weir-fs-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~PosixGround() override { std::filesystem::remove_all(folder_); }
  FileSystem& fs() override { return *fs_; }
  std::string folder() override { return folder_; }

 private:
  std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
  std::string folder_;
};

class SimGround final : public Ground {
 public:
  SimGround() : fs_(1) { EXPECT_TRUE(fs_.CreateDirectories("/ground").ok()); }
  FileSystem& fs() override { return fs_; }
  std::string folder() override { return "/ground"; }

 private:
  simulation::SimFileSystem fs_;
};

struct GroundFactory {
  std::string name;
  std::unique_ptr<Ground> (*make)();
};

class FileSystemConformanceTest : public testing::TestWithParam<GroundFactory> {
 protected:
  FileSystem& fs() { return ground_->fs(); }
  std::string At(std::string_view name) { return JoinPath(ground_->folder(), name); }

  StatusCode Write(std::string_view name, std::string_view content, WriteMode mode = WriteMode::kTruncate) {
    auto file = fs().OpenForWrite(At(name), mode);
    if (!file.has_value()) return file.error().code();
    if (const Status status = (*file)->Append(content); !status.ok()) return status.code();
    return (*file)->Close().code();
  }
  std::string Content(std::string_view name) {
    auto content = ReadFile(fs(), At(name));
    return content.has_value() ? *content : content.error().ToString();
  }
  std::vector<std::string> Names(std::string_view name = "") {
    auto names = fs().List(At(name));
    if (!names.has_value()) return {names.error().ToString()};
    return *names;
  }
  StatusCode StatCode(std::string_view name) {
    auto info = fs().Stat(At(name));
    return info.has_value() ? StatusCode::kOk : info.error().code();
  }
  using StringVector = std::vector<std::string>;

 private:
  std::unique_ptr<Ground> ground_ = GetParam().make();
};

// Writing and reading.

TEST_P(FileSystemConformanceTest, ReadsBackWhatWasWritten) {
  EXPECT_EQ(Write("a", std::string("x\0y\n", 4)), StatusCode::kOk);
  EXPECT_EQ(Content("a"), std::string("x\0y\n", 4));
}

TEST_P(FileSystemConformanceTest, AppendsPiecesInOrder) {
  auto file = fs().OpenForWrite(At("a"), WriteMode::kCreateNew);
  ASSERT_TRUE(file.has_value());
  for (const char* piece : {"one ", "", "two ", "three"}) EXPECT_TRUE((*file)->Append(piece).ok());
  EXPECT_EQ(Content("a"), "one two three");
}

TEST_P(FileSystemConformanceTest, ShowsUnsyncedBytesToReaders) {
  auto file = fs().OpenForWrite(At("a"), WriteMode::kCreateNew);
  ASSERT_TRUE((*file)->Append("unsynced").ok());
  EXPECT_EQ(Content("a"), "unsynced");
}

TEST_P(FileSystemConformanceTest, KeepsAnEmptyFile) {
  EXPECT_EQ(Write("a", ""), StatusCode::kOk);
  EXPECT_EQ(Content("a"), "");
  EXPECT_EQ(fs().Stat(At("a"))->size_bytes, 0U);
}

TEST_P(FileSystemConformanceTest, WritesALargeFile) {
  std::string large;
  for (int i = 0; i < 300'000; ++i) large += static_cast<char>(i % 251);
  EXPECT_EQ(Write("a", large), StatusCode::kOk);
  EXPECT_TRUE(Content("a") == large);
}

TEST_P(FileSystemConformanceTest, CreateNewRefusesAnExistingFile) {
  ASSERT_EQ(Write("a", "old"), StatusCode::kOk);
  EXPECT_EQ(Write("a", "new", WriteMode::kCreateNew), StatusCode::kAlreadyExists);
  EXPECT_EQ(Content("a"), "old");
}

TEST_P(FileSystemConformanceTest, TruncateEmptiesAnExistingFile) {
  ASSERT_EQ(Write("a", "something long"), StatusCode::kOk);
  ASSERT_EQ(Write("a", "short", WriteMode::kTruncate), StatusCode::kOk);
  EXPECT_EQ(Content("a"), "short");
}

TEST_P(FileSystemConformanceTest, AppendMakesAMissingFileAndKeepsAnOldOne) {
  ASSERT_EQ(Write("a", "one", WriteMode::kAppend), StatusCode::kOk);
  ASSERT_EQ(Write("a", "two", WriteMode::kAppend), StatusCode::kOk);
  EXPECT_EQ(Content("a"), "onetwo");
}

TEST_P(FileSystemConformanceTest, TwoAppendersDoNotOverwriteEachOther) {
  auto one = fs().OpenForWrite(At("a"), WriteMode::kAppend);
  auto two = fs().OpenForWrite(At("a"), WriteMode::kAppend);
  ASSERT_TRUE((*one)->Append("1").ok());
  ASSERT_TRUE((*two)->Append("2").ok());
  ASSERT_TRUE((*one)->Append("3").ok());
  EXPECT_EQ(Content("a"), "123");
}

TEST_P(FileSystemConformanceTest, OpeningInAMissingFolderIsNotFound) {
  EXPECT_EQ(Write("missing/a", "x"), StatusCode::kNotFound);
  EXPECT_EQ(Write("missing/a", "x", WriteMode::kAppend), StatusCode::kNotFound);
}

TEST_P(FileSystemConformanceTest, OpeningAFolderForWritingIsRefused) {
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(Write("folder", "x", WriteMode::kTruncate), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Write("folder", "x", WriteMode::kAppend), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Write("folder", "x", WriteMode::kCreateNew), StatusCode::kAlreadyExists);
}

TEST_P(FileSystemConformanceTest, APathThroughAFileIsNotFound) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_EQ(Write("a/b", "x"), StatusCode::kNotFound);
  EXPECT_EQ(StatCode("a/b"), StatusCode::kNotFound);
  EXPECT_EQ(fs().OpenForRead(At("a/b")).error().code(), StatusCode::kNotFound);
}

TEST_P(FileSystemConformanceTest, ReadingAMissingFileIsNotFoundAndNamesIt) {
  const auto file = fs().OpenForRead(At("nothing-here"));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code(), StatusCode::kNotFound);
  EXPECT_NE(file.error().message().find("nothing-here"), std::string::npos);
}

TEST_P(FileSystemConformanceTest, ReadingAFolderIsRefused) {
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(fs().OpenForRead(At("folder")).error().code(), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemConformanceTest, ReadsPartsAndStopsAtTheEnd) {
  ASSERT_EQ(Write("a", "0123456789"), StatusCode::kOk);
  auto file = fs().OpenForRead(At("a"));
  EXPECT_EQ((*file)->Read(0, 3), "012");
  EXPECT_EQ((*file)->Read(7, 3), "789");
  EXPECT_EQ((*file)->Read(7, 1'000'000'000), "789");
  EXPECT_EQ((*file)->Read(10, 5), "");
  EXPECT_EQ((*file)->Read(99, 5), "");
  EXPECT_EQ((*file)->Read(4, 0), "");
  EXPECT_EQ((*file)->Stat()->size_bytes, 10U);
}

TEST_P(FileSystemConformanceTest, AReaderSeesWhatIsAppendedLater) {
  ASSERT_EQ(Write("a", "one"), StatusCode::kOk);
  auto file = fs().OpenForRead(At("a"));
  ASSERT_EQ(Write("a", "two", WriteMode::kAppend), StatusCode::kOk);
  EXPECT_EQ((*file)->Read(0, 100), "onetwo");
}

TEST_P(FileSystemConformanceTest, SyncsAndGoesOnWriting) {
  auto file = fs().OpenForWrite(At("a"), WriteMode::kCreateNew);
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_TRUE((*file)->Append("one").ok());
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_TRUE((*file)->Append("two").ok());
  EXPECT_TRUE((*file)->Close().ok());
  EXPECT_EQ(Content("a"), "onetwo");
}

// Names.

TEST_P(FileSystemConformanceTest, RenameMovesAFile) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().Rename(At("a"), At("b")).ok());
  EXPECT_EQ(Content("b"), "x");
  EXPECT_EQ(StatCode("a"), StatusCode::kNotFound);
}

TEST_P(FileSystemConformanceTest, RenameReplacesAFile) {
  ASSERT_EQ(Write("a", "new"), StatusCode::kOk);
  ASSERT_EQ(Write("b", "old"), StatusCode::kOk);
  EXPECT_TRUE(fs().Rename(At("a"), At("b")).ok());
  EXPECT_EQ(Content("b"), "new");
  EXPECT_EQ(Names(), StringVector({"b"}));
}

TEST_P(FileSystemConformanceTest, RenameToItselfChangesNothing) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().Rename(At("a"), At("a")).ok());
  EXPECT_EQ(Content("a"), "x");
}

TEST_P(FileSystemConformanceTest, RenameOfAMissingFileIsNotFound) {
  EXPECT_EQ(fs().Rename(At("a"), At("b")).code(), StatusCode::kNotFound);
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_EQ(fs().Rename(At("a"), At("missing/b")).code(), StatusCode::kNotFound);
  EXPECT_EQ(Content("a"), "x");
}

TEST_P(FileSystemConformanceTest, RenameMovesAFolderWithWhatItHolds) {
  ASSERT_TRUE(fs().CreateDirectories(At("a/b")).ok());
  ASSERT_EQ(Write("a/b/c", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().Rename(At("a"), At("z")).ok());
  EXPECT_EQ(Content("z/b/c"), "x");
  EXPECT_EQ(StatCode("a"), StatusCode::kNotFound);
}

TEST_P(FileSystemConformanceTest, RenameOfAFolderReplacesAnEmptyOneOnly) {
  ASSERT_TRUE(fs().CreateDirectories(At("a/b")).ok());
  ASSERT_TRUE(fs().CreateDirectories(At("empty")).ok());
  ASSERT_TRUE(fs().CreateDirectories(At("full/x")).ok());
  EXPECT_EQ(fs().Rename(At("a"), At("full")).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs().Rename(At("a"), At("empty")).ok());
  EXPECT_EQ(Names("empty"), StringVector({"b"}));
}

TEST_P(FileSystemConformanceTest, AFileAndAFolderDoNotReplaceEachOther) {
  ASSERT_EQ(Write("file", "x"), StatusCode::kOk);
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(fs().Rename(At("file"), At("folder")).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(fs().Rename(At("folder"), At("file")).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Content("file"), "x");
}

TEST_P(FileSystemConformanceTest, AFolderCannotMoveIntoItself) {
  ASSERT_TRUE(fs().CreateDirectories(At("a/b")).ok());
  EXPECT_EQ(fs().Rename(At("a"), At("a/b/c")).code(), StatusCode::kInvalidArgument);
}

TEST_P(FileSystemConformanceTest, AnOpenFileFollowsItsRename) {
  auto file = fs().OpenForWrite(At("a"), WriteMode::kCreateNew);
  ASSERT_TRUE((*file)->Append("one").ok());
  ASSERT_TRUE(fs().Rename(At("a"), At("b")).ok());
  ASSERT_TRUE((*file)->Append("two").ok());
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(Content("b"), "onetwo");
}

TEST_P(FileSystemConformanceTest, LinkIsASecondNameOfTheSameBytes) {
  ASSERT_EQ(Write("a", "one"), StatusCode::kOk);
  EXPECT_TRUE(fs().Link(At("a"), At("b")).ok());
  ASSERT_EQ(Write("b", "two", WriteMode::kAppend), StatusCode::kOk);
  EXPECT_EQ(Content("a"), "onetwo");
  EXPECT_TRUE(fs().Remove(At("a")).ok());
  EXPECT_EQ(Content("b"), "onetwo");
}

TEST_P(FileSystemConformanceTest, LinkRefusesTakenNamesFoldersAndMissingFiles) {
  ASSERT_EQ(Write("a", "one"), StatusCode::kOk);
  ASSERT_EQ(Write("b", "two"), StatusCode::kOk);
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(fs().Link(At("a"), At("b")).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(fs().Link(At("missing"), At("c")).code(), StatusCode::kNotFound);
  EXPECT_EQ(fs().Link(At("a"), At("missing/c")).code(), StatusCode::kNotFound);
  EXPECT_EQ(fs().Link(At("folder"), At("c")).code(), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemConformanceTest, RenameBetweenTwoNamesOfOneFileKeepsBoth) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  ASSERT_TRUE(fs().Link(At("a"), At("b")).ok());
  EXPECT_TRUE(fs().Rename(At("a"), At("b")).ok());
  EXPECT_EQ(Names(), StringVector({"a", "b"}));
}

TEST_P(FileSystemConformanceTest, RemoveTakesOneFile) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().Remove(At("a")).ok());
  EXPECT_EQ(fs().Remove(At("a")).code(), StatusCode::kNotFound);
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(fs().Remove(At("folder")).code(), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemConformanceTest, ARemovedFileCanStillBeReadThroughAnOpenHandle) {
  ASSERT_EQ(Write("a", "still here"), StatusCode::kOk);
  auto file = fs().OpenForRead(At("a"));
  ASSERT_TRUE(fs().Remove(At("a")).ok());
  EXPECT_EQ((*file)->Read(0, 100), "still here");
}

TEST_P(FileSystemConformanceTest, RemoveTreeTakesAllAndIsContentWithNothing) {
  ASSERT_TRUE(fs().CreateDirectories(At("a/b/c")).ok());
  ASSERT_EQ(Write("a/b/file", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().RemoveTree(At("a")).ok());
  EXPECT_EQ(StatCode("a"), StatusCode::kNotFound);
  EXPECT_TRUE(fs().RemoveTree(At("a")).ok());
  EXPECT_TRUE(fs().RemoveTree(At("never/was")).ok());
}

TEST_P(FileSystemConformanceTest, RemoveTreeTakesAFileToo) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().RemoveTree(At("a")).ok());
  EXPECT_EQ(StatCode("a"), StatusCode::kNotFound);
}

// Folders.

TEST_P(FileSystemConformanceTest, CreateDirectoriesMakesParentsAndMayBeRepeated) {
  EXPECT_TRUE(fs().CreateDirectories(At("a/b/c")).ok());
  EXPECT_TRUE(fs().CreateDirectories(At("a/b/c")).ok());
  EXPECT_TRUE(fs().CreateDirectories(At("a//b/./d/")).ok());
  EXPECT_EQ(Names("a/b"), StringVector({"c", "d"}));
}

TEST_P(FileSystemConformanceTest, CreateDirectoriesRefusesToGoThroughAFile) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_EQ(fs().CreateDirectories(At("a")).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(fs().CreateDirectories(At("a/b")).code(), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemConformanceTest, ListIsSortedAndShowsHiddenNames) {
  for (const char* name : {"b", "a", ".hidden", "c10", "c9"}) ASSERT_EQ(Write(name, ""), StatusCode::kOk);
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(Names(), StringVector({".hidden", "a", "b", "c10", "c9", "folder"}));
}

TEST_P(FileSystemConformanceTest, ListOfNothingOrOfAFileIsNotFound) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_EQ(fs().List(At("missing")).error().code(), StatusCode::kNotFound);
  EXPECT_EQ(fs().List(At("a")).error().code(), StatusCode::kNotFound);
  EXPECT_EQ(Names(), StringVector({"a"}));
}

TEST_P(FileSystemConformanceTest, StatTellsFilesFromFolders) {
  ASSERT_EQ(Write("a", "12345"), StatusCode::kOk);
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_FALSE(fs().Stat(At("a"))->directory);
  EXPECT_EQ(fs().Stat(At("a"))->size_bytes, 5U);
  EXPECT_TRUE(fs().Stat(At("folder"))->directory);
  EXPECT_EQ(fs().Stat(At("folder"))->size_bytes, 0U);
  EXPECT_EQ(StatCode("missing"), StatusCode::kNotFound);
  EXPECT_TRUE(Exists(fs(), At("a")));
  EXPECT_FALSE(Exists(fs(), At("missing")));
}

TEST_P(FileSystemConformanceTest, AFileKeepsItsIdentityThroughNewNames) {
  ASSERT_EQ(Write("a", "one"), StatusCode::kOk);
  ASSERT_EQ(Write("b", "one"), StatusCode::kOk);
  const FileInfo a = *fs().Stat(At("a"));
  EXPECT_EQ(fs().Stat(At("b"))->device, a.device);
  EXPECT_NE(fs().Stat(At("b"))->inode, a.inode);
  EXPECT_EQ(a.links, 1U);
  ASSERT_TRUE(fs().Link(At("a"), At("second")).ok());
  ASSERT_TRUE(fs().Rename(At("a"), At("renamed")).ok());
  ASSERT_EQ(Write("renamed", "two", WriteMode::kAppend), StatusCode::kOk);
  for (const char* name : {"second", "renamed"}) {
    const FileInfo info = *fs().Stat(At(name));
    EXPECT_EQ(info.device, a.device);
    EXPECT_EQ(info.inode, a.inode);
    EXPECT_EQ(info.links, 2U);
  }
}

TEST_P(FileSystemConformanceTest, AnOpenFileTellsItsIdentityAndWhetherItHasANameLeft) {
  ASSERT_EQ(Write("a", "one"), StatusCode::kOk);
  const FileInfo named = *fs().Stat(At("a"));
  auto file = fs().OpenForRead(At("a"));
  ASSERT_TRUE(fs().Rename(At("a"), At("b")).ok());
  ASSERT_EQ(Write("a", "another"), StatusCode::kOk);
  ASSERT_EQ(Write("b", "two", WriteMode::kAppend), StatusCode::kOk);
  FileInfo open = *(*file)->Stat();
  EXPECT_EQ(open.inode, named.inode);
  EXPECT_EQ(open.device, named.device);
  EXPECT_EQ(open.size_bytes, 6U);
  EXPECT_EQ(open.links, 1U);
  EXPECT_FALSE(open.directory);
  ASSERT_TRUE(fs().Remove(At("b")).ok());
  open = *(*file)->Stat();
  EXPECT_EQ(open.inode, named.inode);
  EXPECT_EQ(open.links, 0U);
}

TEST_P(FileSystemConformanceTest, SyncDirectoryTakesAFolderOnly) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_TRUE(fs().SyncDirectory(At("")).ok());
  EXPECT_EQ(fs().SyncDirectory(At("missing")).code(), StatusCode::kNotFound);
  EXPECT_EQ(fs().SyncDirectory(At("a")).code(), StatusCode::kNotFound);
}

// Locks and space.

TEST_P(FileSystemConformanceTest, ALockHasOneHolder) {
  auto lock = fs().Lock(At("lock"));
  ASSERT_TRUE(lock.has_value());
  EXPECT_TRUE(Exists(fs(), At("lock")));
  const auto second = fs().Lock(At("lock"));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::kFailedPrecondition);
  lock->reset();
  EXPECT_TRUE(fs().Lock(At("lock")).has_value());
}

TEST_P(FileSystemConformanceTest, LocksOfDifferentFilesDoNotMeet) {
  auto one = fs().Lock(At("one"));
  auto two = fs().Lock(At("two"));
  EXPECT_TRUE(one.has_value());
  EXPECT_TRUE(two.has_value());
  EXPECT_EQ(fs().Lock(At("missing/lock")).error().code(), StatusCode::kNotFound);
}

TEST_P(FileSystemConformanceTest, ALockHoldsThroughAnotherName) {
  auto lock = fs().Lock(At("lock"));
  ASSERT_TRUE(fs().Link(At("lock"), At("other")).ok());
  EXPECT_EQ(fs().Lock(At("other")).error().code(), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemConformanceTest, KnowsItsFreeSpace) {
  const auto free = fs().FreeBytes(At(""));
  ASSERT_TRUE(free.has_value());
  EXPECT_GT(*free, 0U);
  EXPECT_EQ(fs().FreeBytes(At("missing")).error().code(), StatusCode::kNotFound);
}

// What is built from these.

TEST_P(FileSystemConformanceTest, WriteFileDurablyReplacesAndLeavesNoOtherFile) {
  EXPECT_TRUE(WriteFileDurably(fs(), At("a"), "one").ok());
  EXPECT_TRUE(WriteFileDurably(fs(), At("a"), "two").ok());
  EXPECT_EQ(Content("a"), "two");
  EXPECT_EQ(Names(), StringVector({"a"}));
  EXPECT_EQ(WriteFileDurably(fs(), At("missing/a"), "x").code(), StatusCode::kNotFound);
}

TEST_P(FileSystemConformanceTest, CreateDirectoriesDurablyMakesParentsAndMayBeRepeated) {
  EXPECT_EQ(CreateDirectoriesDurably(fs(), At("a/b/c")).ToString(), "ok");
  EXPECT_EQ(CreateDirectoriesDurably(fs(), At("a/b/c")).ToString(), "ok");
  EXPECT_EQ(Names("a/b"), StringVector({"c"}));
  ASSERT_EQ(Write("file", "x"), StatusCode::kOk);
  EXPECT_EQ(CreateDirectoriesDurably(fs(), At("file/b")).code(), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemConformanceTest, WriteFileDurablyIsNotDisturbedByALeftover) {
  ASSERT_EQ(Write("a.tmp", "left over by a crash, and longer than the new content"), StatusCode::kOk);
  EXPECT_TRUE(WriteFileDurably(fs(), At("a"), "new").ok());
  EXPECT_EQ(Content("a"), "new");
}

TEST_P(FileSystemConformanceTest, SyncFileWantsAFile) {
  ASSERT_EQ(Write("a", "x"), StatusCode::kOk);
  EXPECT_TRUE(SyncFile(fs(), At("a")).ok());
  EXPECT_EQ(Content("a"), "x");
  EXPECT_EQ(SyncFile(fs(), At("missing")).code(), StatusCode::kNotFound);
  EXPECT_FALSE(Exists(fs(), At("missing")));
  ASSERT_TRUE(fs().CreateDirectories(At("folder")).ok());
  EXPECT_EQ(SyncFile(fs(), At("folder")).code(), StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(
    Disks, FileSystemConformanceTest,
    testing::Values(GroundFactory{"Posix", []() -> std::unique_ptr<Ground> { return std::make_unique<PosixGround>(); }},
                    GroundFactory{"Sim", []() -> std::unique_ptr<Ground> { return std::make_unique<SimGround>(); }}),
    [](const testing::TestParamInfo<GroundFactory>& tested) { return tested.param.name; });

}  // namespace
}  // namespace weir
