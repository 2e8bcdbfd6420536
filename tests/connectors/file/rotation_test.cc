// What happens to a file while it is read and between two attempts: renamed, removed, cut off, written anew, copied. No
// line is lost or read twice, or the job fails and says which file, where, and what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "connectors/file/enumerator.h"
#include "connectors/file/reader.h"
#include "tests/connectors/file/file_source_fixture.h"

namespace weir::connectors {
namespace {

using Rows = std::vector<std::string>;

class FileRotationTest : public FileSourceTest {
 protected:
  void Follow(const std::string& path, uint32_t parallelism = 1) {
    Use({{"path", RawText(path)}, {"follow", RawBool(true)}});
    Start(parallelism);
  }
  void Rename(const std::string& from, const std::string& to) { ASSERT_TRUE(fs_.Rename(from, to).ok()); }
  void Remove(const std::string& path) { ASSERT_TRUE(fs_.Remove(path).ok()); }
  // What copytruncate does, and what a writer that starts anew does: the file stays the same.
  void CutOff(const std::string& path) { ASSERT_TRUE(fs_.OpenForWrite(path, WriteMode::kTruncate).has_value()); }
  // After looks at all files; sorted.
  Rows Read() {
    output_->rows.clear();
    for (int look = 0; look < 3; ++look) {
      clock_.Advance(std::chrono::seconds(1));
      const auto drained = Drain();
      EXPECT_TRUE(drained.has_value()) << drained.error().ToString();
    }
    std::sort(output_->rows.begin(), output_->rows.end());
    return output_->rows;
  }
  std::string Failure() {
    for (int look = 0; look < 3; ++look) {
      clock_.Advance(std::chrono::seconds(1));
      const auto drained = Drain();
      if (!drained.has_value()) return drained.error().message();
    }
    return "no failure";
  }
  void ExpectSays(const std::string& text, const Rows& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  static Rows RowsOf(std::vector<int> numbers) {
    Rows rows;
    for (const int n : numbers) rows.push_back("+I {\"n\":" + std::to_string(n) + "}");
    return rows;
  }
};

TEST_F(FileRotationTest, ARenamedFileIsReadOnAndItsNameIsANewSplit) {
  // Whether the new name is of the pattern, too, or not.
  for (const std::string pattern : {"a.log", "*.log", "*.log*"}) {
    const std::string folder = "/in-" + std::to_string(pattern.size());
    WriteText(folder + "/a.log", Line(1));
    enumerated_.reset();
    splits_.clear();
    Follow(folder + "/" + pattern);
    EXPECT_EQ(Read(), RowsOf({1}));
    WriteText(folder + "/a.log", Line(2));
    Rename(folder + "/a.log", folder + "/a.log.1");
    WriteText(folder + "/a.log.1", Line(3));
    WriteText(folder + "/a.log", Line(4));
    EXPECT_EQ(Read(), RowsOf({2, 3, 4})) << pattern;
    Rename(folder + "/a.log.1", folder + "/a.log.2");
    Rename(folder + "/a.log", folder + "/a.log.1");
    WriteText(folder + "/a.log.2", Line(5));
    WriteText(folder + "/a.log.1", Line(6));
    EXPECT_EQ(Read(), RowsOf({5, 6})) << pattern;
    Snapshot();
    EXPECT_EQ(splits_.size(), 2U);
  }
}

TEST_F(FileRotationTest, ARestartFindsARenamedFileByItsIdentity) {
  WriteText("/in/a.log", Line(1) + Line(2));
  Follow("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({1, 2}));
  Snapshot();
  WriteText("/in/a.log", Line(3));
  Rename("/in/a.log", "/in/a.log.1");
  WriteText("/in/a.log", Line(1) + Line(2) + Line(4));  // begins as the old one
  for (const uint32_t parallelism : {1U, 3U, 2U}) {
    Start(parallelism);
    EXPECT_EQ(Read(), RowsOf({1, 2, 3, 4})) << "what is behind the last snapshot comes again";
  }
  Snapshot();
  WriteText("/in/a.log.1", Line(5));
  WriteText("/in/a.log", Line(6));
  Rename("/in/a.log.1", "/in/a.log.2");
  Rename("/in/a.log", "/in/a.log.1");
  Start(2);
  EXPECT_EQ(Read(), RowsOf({5, 6}));
}

TEST_F(FileRotationTest, ARemovedFileIsReadToItsEndAndForgotten) {
  WriteText("/in/a.log", Line(1));
  Follow("/in/*.log");
  EXPECT_EQ(Read(), RowsOf({1}));
  WriteText("/in/a.log", Line(2) + "{\"n\":3}");  // the last line has no end
  Remove("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({2, 3}));
  EXPECT_EQ(output_->watermarks.at("/in/a.log"), operators::EventTime::Max()) << "it holds nothing back";
  Snapshot();
  EXPECT_EQ(*enumerated_, R"({"files":{},"next":1})") << "its identity may be another file's by now";
  WriteText("/in/a.log", Line(4));
  EXPECT_EQ(Read(), RowsOf({4}));
  Snapshot();
  Snapshot();  // the removed one is in one snapshot only
  ASSERT_EQ(splits_.size(), 1U);
  EXPECT_EQ(splits_[0].id, "1:/in/a.log");
  Start(1);
  EXPECT_EQ(Read(), RowsOf({}));
}

TEST_F(FileRotationTest, AnOpenFileIsFinishedOnlyWithoutAName) {
  WriteText("/in/a.log", Line(1));
  Follow("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({1}));
  ASSERT_TRUE(fs_.CreateDirectories("/old").ok());
  Rename("/in/a.log", "/old/a.log");
  EXPECT_EQ(Read(), RowsOf({}));
  WriteText("/old/a.log", Line(2));
  EXPECT_EQ(Read(), RowsOf({2}));
}

TEST_F(FileRotationTest, AFileThatIsGoneIsFinishedIfAllOfItWasRead) {
  WriteText("/in/a.log", Line(1) + Line(2));
  Follow("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({1, 2}));
  Snapshot();
  Remove("/in/a.log");
  WriteText("/in/a.log", Line(9));
  for (int attempt = 0; attempt < 3; ++attempt) {
    Start(1);
    EXPECT_EQ(Read(), RowsOf({attempt == 0 ? 9 : 9 + attempt}));
    Snapshot();
    WriteText("/in/a.log", Line(10 + attempt));
  }
}

TEST_F(FileRotationTest, AFileThatIsGoneWithLinesUnreadFailsEachStartUntilItIsBack) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += Line(i);
  WriteText("/in/a.log", text);
  Follow("/in/a.log");
  ASSERT_TRUE(Drain(1500).has_value());
  const size_t read = output_->rows.size();
  ASSERT_LT(read, 3000U);
  Snapshot();
  ASSERT_TRUE(fs_.CreateDirectories("/old").ok());
  Rename("/in/a.log", "/old/a.log");
  WriteText("/in/a.log", Line(-1));
  for (int attempt = 0; attempt < 2; ++attempt) {
    Start(1);
    ExpectSays(Failure(), {"file /in/a.log is gone", "line " + std::to_string(read),
                           "of " + std::to_string(text.size()) + " bytes", "put it back", "/in"});
  }
  Rename("/old/a.log", "/in/back.log");
  Start(1);
  EXPECT_EQ(Read().size(), 3000 - read + 1);
}

TEST_F(FileRotationTest, HalfALineIsNotReadToItsEnd) {
  WriteText("/in/a.log", Line(1) + "{\"n\":");
  Follow("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({1}));
  Snapshot();
  Remove("/in/a.log");
  Start(1);
  ExpectSays(Failure(), {"file /in/a.log is gone", "byte 8 (line 1)", "of 13 bytes"});
}

TEST_F(FileRotationTest, AFileThatWasCutOffIsRefused) {
  WriteText("/in/a.log", Line(1) + Line(2));
  Follow("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({1, 2}));
  Snapshot();
  CutOff("/in/a.log");
  WriteText("/in/a.log", Line(9));
  const Rows parts = {"file /in/a.log has 8 bytes", "read to byte 16", "it was cut off", "renaming"};
  ExpectSays(Failure(), parts);
  for (int attempt = 0; attempt < 2; ++attempt) {
    Start(1);
    ExpectSays(Failure(), parts);
  }
}

// copytruncate, and the writer has been quick: the file is as long as it was, or longer.
TEST_F(FileRotationTest, AFileThatWasWrittenAnewIsRefused) {
  WriteText("/in/a.log", Line(1) + Line(2));
  Follow("/in/a.log");
  EXPECT_EQ(Read(), RowsOf({1, 2}));
  Snapshot();
  CutOff("/in/a.log");
  WriteText("/in/a.log", Line(7) + Line(8) + Line(9));
  const Rows parts = {"file /in/a.log has 24 bytes", "read to byte 16", "written anew", "renaming"};
  ExpectSays(Failure(), parts);
  for (int attempt = 0; attempt < 2; ++attempt) {
    Start(1);
    ExpectSays(Failure(), parts);
  }
}

TEST_F(FileRotationTest, ACopyUnderTheOldNameIsReadOn) {
  const std::string text = Line(1) + Line(2);
  WriteText("/in/a.log", text);
  Follow("/in/*.log");
  EXPECT_EQ(Read(), RowsOf({1, 2}));
  Snapshot();
  Remove("/in/a.log");
  WriteText("/in/a.log", text + Line(3));
  Start(1);
  EXPECT_EQ(Read(), RowsOf({3}));
  Snapshot();
  WriteText("/in/a.log", Line(4));
  Start(1);
  EXPECT_EQ(Read(), RowsOf({4}));
}

TEST_F(FileRotationTest, TwoNamesOfOneFileAreOneSplit) {
  WriteText("/in/a.log", Line(1));
  ASSERT_TRUE(fs_.Link("/in/a.log", "/in/b.log").ok());
  Follow("/in/*.log");
  EXPECT_EQ(Read(), RowsOf({1}));
}

TEST_F(FileRotationTest, MoreFilesThanStayOpenAreFollowedToo) {
  const int files = static_cast<int>(kOpenFilesMax) + 20;
  std::vector<int> numbers;
  const auto name = [](int i) { return "/in/" + std::to_string(i) + ".log"; };
  for (int i = 0; i < files; ++i) WriteText(name(i), Line(i));
  Follow("/in/*.log");
  EXPECT_EQ(Read().size(), static_cast<size_t>(files));
  Rows expected;
  for (int i = 0; i < files; ++i) {
    WriteText(name(i), Line(1000 + i));
    Rename(name(i), name(i) + ".1");
    expected.push_back("+I {\"n\":" + std::to_string(1000 + i) + "}");
  }
  EXPECT_EQ(Read(), expected);
  for (int i = 0; i < files; ++i) Remove(name(i) + ".1");
  // One is looked at after the other.
  for (int i = 0; i < files / 10 && enumerated_ != R"({"files":{},"next":1})"; ++i) {
    EXPECT_EQ(Read(), RowsOf({}));
    Snapshot();
  }
  EXPECT_EQ(*enumerated_, R"({"files":{},"next":1})");
}

TEST_F(FileRotationTest, ACheckpointOfBeforeIsRestored) {
  WriteText("/in/a.log", Line(1) + Line(2));
  WriteText("/in/b.log", Line(3));
  enumerated_ = R"(["/in/a.log","/in/b.log"])";
  splits_ = {{"/in/a.log", R"({"finished":false,"line":1,"offset":8})"},
             {"/in/b.log", R"({"finished":true,"line":1,"offset":8})"}};
  Follow("/in/*.log");
  EXPECT_EQ(Read(), RowsOf({2}));
  Rename("/in/a.log", "/in/a.log.1");
  WriteText("/in/a.log.1", Line(4));
  WriteText("/in/a.log", Line(5));
  EXPECT_EQ(Read(), RowsOf({4, 5}));
  Snapshot();
  Start(1);
  EXPECT_EQ(Read(), RowsOf({}));
}

TEST_F(FileRotationTest, ADeviceMayHaveAnotherNumberAfterARestart) {
  WriteText("/in/a.log", Line(1) + Line(2));
  WriteText("/in/done.log", Line(3));
  const auto known = [this](const std::string& path) {
    return "\"" + path + R"(":{"device":99,"inode":)" + std::to_string(fs_.Stat(path)->inode) + "}";
  };
  enumerated_ = "{\"files\":{" + known("/in/a.log") + "," + known("/in/done.log") + "},\"next\":1}";
  splits_ = {{"/in/a.log", R"({"device":99,"finished":false,"inode":)" + std::to_string(fs_.Stat("/in/a.log")->inode) +
                               R"(,"line":1,"offset":8,"path":"/in/a.log","size":8})"}};
  Follow("/in/*.log");
  EXPECT_EQ(Read(), RowsOf({2}));
}

TEST_F(FileRotationTest, AMissingFileOfACheckpointOfBeforeIsNamed) {
  enumerated_ = R"(["/in/a.log"])";
  splits_ = {{"/in/a.log", R"({"finished":false,"line":1,"offset":8})"}};
  ASSERT_TRUE(fs_.CreateDirectories("/in").ok());
  Follow("/in/a.log");
  ExpectSays(Failure(), {"file /in/a.log is gone", "byte 8 (line 1)"});
}

TEST_F(FileRotationTest, ASplitsWatermarkIsKept) {
  const auto resolved = [](int seconds) {
    return "{\"resolved\":\"" + std::to_string(seconds) + "000000000.0000000000\"}\n";
  };
  WriteText("/in/a", resolved(7) + resolved(3));
  Use({{"path", RawText("/in/a")}, {"follow", RawBool(true)}, {"format", RawText("cockroachdb")}});
  Start(1);
  Read();
  const operators::EventTime below_seven = operators::EventTime{.wall_ns = 7'000'000'000}.Previous();
  EXPECT_EQ(output_->watermarks.at("/in/a"), below_seven);
  Snapshot();
  Start(1);
  Read();
  ASSERT_TRUE(output_->watermarks.contains("/in/a"));
  EXPECT_EQ(output_->watermarks.at("/in/a"), below_seven);
  WriteText("/in/a", resolved(8));
  Read();
  EXPECT_EQ(output_->watermarks.at("/in/a").Next(), (operators::EventTime{.wall_ns = 8'000'000'000}));
}

TEST(FilePositionTest, IsReadBack) {
  const FilePosition written{.path = "/in/a \"b\".log",
                             .identity = FileIdentity{.device = UINT64_MAX, .inode = 7},
                             .offset = UINT64_MAX - 1,
                             .line = 3,
                             .finished = true,
                             .size_bytes = UINT64_MAX,
                             .fingerprint_at = 12,
                             .fingerprint = UINT64_MAX - 5,
                             .watermark = {.wall_ns = 5, .logical = 6}};
  const Result<FilePosition> read = FilePosition::FromSplit(written.ToSplit("x"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ToSplit("y"), written.ToSplit("y"));
  EXPECT_EQ(read->identity, written.identity);
  EXPECT_EQ(read->fingerprint, written.fingerprint);
  EXPECT_EQ(read->path, written.path);
}

TEST(FilePositionTest, WhatIsNoneIsRefusedNamingTheSplit) {
  for (const char* broken :
       {"", "[]", "{}", R"({"finished":0,"line":1,"offset":8})", R"({"finished":true,"line":-1,"offset":8})",
        R"({"finished":true,"line":1,"offset":8,"path":1})", R"({"finished":true,"line":1,"offset":8,"inode":"x"})",
        R"({"finished":true,"line":1,"offset":8,"fingerprint":1})",
        R"({"finished":true,"line":1,"offset":8,"watermark":"x"})"}) {
    const Result<FilePosition> read = FilePosition::FromSplit({"/in/a.log", broken});
    ASSERT_FALSE(read.has_value()) << broken;
    EXPECT_NE(read.error().message().find("/in/a.log"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::connectors
