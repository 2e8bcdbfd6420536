// Changefeed messages of the wrapped envelope.
#include "connectors/format/cockroachdb.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/connectors/collected_output.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

class CockroachdbTest : public testing::Test {
 protected:
  void Use(RawMembers members) {
    members.emplace_back("format", RawText("cockroachdb"));
    operators::Problems problems;
    const operators::Options options = OptionsOf(DeserializerOptions(), std::move(members), problems);
    CheckDeserializerOptions(options, problems);
    ASSERT_TRUE(problems.empty()) << problems[0].message;
    deserializer_ = std::move(*NewDeserializer(options));
  }
  Status Read(const RawRecord& record) {
    if (deserializer_ == nullptr) Use({});
    collector_.Begin(output_, 1);
    collector_.BeginSplit(split_);
    const Status status = deserializer_->Deserialize(record, collector_);
    const Status flushed = collector_.Flush();
    return status.ok() ? flushed : status;
  }
  Status Read(std::string_view value) { return Read(RawRecord{.topic = "orders", .key = "[1]", .value = value}); }

  std::unique_ptr<Deserializer> deserializer_;
  RowCollector collector_;
  CollectedOutput output_;
  const std::string split_ = "orders-0";
};

TEST_F(CockroachdbTest, AnUpsertIsAnUpdateAfterAtItsExactTime) {
  ASSERT_TRUE(
      Read(R"({"after": {"id": 9007199254740993, "total": 12.50}, "updated": "1700000000123456789.0000000002"})").ok());
  EXPECT_EQ(output_.rows, (std::vector<std::string>{R"(+U {"id":9007199254740993,"total":12.50})"}));
  EXPECT_EQ(output_.times[0], (EventTime{1'700'000'000'123'456'789, 2}));
}

TEST_F(CockroachdbTest, WithDiffAnInsertAnUpdateAndADeletionAreTold) {
  ASSERT_TRUE(Read(R"({"before": null, "after": {"id": 1, "n": 1}})").ok());
  ASSERT_TRUE(Read(R"({"before": {"id": 1, "n": 1}, "after": {"id": 1, "n": 2, "new": "x"}})").ok());
  ASSERT_TRUE(Read(R"({"before": {"id": 1, "n": 2, "new": "x"}, "after": null})").ok());
  EXPECT_EQ(output_.rows,
            (std::vector<std::string>{R"(+I {"id":1,"n":1})", R"(-U {"id":1,"n":1})", R"(+U {"id":1,"n":2,"new":"x"})",
                                      R"(-D {"id":1,"n":2,"new":"x"})"}));
}

TEST_F(CockroachdbTest, ADeletionWithoutDiffTakesTheKey) {
  Use({{"key-columns", RawList({"region", "id"})}});
  ASSERT_TRUE(
      Read(RawRecord{.topic = "o", .key = R"(["eu\"w", 7])", .value = R"({"after": null, "updated": "1.0000000000"})"})
          .ok());
  EXPECT_EQ(output_.rows, (std::vector<std::string>{R"(-D {"region":"eu\"w","id":7})"}));
  const Status wrong = Read(RawRecord{.topic = "o", .key = "[7]", .value = R"({"after": null})"});
  EXPECT_EQ(wrong.message(), "the record key has 1 values, key-columns has 2 names");
}

TEST_F(CockroachdbTest, ADeletionWithoutDiffAndKeyColumnsIsRefused) {
  const Status status = Read(R"({"after": null})");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("key-columns"), std::string::npos);
}

// A deletion, the tombstone after it, a record without key and value, and an empty value.
TEST_F(CockroachdbTest, ATombstoneIsIgnoredAndAnEmptyValueIsBad) {
  Use({{"key-columns", RawList({"id"})}});
  ASSERT_TRUE(Read(R"({"after": null})").ok());
  ASSERT_TRUE(Read(RawRecord{.topic = "orders", .key = "[1]"}).ok());
  ASSERT_TRUE(Read(RawRecord{.topic = "orders"}).ok());
  EXPECT_EQ(output_.rows, (std::vector<std::string>{R"(-D {"id":1})"}));
  EXPECT_EQ(Read("").code(), StatusCode::kInvalidArgument);
}

TEST_F(CockroachdbTest, ResolvedIsTheWatermarkJustBelowItBehindTheRowsBeforeIt) {
  collector_.Begin(output_, 2);
  collector_.BeginSplit(split_);
  Use({});
  ASSERT_TRUE(
      deserializer_
          ->Deserialize({.topic = "t", .value = R"({"after": {"id": 1}, "updated": "5.0000000000"})"}, collector_)
          .ok());
  ASSERT_TRUE(
      deserializer_
          ->Deserialize({.topic = "t", .value = R"({"resolved": "1700000001000000000.0000000003"})"}, collector_)
          .ok());
  ASSERT_TRUE(collector_.Flush().ok());
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{1'700'000'001'000'000'000, 2}));
  EXPECT_EQ(output_.rows_before_watermark.at(split_), 1U);
}

TEST_F(CockroachdbTest, SaysWhatIsWrong) {
  EXPECT_EQ(Read(R"({"a": 1})").message(),
            "not a changefeed message of the wrapped envelope: neither after nor resolved is there");
  EXPECT_EQ(Read(R"({"after": 7})").message(), "member after is neither an object nor null");
  EXPECT_EQ(Read(R"({"after": {}, "updated": "yesterday"})").message(),
            "member updated is not a timestamp such as \"1700000000123456789.0000000002\": yesterday");
  EXPECT_EQ(Read(R"({"resolved": "1.2"})").message(),
            "member resolved is not a timestamp such as \"1700000000123456789.0000000002\": 1.2");
  EXPECT_EQ(Read(R"({"after": {"id": 1})").message(),
            "broken JSON at byte 19: expected ',' or '}', found the end of the text");
  EXPECT_TRUE(output_.rows.empty());
}

TEST_F(CockroachdbTest, ShowsUpdatedAndTheKeyAsColumns) {
  Use({{"metadata", RawObject({{"updated", RawText("ts")}, {"key", RawText("k")}, {"partition", RawText("p")}})},
       {"columns", RawList({"id"})}});
  ASSERT_TRUE(Read(RawRecord{.topic = "o",
                             .partition = 3,
                             .key = "[1, \"a\"]",
                             .value = R"({"after": {"x": 1, "id": 1}, "updated": "17.0000000002"})"})
                  .ok());
  EXPECT_EQ(output_.rows, (std::vector<std::string>{R"(+U {"ts":"17.0000000002","k":[1, "a"],"p":3,"id":1})"}));
}

}  // namespace
}  // namespace weir::connectors
