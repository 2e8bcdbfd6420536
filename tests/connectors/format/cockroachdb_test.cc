// Changefeed messages of the wrapped envelope.
#include "connectors/format/cockroachdb.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "connectors/format/bad_record.h"
#include "operators/metrics.h"
#include "tests/connectors/format/changefeed_fixture.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

using CockroachdbTest = ChangefeedTest;

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
  EXPECT_EQ(wrong.message(), "record key: 1 values, and table o has 2 key columns");
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
            "not a changefeed message of this envelope: neither after nor resolved is there");
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

TEST_F(CockroachdbTest, B48_WithoutUpdatedTheTimeIsTheMvccTimestampThenTheRecords) {
  ASSERT_TRUE(Read(R"({"after": {"id": 1}, "updated": "5.0000000001", "mvcc_timestamp": "4.0000000000"})").ok());
  ASSERT_TRUE(Read(R"({"after": {"id": 1}, "updated": null, "mvcc_timestamp": "4.0000000002"})").ok());
  const RawRecord neither{.topic = "t", .timestamp_ms = 3, .value = R"({"after": {"id": 1}})"};
  ASSERT_TRUE(Read(neither).ok());
  EXPECT_EQ(output_.times, (std::vector<EventTime>{{5, 1}, {4, 2}, {3'000'000, 0}}));
  EXPECT_EQ(Read(R"({"after": {"id": 1}, "mvcc_timestamp": "4"})").message(),
            "member mvcc_timestamp is not a timestamp such as \"1700000000123456789.0000000002\": 4");
}

TEST_F(CockroachdbTest, ResolvedZeroIsNoWatermark) {
  ASSERT_TRUE(Read(R"({"resolved": "0.0000000000"})").ok());
  EXPECT_TRUE(output_.watermarks.empty());
  ASSERT_TRUE(Read(R"({"resolved": "0.0000000001"})").ok());
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{0, 0}));
}

// The messages of the model's TestAsPayload; where a test of that file sees four fields, this one sees rows.
TEST_F(CockroachdbTest, B08_WrappedMessagesAsTheModelTestsThem) {
  Use({{"key-columns", RawList({"k"})}});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Read(R"({"after": {"k": 1, "v": "a"}, "updated": "1.0"})").ok());
  ASSERT_TRUE(Read(R"({"after": {"k": 1, "v": "a"}, "before": {"k": 1, "v": "b"}, "updated": "10.0"})").ok());
  ASSERT_TRUE(Read(R"({"before": {"k": 1, "v": "b"}, "updated": "10.0"})").ok());
  ASSERT_TRUE(Read(R"({"resolved": "10.0"})").ok());
  const Status no_json = Read("not a well formed payload");
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"k":1,"v":"a"})", R"(+U {"k":1,"v":"a"})", R"(-U {"k":1,"v":"b"})",
                              R"(+U {"k":1,"v":"a"})", R"(-D {"k":1,"v":"b"})"}));
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{10, 0}.Previous()));
  EXPECT_EQ(no_json.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(no_json.message().find("broken JSON at byte 0"), std::string::npos) << no_json.message();
}

TEST_F(CockroachdbTest, B08_ADeletionHasAfterNullOrNone) {
  Use({{"key-columns", RawList({"id"})}});
  for (const char* value : {R"({"after": null})", R"({"after": null, "before": null})", R"({"updated": "1.0"})",
                            R"({"mvcc_timestamp": "1.0", "before": null})"}) {
    ASSERT_TRUE(Read(value).ok()) << value;
    EXPECT_EQ(TakeRows(), (Rows{R"(-D {"id":1})"})) << value;
  }
  ASSERT_TRUE(Read(R"({"before": {"id": 1, "n": 5}, "after": null})").ok());
  ASSERT_TRUE(Read(R"({"before": {"id": 1, "n": 5}})").ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"id":1,"n":5})", R"(-D {"id":1,"n":5})"}));
}

TEST_F(CockroachdbTest, B08_NumbersKeepTheirTextAndOtherMembersArePassedOver) {
  ASSERT_TRUE(Read(R"({"x": {"after": 1}, "after": {"i": 9223372036854775807, "big": 123456789012345678901234567890.10,
                    "e": 1.50e+3, "z": -0.00}, "updated": "1.0", "extra": [1, {"y": null}]})")
                  .ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"i":9223372036854775807,"big":123456789012345678901234567890.10,)"
                              R"("e":1.50e+3,"z":-0.00})"}));
}

TEST_F(CockroachdbTest, B09_TheTableIsTheLastPartOfTheTopic) {
  Use({{"metadata", RawObject({{"table", RawText("t")}})}});
  for (const char* topic : {"t", "schema.t", "db.schema.t", "my.long.prefix.t"}) {
    ASSERT_TRUE(Read(RawRecord{.topic = topic, .key = "[1]", .value = R"({"after": {"id": 1}})"}).ok());
    EXPECT_EQ(TakeRows(), (Rows{R"(+U {"t":"t","id":1})"})) << topic;
  }
  for (const char* topic : {"", "db."}) {
    EXPECT_EQ(Read(RawRecord{.topic = topic, .key = "[1]", .value = R"({"after": {"id": 1}})"}).message(),
              "empty table name");
  }
}

TEST_F(CockroachdbTest, B09_APrefixWithoutAPointIsTakenOff) {
  Use({{"metadata", RawObject({{"table", RawText("t")}})}, {"topic-prefix", RawText("bar_")}});
  for (const char* topic : {"bar_foo", "foo", "bar_db.schema.foo"}) {
    ASSERT_TRUE(Read(RawRecord{.topic = topic, .key = "[1]", .value = R"({"after": {"id": 1}})"}).ok());
    EXPECT_EQ(TakeRows(), (Rows{R"(+U {"t":"foo","id":1})"})) << topic;
  }
}

TEST_F(CockroachdbTest, B10_TheKeysTextIsTheIdentityByteForByte) {
  Use({{"metadata", RawObject({{"key", RawText("k")}})}, {"columns", RawList({"id"})}});
  for (const char* key : {R"([1])", R"([ 1 , "a\u0041" ])", R"(["seattle","68ee1f95"])", R"([1.50, -0, 1e2])"}) {
    ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = key, .value = R"({"after": {"id": 1}})"}).ok());
    EXPECT_EQ(TakeRows(), (Rows{R"(+U {"k":)" + std::string(key) + R"(,"id":1})"}));
  }
  EXPECT_EQ(Read(RawRecord{.topic = "t", .key = "[1", .value = R"({"after": {"id": 1}})"}).message(),
            "record key: broken JSON at byte 2: expected ',' or ']', found the end of the text");
}

// The whole row is known to be gone by its key alone: exactly one of three neighbours.
TEST_F(CockroachdbTest, case_H57_ADeletionWithACompositeKeyNamesOneRow) {
  Use({{"key-columns", RawList({"a", "b"})}});
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = R"([7,"x"])", .value = R"({"after":null})"}).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"a":7,"b":"x"})"}));
  // The key in the value, where the record has none; with both the record's is the identity.
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .value = R"({"after":null,"key":[7, "x"]})"}).ok());
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = "", .value = R"({"after":null,"key":[7, "x"]})"}).ok());
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = R"([8,"x"])", .value = R"({"after":null,"key":[7, "x"]})"}).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"a":7,"b":"x"})", R"(-D {"a":7,"b":"x"})", R"(-D {"a":8,"b":"x"})"}));
  const Status none = Read(RawRecord{.topic = "t", .value = R"({"after":null})"});
  EXPECT_EQ(none.message(), "a row of the key alone, and there is none, neither the record's nor in the value");
}

// Column families of one row come in messages of their own: what a message lacks is absent, not null.
TEST_F(CockroachdbTest, case_H56_PartialRowsOfColumnFamiliesStayPartial) {
  ASSERT_TRUE(Read(R"({"after": {"a": 1, "b": null}})").ok());
  ASSERT_TRUE(Read(R"({"after": {"c": 3}})").ok());
  ASSERT_TRUE(Read(R"({"after": {"a": 2, "b": 2}})").ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"a":1,"b":null})", R"(+U {"c":3})", R"(+U {"a":2,"b":2})"}));
  EXPECT_TRUE(output_.kept[1].at(0, 0).absent());
  EXPECT_TRUE(output_.kept[0].at(0, 1).null());
}

TEST_F(CockroachdbTest, case_H49_JsonNullAndSqlNullAreToldApart) {
  const char* const kSqlNull = R"({"after": {"id": 1, "doc": null}})";
  const char* const kJsonNull = R"({"after": {"id": 2, "doc": {"__crdb_json_null__": true}}})";
  ASSERT_TRUE(Read(kSqlNull).ok());
  ASSERT_TRUE(Read(kJsonNull).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"id":1,"doc":null})", R"(+U {"id":2,"doc":{"__crdb_json_null__": true}})"}));
  Use({{"json-null-object", RawBool(true)}});
  output_.kept.clear();
  ASSERT_TRUE(Read(kSqlNull).ok());
  ASSERT_TRUE(Read(kJsonNull).ok());
  ASSERT_TRUE(Read(R"({"after": {"id": 3, "doc": {"__crdb_json_null__":false}}})").ok());
  ASSERT_TRUE(Read(R"({"after": {"id": 4, "doc": {"__crdb_json_null__":true, "a":1}}})").ok());
  EXPECT_EQ(output_.kept[0].at(0, 1).type(), operators::ValueType::kNull);
  EXPECT_EQ(output_.kept[1].at(0, 1).type(), operators::ValueType::kJson);
  EXPECT_EQ(output_.kept[1].at(0, 1).text(), "null");
  EXPECT_EQ(TakeRows().back(), R"(+U {"id":4,"doc":{"__crdb_json_null__":true, "a":1}})");
}

TEST_F(CockroachdbTest, B48_ATombstoneIsNothingOrADeletion) {
  const RawRecord tombstone{.topic = "t", .timestamp_ms = 5, .key = "[1]"};
  ASSERT_TRUE(Read(tombstone).ok());
  EXPECT_TRUE(TakeRows().empty());
  Use({{"tombstones", RawText("delete")}, {"key-columns", RawList({"id"})}});
  ASSERT_TRUE(Read(tombstone).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"id":1})"}));
  EXPECT_EQ(output_.times.back(), (EventTime{5'000'000, 0}));
  EXPECT_EQ(Read(RawRecord{.topic = "t"}).code(), StatusCode::kInvalidArgument);
}

TEST_F(CockroachdbTest, AnEmptyValueIsABadRecordThatSaysWhereItIs) {
  const RawRecord record{.topic = "orders", .partition = 7, .offset = 42, .key = "[1]", .value = ""};
  operators::SubtaskMetrics metrics;
  const Status status = HandleBadRecord(BadRecordPolicy::kFail, record, Read(record), "in", output_, metrics);
  EXPECT_EQ(status.message(),
            "bad record in orders, partition 7, offset 42: the value is empty: neither a message nor a tombstone");
}

}  // namespace
}  // namespace weir::connectors
