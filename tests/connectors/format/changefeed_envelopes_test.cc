// The envelopes beside wrapped, several tables in one feed, headers, and the options that choose.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/connectors/format/changefeed_fixture.h"

namespace weir::connectors {
namespace {

using operators::EventTime;
using ChangefeedEnvelopesTest = ChangefeedTest;

RawRecord Record(std::string_view key, std::string_view value) { return {.topic = "t", .key = key, .value = value}; }

TEST_F(ChangefeedEnvelopesTest, B48_Bare) {
  Use({{"envelope", RawText("bare")},
       {"key-columns", RawList({"id"})},
       {"metadata", RawObject({{"table", RawText("table")}, {"updated", RawText("ts")}})}});
  ASSERT_TRUE(Read(Record("[1]", R"({"__crdb__": {"updated": "5.0000000002", "topic": "db.public.o", "key": [1]},
                                     "id": 1, "total": 2.50, "after": null})"))
                  .ok());
  ASSERT_TRUE(Read(Record("[1]", R"({"id": 1})")).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"table":"o","ts":"5.0000000002","id":1,"total":2.50,"after":null})",
                              R"(+U {"table":"t","ts":null,"id":1})"}));
  EXPECT_EQ(output_.times[0], (EventTime{5, 2}));
  ASSERT_TRUE(Read(Record("", R"({"__crdb__": {"mvcc_timestamp": "6.0", "key": [2]}})")).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"table":"t","ts":null,"id":2})"}));
  EXPECT_EQ(output_.times.back(), (EventTime{6, 0}));
  ASSERT_TRUE(Read(R"({"__crdb__": {"resolved": "7.0000000001"}})").ok());
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{7, 0}));
  EXPECT_EQ(Read(Record("[1]", R"({"id": 1, "__crdb__": {"updated": "x"}})")).message(),
            "member updated is not a timestamp such as \"1700000000123456789.0000000002\": x");
}

// Columns that are not wanted are columns all the same: the row is there.
TEST_F(ChangefeedEnvelopesTest, B48_BareWithChosenColumnsIsNoDeletion) {
  Use({{"envelope", RawText("bare")}, {"columns", RawList({"a"})}});
  ASSERT_TRUE(Read(Record("[1]", R"({"b": 1, "__crdb__": {"updated": "5.0"}})")).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {})"}));
}

TEST_F(ChangefeedEnvelopesTest, B48_Row) {
  Use({{"envelope", RawText("row")}, {"key-columns", RawList({"city", "id"})}});
  ASSERT_TRUE(Read(Record(R"(["rome", 1])", R"({"city": "rome", "id": 1, "resolved": "no"})")).ok());
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = R"(["rome", 1])"}).ok());
  ASSERT_TRUE(Read(R"({"__crdb__":{"resolved":"7.0000000000"}})").ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"city":"rome","id":1,"resolved":"no"})", R"(-D {"city":"rome","id":1})"}));
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{7, 0}.Previous()));
}

TEST_F(ChangefeedEnvelopesTest, B48_KeyOnly) {
  Use({{"envelope", RawText("key_only")}, {"key-columns", RawList({"city", "id"})}});
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .timestamp_ms = 4, .key = R"(["rome", 1])"}).ok());
  ASSERT_TRUE(Read(Record(R"(["oslo", 2])", "")).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"city":"rome","id":1})", R"(+U {"city":"oslo","id":2})"}));
  EXPECT_EQ(output_.times[0], (EventTime{4'000'000, 0}));
  ASSERT_TRUE(Read(R"({"__crdb__":{"resolved":"7.0000000000"}})").ok());
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{7, 0}.Previous()));
  EXPECT_EQ(Read(R"({"id": 1})").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read(RawRecord{.topic = "t"}).code(), StatusCode::kInvalidArgument);
}

TEST_F(ChangefeedEnvelopesTest, B48_EnrichedWithSource) {
  Use({{"envelope", RawText("enriched")},
       {"metadata", RawObject({{"table", RawText("table")}, {"updated", RawText("ts")}})}});
  ASSERT_TRUE(Read(Record(R"({"id": 1})", R"({"after": {"id": 1, "price": 22.30}, "op": "c", "ts_ns": 99,
      "source": {"primary_keys": ["id"], "table_name": "a.b", "ts_hlc": "5.0000000003", "ts_ns": 5}})"))
                  .ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"table":"a.b","ts":"5.0000000003","id":1,"price":22.30})"}));
  EXPECT_EQ(output_.times[0], (EventTime{5, 3}));
  // mvcc_timestamp alone; without either the record's time, never ts_ns.
  ASSERT_TRUE(
      Read(Record("{}", R"({"after": {"id": 1}, "op": "u", "source": {"mvcc_timestamp": "4.0000000000"}})")).ok());
  ASSERT_TRUE(
      Read(RawRecord{.topic = "t", .timestamp_ms = 2, .value = R"({"after": {"id": 1}, "op": "u", "ts_ns": 9})"}).ok());
  EXPECT_EQ(output_.times[1], (EventTime{4, 0}));
  EXPECT_EQ(output_.times[2], (EventTime{2'000'000, 0}));
}

TEST_F(ChangefeedEnvelopesTest, B48_EnrichedWithDiffAndSchema) {
  Use({{"envelope", RawText("enriched")}});
  const auto message = [](const std::string& payload) {
    return R"({"schema": {"type": "struct", "fields": [{"field": "after"}]}, "payload": )" + payload + "}";
  };
  const std::string key = message(R"({"id": 1})");
  for (const char* payload : {R"({"before": null, "after": {"id": 1, "n": 1}, "op": "c", "ts_ns": 1})",
                              R"({"before": {"id": 1, "n": 1}, "after": {"id": 1, "n": 2}, "op": "u"})",
                              R"({"before": {"id": 1, "n": 2}, "after": null, "op": "d"})",
                              R"({"after": null, "op": "d"})", R"({"after": null, "key": {"id": 3}, "op": "d"})"}) {
    ASSERT_TRUE(Read(Record(key, message(payload))).ok()) << payload;
  }
  EXPECT_EQ(TakeRows(), (Rows{R"(+I {"id":1,"n":1})", R"(-U {"id":1,"n":1})", R"(+U {"id":1,"n":2})",
                              R"(-D {"id":1,"n":2})", R"(-D {"id":1})", R"(-D {"id":1})"}));
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .value = R"({"after": null, "key": {"id": 3}, "op": "d"})"}).ok());
  ASSERT_TRUE(Read(Record(R"({"payload": 8})", R"({"after": null, "op": "d"})")).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"id":3})", R"(-D {"payload":8})"}));
  ASSERT_TRUE(Read(R"({"resolved": "7.0000000000"})").ok());
  EXPECT_EQ(output_.watermarks.at(split_), (EventTime{7, 0}.Previous()));
  // As a column it is the row's identity, which no schema is part of.
  Use({{"envelope", RawText("enriched")}, {"metadata", RawObject({{"key", RawText("k")}})}});
  ASSERT_TRUE(Read(Record(key, message(R"({"after": {"id": 1}, "op": "u"})"))).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"k":{"id": 1},"id":1})"}));
}

TEST_F(ChangefeedEnvelopesTest, B48_EnrichedSaysWhatIsWrong) {
  Use({{"envelope", RawText("enriched")}});
  EXPECT_EQ(Read(R"({"after": {"id": 1}, "op": "d"})").message(),
            "member op is \"d\", which does not agree with member after");
  EXPECT_EQ(Read(R"({"after": null, "op": "c"})").message(),
            "member op is \"c\", which does not agree with member after");
  EXPECT_EQ(Read(R"({"after": {"id": 1}, "op": "x"})").message(), "member op is none of c, u and d");
  EXPECT_EQ(Read(R"({"payload": 1, "schema": {}})").message(),
            "not a changefeed message of this envelope: neither after nor resolved is there");
  EXPECT_EQ(Read(R"({"after": {"id": 1}, "op": "c", "source": {"ts_hlc": 5}})").message(),
            "member ts_hlc is not a timestamp such as \"1700000000123456789.0000000002\"");
  EXPECT_TRUE(TakeRows().empty());
}

TEST_F(ChangefeedEnvelopesTest, B49_OneTopicHoldsManyTables) {
  Use({{"metadata", RawObject({{"table", RawText("t")}, {"key", RawText("k")}})},
       {"tables", RawObject({{"parent", RawObject({{"key-columns", RawText("id")}})},
                             {"child", RawObject({{"key-columns", RawList({"parent", "n"})}})}})},
       {"key-columns", RawList({"rest"})}});
  const auto read = [&](const char* key, const char* value) {
    return Read(RawRecord{.topic = "all_tables", .key = key, .value = value});
  };
  ASSERT_TRUE(read("[1]", R"({"after": {"id": 1}, "topic": "parent"})").ok());
  ASSERT_TRUE(read("[1]", R"({"after": null, "topic": "db.public.parent"})").ok());
  ASSERT_TRUE(read("[1, 2]", R"({"after": null, "topic": "child"})").ok());
  ASSERT_TRUE(read("[9]", R"({"after": null, "topic": "caf_u00e9_"})").ok());
  ASSERT_TRUE(read("[9]", R"({"after": null})").ok());
  EXPECT_EQ(TakeRows(),
            (Rows{R"(+U {"t":"parent","k":[1],"id":1})", R"(-D {"t":"parent","k":[1],"id":1})",
                  R"(-D {"t":"child","k":[1, 2],"parent":1,"n":2})", R"(-D {"t":"caf_u00e9_","k":[9],"rest":9})",
                  R"(-D {"t":"all_tables","k":[9],"rest":9})"}));
  EXPECT_EQ(read("[1]", R"({"after": null, "topic": "child"})").message(),
            "record key: 1 values, and table child has 2 key columns");
}

TEST_F(ChangefeedEnvelopesTest, B49_ATableThatIsNotNamedSaysSo) {
  Use({{"tables", RawObject({{"parent", RawObject({{"key-columns", RawText("id")}})}})}});
  const Status status = Read(RawRecord{.topic = "db.child", .key = "[1]", .value = R"({"after": null})"});
  EXPECT_TRUE(status.message().starts_with("record key: table child: a row of the key alone")) << status.message();
}

// A sink that knows the target's primary key takes it from there.
TEST_F(ChangefeedEnvelopesTest, B10_ADeletionIsKnownByItsKeyAloneWhereTheMetadataHasIt) {
  Use({{"metadata", RawObject({{"table", RawText("t")}, {"key", RawText("k")}})}});
  ASSERT_TRUE(Read(RawRecord{.topic = "child", .key = "[1, \"a\"]", .value = R"({"after": null})"}).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"t":"child","k":[1, "a"]})"}));
  EXPECT_FALSE(Read(RawRecord{.topic = "child", .key = "[1", .value = R"({"after": null})"}).ok());
}

TEST_F(ChangefeedEnvelopesTest, B49_HeadersAreColumnsOnRequest) {
  Use({});
  EXPECT_FALSE(deserializer_->reads_headers());
  Use({{"metadata", RawObject({{"header:trace_id", RawText("trace")}, {"header:none", RawText("none")}})}});
  EXPECT_TRUE(deserializer_->reads_headers());
  const std::vector<RecordHeader> headers = {
      {"trace_id", "first"}, {"other", "\xff"}, {"trace_id", "abc"}, {"null", std::nullopt}};
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .value = R"({"after": {"id": 1}})", .headers = headers}).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"trace":"abc","none":null,"id":1})"}));
}

std::vector<std::string> ProblemsOf(RawMembers members) {
  std::vector<std::string> messages;
  ChangefeedOptions(std::move(members), &messages);
  return messages;
}

TEST(ChangefeedOptionsTest, EveryBadChoiceIsNamed) {
  EXPECT_EQ(ProblemsOf({{"encoding", RawText("avro")}}),
            (std::vector<std::string>{"/schema-registry: encoding avro needs schema-registry, where the schemas are"}));
  EXPECT_EQ(ProblemsOf({{"schema-registry", RawObject({{"url", RawText("http://r")}})}}),
            (std::vector<std::string>{"/schema-registry: schema-registry has a meaning only with encoding avro"}));
  EXPECT_EQ(ProblemsOf({{"envelope", RawText("key_only")}}).size(), 1U);
  EXPECT_EQ(ProblemsOf({{"envelope", RawText("row")}}).size(), 1U);
  EXPECT_EQ(ProblemsOf({{"tombstones", RawText("delete")}}).size(), 1U);
  EXPECT_TRUE(ProblemsOf({{"envelope", RawText("row")}, {"tombstones", RawText("ignore")}}).empty());
  EXPECT_EQ(ProblemsOf({{"tables", RawObject({{"t", RawObject({{"key-columns", RawList({"a", "a"})}})}})}}),
            (std::vector<std::string>{"/key-columns: key-columns has \"a\" twice"}));
  const auto registry = [](RawMembers members) {
    return ProblemsOf({{"encoding", RawText("avro")}, {"schema-registry", RawObject(std::move(members))}});
  };
  EXPECT_EQ(registry({{"url", RawText("https://me:secret@host")}}),
            (std::vector<std::string>{"/url: url holds a user or password; they belong into username and password"}));
  for (const char* url : {"ftp://host", "host:8081", "http://", "http://h?x=1", "http://h#x"}) {
    EXPECT_EQ(registry({{"url", RawText(url)}}).size(), 1U) << url;
  }
  EXPECT_EQ(registry({{"url", RawText("http://h")}, {"username", RawText("me")}}).size(), 1U);
  EXPECT_EQ(registry({{"url", RawText("http://h")}, {"password", RawText("p")}}).size(), 1U);
  EXPECT_TRUE(registry({{"url", RawText("http://h")}, {"username", RawText("u")}, {"password", RawText("p")}}).empty());
}

TEST(ChangefeedOptionsTest, BelongToTheFormat) {
  operators::Problems problems;
  const operators::Options options = OptionsOf(DeserializerOptions(),
                                               {{"envelope", RawText("bare")},
                                                {"tombstones", RawText("delete")},
                                                {"topic-prefix", RawText("x")},
                                                {"json-null-object", RawBool(true)},
                                                {"metadata", RawObject({{"table", RawText("t")}})}},
                                               problems);
  CheckDeserializerOptions(options, problems);
  EXPECT_EQ(problems.size(), 5U);
}

}  // namespace
}  // namespace weir::connectors
