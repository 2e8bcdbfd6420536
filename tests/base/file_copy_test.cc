// Whole files: what they hash to, and when a link that fails becomes a copy.
#include "base/file_copy.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "tests/simulation/sim_file_system.h"

namespace weir {
namespace {

using simulation::Fault;
using simulation::OperationKind;

class FileCopyTest : public testing::Test {
 protected:
  void Write(const std::string& path, std::string_view content) {
    const auto file = fs_.OpenForWrite(path, WriteMode::kCreateNew);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE((*file)->Append(content).ok());
  }
  uint64_t InodeOf(const std::string& path) { return fs_.Stat(path)->inode; }

  simulation::SimFileSystem fs_{1};
};

// Around the size of the pieces.
TEST_F(FileCopyTest, CopiesAndHashesEverySize) {
  constexpr size_t kPiece = 1 << 20;
  for (const size_t size : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece}) {
    std::string content(size, 'x');
    for (size_t i = 0; i < size; i += 1000) content[i] = static_cast<char>(i / 1000);
    const std::string name = "/" + std::to_string(size);
    Write(name, content);
    ASSERT_TRUE(CopyFile(fs_, name, name + "-copy").ok());
    EXPECT_TRUE(*ReadFile(fs_, name + "-copy") == content);
    EXPECT_NE(InodeOf(name), InodeOf(name + "-copy"));
    const Result<FileDigest> digest = DigestFile(fs_, name);
    ASSERT_TRUE(digest.has_value());
    EXPECT_EQ(digest->size_bytes, size);
    EXPECT_EQ(digest->checksum, Hash64(content));
  }
}

TEST_F(FileCopyTest, NeverWritesOverAFile) {
  Write("/a", "new");
  Write("/b", "old");
  EXPECT_EQ(CopyFile(fs_, "/a", "/b").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(LinkOrCopyFile(fs_, "/a", "/b").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadFile(fs_, "/b"), "old");
}

TEST_F(FileCopyTest, AMissingFileIsNotFound) {
  EXPECT_EQ(DigestFile(fs_, "/none").error().code(), StatusCode::kNotFound);
  EXPECT_EQ(CopyFile(fs_, "/none", "/b").code(), StatusCode::kNotFound);
  EXPECT_EQ(LinkOrCopyFile(fs_, "/none", "/c").code(), StatusCode::kNotFound);
}

TEST_F(FileCopyTest, LinksWhereTheDeviceAllowsIt) {
  Write("/a", "text");
  ASSERT_TRUE(LinkOrCopyFile(fs_, "/a", "/b").ok());
  EXPECT_EQ(InodeOf("/a"), InodeOf("/b"));
}

TEST_F(FileCopyTest, CopiesToAnotherDevice) {
  Write("/a", "text");
  ASSERT_TRUE(fs_.CreateDirectories("/other").ok());
  fs_.SetOtherDevice("/other");
  ASSERT_TRUE(LinkOrCopyFile(fs_, "/a", "/other/b").ok());
  EXPECT_NE(InodeOf("/a"), InodeOf("/other/b"));
  EXPECT_EQ(*ReadFile(fs_, "/other/b"), "text");
}

TEST_F(FileCopyTest, DoesNotHideAFailingDiskBehindACopy) {
  Write("/a", "text");
  fs_.Arm({.kind = OperationKind::kLink});
  EXPECT_EQ(LinkOrCopyFile(fs_, "/a", "/b").code(), StatusCode::kIoError);
  EXPECT_FALSE(Exists(fs_, "/b"));
}

}  // namespace
}  // namespace weir
