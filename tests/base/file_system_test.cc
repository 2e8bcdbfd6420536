// The pure parts of the file system port, and what only the real one has.
#include "base/file_system.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/simulation/sim_file_system.h"

namespace weir {
namespace {

TEST(PathTest, ParentDirectory) {
  EXPECT_EQ(ParentDirectory("/a/b"), "/a");
  EXPECT_EQ(ParentDirectory("a/b/c"), "a/b");
  EXPECT_EQ(ParentDirectory("a/b/"), "a");
  EXPECT_EQ(ParentDirectory("a//b"), "a");
  EXPECT_EQ(ParentDirectory("/a"), "/");
  EXPECT_EQ(ParentDirectory("/"), "/");
  EXPECT_EQ(ParentDirectory("a"), ".");
  EXPECT_EQ(ParentDirectory(""), ".");
}

TEST(PathTest, JoinPath) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", ""), "a");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
}

TEST(FileSystemTest, WriteFileDurablyReportsEachFailedStepAndKeepsTheOldContent) {
  using simulation::OperationKind;
  for (const OperationKind kind : {OperationKind::kOpenForWrite, OperationKind::kAppend, OperationKind::kSync,
                                   OperationKind::kClose, OperationKind::kRename}) {
    simulation::SimFileSystem fs(1);
    ASSERT_TRUE(WriteFileDurably(fs, "/a", "old").ok());
    fs.Arm({.kind = kind});
    const Status status = WriteFileDurably(fs, "/a", "new");
    EXPECT_EQ(status.code(), StatusCode::kIoError);
    EXPECT_NE(status.message().find("/a"), std::string::npos);
    EXPECT_EQ(ReadFile(fs, "/a"), "old");
  }
}

TEST(PosixFileSystemTest, SaysWhichPathAndWhy) {
  const std::unique_ptr<FileSystem> fs = NewPosixFileSystem();
  const auto file = fs->OpenForRead("no/such/file");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().ToString(), "not found: can't open no/such/file: No such file or directory");
}

TEST(PosixFileSystemTest, RefusesToLinkAcrossDevices) {
  const std::unique_ptr<FileSystem> fs = NewPosixFileSystem();
  const Status status = fs->Link("/proc/version", "weir-link-across-devices");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
}

}  // namespace
}  // namespace weir
