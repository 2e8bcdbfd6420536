// Lines of files: positions, resuming, following, bad and long lines. rotation_test.cc has what happens to the files.
#include "connectors/file/source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/file/enumerator.h"
#include "connectors/file/reader.h"
#include "tests/connectors/file/file_source_fixture.h"

namespace weir::connectors {
namespace {

TEST_F(FileSourceTest, ReadsAFileToItsEnd) {
  WriteText("/in/a.jsonl", "{\"n\":1}\r\n\n{\"n\":2}\n{\"n\":3}");
  Use({{"path", RawText("/in/a.jsonl")}});
  Start(1);
  EXPECT_TRUE(*Drain());
  EXPECT_EQ(output_->rows, (std::vector<std::string>{R"(+I {"n":1})", R"(+I {"n":2})", R"(+I {"n":3})"}));
  EXPECT_EQ(output_->watermarks.at("/in/a.jsonl"), operators::EventTime::Max());
}

TEST_F(FileSourceTest, AMissingFileIsAnErrorThatNamesIt) {
  Use({{"path", RawText("/in/none.jsonl")}});
  Start(1);
  const auto drained = Drain();
  ASSERT_FALSE(drained.has_value());
  EXPECT_NE(drained.error().message().find("/in/none.jsonl"), std::string::npos);
}

TEST_F(FileSourceTest, ResumesAtTheExactLineAtAnyParallelism) {
  std::vector<std::string> expected;
  for (int f = 0; f < 5; ++f) {
    std::string text;
    for (int i = 0; i < 3000; ++i) {
      text += Line(f * 10'000 + i);
      expected.push_back("+I " + Line(f * 10'000 + i));
      expected.back().pop_back();
    }
    WriteText("/in/f" + std::to_string(f) + ".jsonl", text);
  }
  WriteText("/in/other.txt", "not of the pattern");
  Use({{"path", RawText("/in/f?.json*")}});
  std::vector<std::string> rows;
  const uint32_t parallelisms[] = {1, 3, 2, 1, 4};
  for (size_t attempt = 0;; ++attempt) {
    Start(parallelisms[attempt % 5]);
    const auto finished = Drain(1500 + 700 * attempt);
    ASSERT_TRUE(finished.has_value()) << finished.error().ToString();
    rows.insert(rows.end(), output_->rows.begin(), output_->rows.end());
    Snapshot();
    if (*finished) break;
    // What comes after the snapshot is lost with the attempt.
    ASSERT_TRUE(Drain(output_->rows.size() + 100).has_value());
    ASSERT_LT(attempt, 50U);
  }
  std::sort(rows.begin(), rows.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(rows, expected);
  Start(2);
  EXPECT_TRUE(*Drain());
  EXPECT_TRUE(output_->rows.empty()) << "a job that has ended reads nothing again";
}

TEST_F(FileSourceTest, FollowsFilesAsTheyGrowAndAppear) {
  WriteText("/in/a.log", Line(1) + "{\"n\":");
  Use({{"path", RawText("/in/*.log")}, {"follow", RawBool(true)}});
  Start(2);
  ASSERT_FALSE(*Drain());
  EXPECT_EQ(output_->rows, (std::vector<std::string>{R"(+I {"n":1})"}));
  WriteText("/in/a.log", "2}\n");
  WriteText("/in/b.log", Line(3));
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_FALSE(*Drain());
  std::sort(output_->rows.begin(), output_->rows.end());
  EXPECT_EQ(output_->rows, (std::vector<std::string>{R"(+I {"n":1})", R"(+I {"n":2})", R"(+I {"n":3})"}));
  Snapshot();
  WriteText("/in/b.log", Line(4));
  Start(1);
  ASSERT_FALSE(*Drain());
  EXPECT_EQ(output_->rows, (std::vector<std::string>{R"(+I {"n":4})"}));
}

TEST_F(FileSourceTest, ABadLineFailsTheJobNamingFileAndLine) {
  WriteText("/in/a", Line(1) + "{\"n\":}\n" + Line(2));
  Use({{"path", RawText("/in/a")}});
  Start(1);
  const auto drained = Drain();
  ASSERT_FALSE(drained.has_value());
  EXPECT_EQ(drained.error().message(), "/in/a:2: broken JSON at byte 5: expected a value, found '}'");
}

TEST_F(FileSourceTest, BadAndLongLinesAreSkippedOrPutAside) {
  WriteText("/in/a", Line(1) + "{\"n\":}\n" + "{\"long\":\"" + std::string(3'000'000, 'x') + "\"}\n" + Line(2) +
                         std::string(200, 'y'));
  for (const char* policy : {"skip", "dead-letter"}) {
    Use({{"path", RawText("/in/a")}, {"on-error", RawText(policy)}, {"max-line-bytes", RawNumber("100")}});
    metrics_.bad_records = 0;
    enumerated_.reset();
    splits_.clear();
    Start(1);
    const auto drained = Drain();
    ASSERT_TRUE(drained.has_value()) << drained.error().ToString();
    EXPECT_TRUE(*drained);
    EXPECT_EQ(output_->rows, (std::vector<std::string>{R"(+I {"n":1})", R"(+I {"n":2})"})) << policy;
    EXPECT_EQ(metrics_.bad_records, 3U);
    EXPECT_EQ(output_->side.size(), std::string(policy) == "skip" ? 0U : 3U);
  }
  EXPECT_EQ(output_->side[0], R"(dead-letter {"topic":"/in/a","partition":0,"offset":2,"key":null,"value":"eyJuIjp9",)"
                              R"("error":"broken JSON at byte 5: expected a value, found '}'","uid":"in"})");
}

TEST_F(FileSourceTest, ALineOfSeveralReadsIsOneRow) {
  const std::string text(2'200'000, 'x');
  WriteText("/in/a", Line(1) + "{\"long\":\"" + text + "\"}\n" + Line(2) + "{\"long\":\"" + text + "\"}");
  Use({{"path", RawText("/in/a")}});
  Start(1);
  const auto drained = Drain();
  ASSERT_TRUE(drained.has_value()) << drained.error().ToString();
  EXPECT_TRUE(*drained);
  EXPECT_EQ(output_->rows, (std::vector<std::string>{R"(+I {"n":1})", "+I {\"long\":\"" + text + "\"}", R"(+I {"n":2})",
                                                     "+I {\"long\":\"" + text + "\"}"}));
}

TEST(MatchesPatternTest, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesPattern("orders-1.jsonl", "orders-?.json*"));
  EXPECT_TRUE(MatchesPattern("abcbc", "a*bc"));
  EXPECT_TRUE(MatchesPattern("", "*"));
  EXPECT_FALSE(MatchesPattern("abc", "ab"));
  EXPECT_FALSE(MatchesPattern("ab", "ab?"));
  EXPECT_FALSE(MatchesPattern("xabc", "a*"));
}

}  // namespace
}  // namespace weir::connectors
