// Lines of files: positions, resuming, following, bad and long lines.
#include "connectors/file/source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/file/enumerator.h"
#include "connectors/file/reader.h"
#include "tests/connectors/collected_output.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::connectors {
namespace {

using operators::PollStatus;
using operators::SourceSplit;

class FileSourceTest : public testing::Test {
 protected:
  void WriteText(const std::string& path, const std::string& text) {
    ASSERT_TRUE(fs_.CreateDirectories(ParentDirectory(path)).ok());
    const auto file = fs_.OpenForWrite(path, WriteMode::kAppend);
    ASSERT_TRUE((*file)->Append(text).ok());
  }
  void Use(RawMembers members) {
    const operators::SourceType type = FileSourceType(fs_, "");
    operators::Problems problems;
    const operators::Options options = OptionsOf(type.options, std::move(members), problems);
    if (problems.empty()) type.check(options, problems);
    ASSERT_TRUE(problems.empty()) << problems[0].message;
    source_ = std::move(*type.create(options));
  }
  // A new attempt: an enumerator and `parallelism` readers from what was snapshotted last.
  void Start(uint32_t parallelism) {
    workers_.DropAll();
    output_ = std::make_unique<CollectedOutput>();
    readers_.clear();
    for (uint32_t i = 0; i < parallelism; ++i) {
      readers_.push_back(std::move(*source_->CreateReader()));
      operators::ReaderContext context{.uid = "in",
                                       .subtask = i,
                                       .parallelism = parallelism,
                                       .clock = &clock_,
                                       .workers = &workers_,
                                       .wakeup = &wakeup_,
                                       .metrics = &metrics_,
                                       .send_event = {}};
      ASSERT_TRUE(readers_.back()->Open(context).ok());
    }
    enumerator_ = std::move(*source_->CreateEnumerator());
    operators::EnumeratorContext context{
        .uid = "in",
        .parallelism = parallelism,
        .clock = &clock_,
        .workers = &workers_,
        .wakeup = &wakeup_,
        .assign_splits = [this](uint32_t i,
                                std::vector<SourceSplit> splits) { EXPECT_TRUE(readers_[i]->AddSplits(splits).ok()); },
        .no_more_splits = [this](uint32_t i) { readers_[i]->NoMoreSplits(); },
        .send_event = [this](uint32_t i, std::string event) { EXPECT_TRUE(readers_[i]->HandleEvent(event).ok()); }};
    ASSERT_TRUE(enumerator_->Start(std::move(context), enumerated_, splits_).ok());
  }
  // Until all readers have nothing to do; stops at `rows` rows. True if all are finished.
  Result<bool> Drain(size_t rows = SIZE_MAX) {
    for (int idle = 0; idle < 3;) {
      WEIR_RETURN_IF_ERROR(enumerator_->Step());
      bool progress = false;
      size_t finished = 0;
      for (auto& reader : readers_) {
        if (output_->rows.size() >= rows) return false;
        WEIR_ASSIGN_OR_RETURN(const PollStatus status, reader->PollNext(*output_));
        progress |= status == PollStatus::kMore;
        finished += status == PollStatus::kFinished ? 1 : 0;
      }
      if (finished == readers_.size()) return true;
      workers_.RunAll();
      idle = progress ? 0 : idle + 1;
    }
    return false;
  }
  void Snapshot() {
    enumerated_ = *enumerator_->SnapshotState({});
    splits_.clear();
    for (auto& reader : readers_) {
      for (SourceSplit& split : reader->SnapshotState({})) splits_.push_back(std::move(split));
    }
  }

  simulation::SimFileSystem fs_{1};
  simulation::ManualClock clock_;
  simulation::ManualWorkerFactory workers_;
  NoWakeup wakeup_;
  operators::SubtaskMetrics metrics_;
  std::unique_ptr<operators::Source> source_;
  std::unique_ptr<operators::SplitEnumerator> enumerator_;
  std::vector<std::unique_ptr<operators::SourceReader>> readers_;
  std::unique_ptr<CollectedOutput> output_;
  std::optional<std::string> enumerated_;
  std::vector<SourceSplit> splits_;
};

std::string Line(int n) { return "{\"n\":" + std::to_string(n) + "}\n"; }

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

TEST_F(FileSourceTest, AFileThatWasCutOffIsRefused) {
  WriteText("/in/a.log", Line(1) + Line(2));
  Use({{"path", RawText("/in/a.log")}, {"follow", RawBool(true)}});
  Start(1);
  ASSERT_FALSE(*Drain());
  Snapshot();
  ASSERT_TRUE(fs_.Remove("/in/a.log").ok());
  WriteText("/in/a.log", Line(9));
  Start(1);
  const auto drained = Drain();
  ASSERT_FALSE(drained.has_value());
  EXPECT_EQ(drained.error().message(),
            "file /in/a.log has 8 bytes, the position in it is 16: it was cut off or replaced");
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
