// Changefeed messages in Avro, with schemas of the form that CockroachDB registers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "connectors/format/avro_decimal.h"
#include "tests/connectors/format/avro_fixture.h"
#include "tests/connectors/format/changefeed_fixture.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

std::string Nullable(const std::string& name, const std::string& type, const std::string& sql = "") {
  std::string field = R"({"type":["null",)" + type + R"(],"name":")" + name + R"(","default":null)";
  if (!sql.empty()) field += R"(,"__crdb__":")" + sql + "\"";
  return field + "}";
}

std::string RecordOf(const std::string& name, const std::vector<std::string>& fields) {
  std::string text = R"({"type":"record","name":")" + name + R"(","fields":[)";
  for (const std::string& field : fields) text += (&field == fields.data() ? "" : ",") + field;
  return text + "]}";
}

std::string Row(const std::string& name) {
  return RecordOf(name, {Nullable("id", R"("long")", "id INT8 NOT NULL"), Nullable("caf_u00e9_", R"("string")")});
}

// 1: the key, 2: wrapped with diff, 3: resolved, 4: bare, 5: enriched.
std::map<uint32_t, std::string> Schemas() {
  const std::string updated = Nullable("updated", R"("string")");
  const std::string source = RecordOf(
      "source", {Nullable("job_id", R"("string")"), Nullable("primary_keys", R"({"type":"array","items":"string"})"),
                 Nullable("table_name", R"("string")"), Nullable("ts_hlc", R"("string")")});
  return {{1, RecordOf("orders", {Nullable("id", R"("long")", "id INT8 NOT NULL")})},
          {2, RecordOf("orders_envelope",
                       {Nullable("before", Row("orders_before")), Nullable("after", Row("orders")), updated})},
          {3, RecordOf("orders_envelope", {Nullable("resolved", R"("string")")})},
          {4, RecordOf("orders_envelope", {updated, Nullable("record", Row("orders"))})},
          {5, RecordOf("orders_envelope", {Nullable("after", Row("orders")), Nullable("source", source),
                                           Nullable("ts_ns", R"("long")"), Nullable("op", R"("string")")})}};
}

void PutRow(AvroPut field, int64_t id, const std::string& text) {
  AvroPut row = field.Branch(1);
  row.Field("id").Branch(1).Long(id);
  row.Field("caf_u00e9_").Branch(1).Text(text);
}

std::string Message(uint32_t id, const std::function<void(AvroPut)>& fill) {
  return AvroBytes(Schemas()[id], id, fill);
}

std::string Key(int64_t id) {
  return Message(1, [&](AvroPut key) { key.Field("id").Branch(1).Long(id); });
}

class AvroTest : public ChangefeedTest {
 protected:
  void Open(RawMembers members = {}) {
    UseAvro(std::move(members), std::make_unique<KnownSchemas>(Schemas(), &asked_));
  }
  Status ReadValue(const std::string& key, const std::string& value) {
    return Read(RawRecord{.topic = "db.public.orders", .key = key, .value = value});
  }
  // One column of that type, read back.
  std::string Column(const std::string& type, const std::string& sql, const std::function<void(AvroPut)>& fill) {
    const std::string row = RecordOf("t", {R"({"name":"c","type":)" + type + R"(,"__crdb__":")" + sql + "\"}"});
    const std::string schema = RecordOf("e", {Nullable("after", row)});
    UseAvro({}, std::make_unique<KnownSchemas>(std::map<uint32_t, std::string>{{1, schema}}));
    output_.kept.clear();
    const std::string bytes =
        AvroBytes(schema, 1, [&](AvroPut message) { fill(message.Field("after").Branch(1).Field("c")); });
    const Status status = Read(RawRecord{.topic = "t", .value = bytes});
    if (!status.ok()) return status.message();
    const operators::Value& value = output_.kept[0].at(0, 0);
    return std::string(ValueTypeName(value.type())) + " " + TakeRows()[0].substr(8, std::string::npos);
  }

  int asked_ = 0;
};

TEST_F(AvroTest, B48_Weakness_m_WrappedWithDiff) {
  Open({{"metadata", RawObject({{"table", RawText("t")}, {"key", RawText("k")}, {"updated", RawText("u")}})}});
  const std::string key = Key(7);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ReadValue(key, Message(2,
                                       [&](AvroPut message) {
                                         if (i > 0) PutRow(message.Field("before"), 7, "old");
                                         if (i == 0) message.Field("before").Branch(0).Null();
                                         if (i < 2) PutRow(message.Field("after"), 7, "new");
                                         if (i == 2) message.Field("after").Branch(0).Null();
                                         message.Field("updated").Branch(1).Text("5.0000000002");
                                       }))
                    .ok());
  }
  const std::string metadata = R"({"t":"orders","k":{"id":7},"u":"5.0000000002","id":7,"caf)"
                               "\xc3\xa9"
                               R"(":)";
  EXPECT_EQ(TakeRows(), (Rows{"+I " + metadata + "\"new\"}", "-U " + metadata + "\"old\"}",
                              "+U " + metadata + "\"new\"}", "-D " + metadata + "\"old\"}"}));
  EXPECT_EQ(output_.times[0], (EventTime{5, 2}));
  EXPECT_EQ(asked_, 2);  // once a schema
}

TEST_F(AvroTest, B48_ADeletionWithoutBeforeAndATombstoneTakeTheKey) {
  Open({{"tombstones", RawText("delete")}});
  ASSERT_TRUE(ReadValue(Key(-9), Message(2,
                                         [](AvroPut message) {
                                           message.Field("before").Branch(0).Null();
                                           message.Field("after").Branch(0).Null();
                                           message.Field("updated").Branch(0).Null();
                                         }))
                  .ok());
  const std::string key = Key(8);
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = key}).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(-D {"id":-9})", R"(-D {"id":8})"}));
}

TEST_F(AvroTest, B48_ResolvedBareKeyOnlyAndEnriched) {
  const std::string resolved = Message(3, [](AvroPut m) { m.Field("resolved").Branch(1).Text("9.0000000001"); });
  for (const char* envelope : {"wrapped", "bare", "key_only", "enriched"}) {
    Open({{"envelope", RawText(envelope)}});
    output_.watermarks.clear();
    ASSERT_TRUE(Read(RawRecord{.topic = "t", .value = resolved}).ok()) << envelope;
    EXPECT_EQ(output_.watermarks.at(split_), (EventTime{9, 0})) << envelope;
  }
  Open({{"envelope", RawText("bare")}});
  ASSERT_TRUE(ReadValue(Key(1), Message(4,
                                        [](AvroPut m) {
                                          m.Field("updated").Branch(1).Text("5.0000000000");
                                          PutRow(m.Field("record"), 1, "x");
                                        }))
                  .ok());
  ASSERT_TRUE(ReadValue(Key(1), Message(4,
                                        [](AvroPut m) {
                                          m.Field("updated").Branch(1).Text("6.0000000000");
                                          m.Field("record").Branch(0).Null();
                                        }))
                  .ok());
  EXPECT_EQ(TakeRows(), (Rows{"+U {\"id\":1,\"caf\xc3\xa9\":\"x\"}", "-D {\"id\":1}"}));
  Open({{"envelope", RawText("key_only")}});
  const std::string key = Key(3);
  ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = key}).ok());
  EXPECT_EQ(TakeRows(), (Rows{R"(+U {"id":3})"}));
  Open({{"envelope", RawText("enriched")}, {"metadata", RawObject({{"table", RawText("t")}})}});
  ASSERT_TRUE(ReadValue(Key(4), Message(5,
                                        [](AvroPut m) {
                                          PutRow(m.Field("after"), 4, "y");
                                          AvroPut source = m.Field("source").Branch(1);
                                          source.Field("job_id").Branch(1).Text("1");
                                          source.Field("primary_keys").Branch(1).Append().Text("id");
                                          source.Field("table_name").Branch(1).Text("real");
                                          source.Field("ts_hlc").Branch(1).Text("8.0000000003");
                                          m.Field("ts_ns").Branch(1).Long(99);
                                          m.Field("op").Branch(1).Text("c");
                                        }))
                  .ok());
  EXPECT_EQ(TakeRows(), (Rows{"+U {\"t\":\"real\",\"id\":4,\"caf\xc3\xa9\":\"y\"}"}));
  EXPECT_EQ(output_.times.back(), (EventTime{8, 3}));
}

TEST_F(AvroTest, B48_EveryTypeIsExact) {
  const auto nullable = [](const std::string& type) { return "[\"null\"," + type + "]"; };
  const std::string longs = nullable(R"("long")");
  for (const int64_t number : {INT64_MIN, INT64_C(-1), INT64_C(0), INT64_C(9007199254740993), INT64_MAX}) {
    EXPECT_EQ(Column(longs, "", [&](AvroPut c) { c.Branch(1).Long(number); }), "int64 " + std::to_string(number) + "}");
  }
  EXPECT_EQ(Column(longs, "", [](AvroPut c) { c.Branch(0).Null(); }), "null null}");
  EXPECT_EQ(Column(R"("boolean")", "", [](AvroPut c) { c.Bool(true); }), "bool true}");
  EXPECT_EQ(Column(R"("double")", "", [](AvroPut c) { c.Double(0.1); }), "double 0.1}");
  EXPECT_EQ(Column(R"("float")", "", [](AvroPut c) { c.Float(0.5F); }), "double 0.5}");
  EXPECT_EQ(Column(R"("bytes")", "", [](AvroPut c) { c.Bytes(std::string("\0\xff", 2)); }), "bytes \"AP8=\"}");
  EXPECT_EQ(Column(R"({"type":"int","logicalType":"date"})", "", [](AvroPut c) { c.Int(-1); }), "date \"1969-12-31\"}");
  EXPECT_EQ(Column(R"({"type":"long","logicalType":"time-micros"})", "", [](AvroPut c) { c.Long(3'723'000'004); }),
            "time \"01:02:03.000004\"}");
  const std::string timestamp = nullable(R"({"type":"long","logicalType":"timestamp-micros"})");
  const auto micros = [](AvroPut c) { c.Branch(1).Long(1'745'510'368'962'730); };
  EXPECT_EQ(Column(timestamp, "c TIMESTAMPTZ NULL", micros), "timestamptz \"2025-04-24T15:59:28.962730Z\"}");
  EXPECT_EQ(Column(timestamp, R"(\"a c\" TIMESTAMP(3) NOT NULL)", micros), "timestamp \"2025-04-24T15:59:28.962730\"}");
  EXPECT_EQ(Column(timestamp, "", micros), "timestamptz \"2025-04-24T15:59:28.962730Z\"}");
  EXPECT_EQ(Column(R"({"type":"enum","name":"e2","symbols":["a","b"]})", "", [](AvroPut c) { c.Enum(1); }),
            "string \"b\"}");
  EXPECT_EQ(Column(R"({"type":"array","items":["null","long"]})", "",
                   [](AvroPut c) {
                     c.Append().Branch(1).Long(1);
                     c.Append().Branch(0).Null();
                   }),
            "json [1,null]}");
}

TEST_F(AvroTest, B48_DecimalsKeepEveryDigit) {
  const std::string decimal = R"(["null",{"type":"bytes","logicalType":"decimal","precision":10,"scale":2},"string"])";
  EXPECT_EQ(Column(decimal, "", [](AvroPut c) { c.Branch(1).Bytes("\x04\xe2"); }), "decimal 12.50}");
  EXPECT_EQ(Column(decimal, "", [](AvroPut c) { c.Branch(2).Text("NaN"); }), "decimal \"NaN\"}");
  EXPECT_EQ(Column(decimal, "", [](AvroPut c) { c.Branch(2).Text("1e3"); }), "decimal 1e3}");
  EXPECT_EQ(Column(decimal, "", [](AvroPut c) { c.Branch(2).Text("x"); }), "string \"x\"}");
  EXPECT_EQ(Column(R"({"type":"fixed","name":"f","size":3,"logicalType":"decimal","precision":5,"scale":0})", "",
                   [](AvroPut c) { c.Fixed("\xff\xff\xfe"); }),
            "decimal -2}");
  EXPECT_EQ(DecimalText("", 0), "0");
  EXPECT_EQ(DecimalText(std::string("\0", 1), 3), "0.000");
  EXPECT_EQ(DecimalText("\xff", 2), "-0.01");
  EXPECT_EQ(DecimalText("\x80", 0), "-128");
  EXPECT_EQ(DecimalText(std::string("\x80\0\0\0", 4), 0), "-2147483648");
  EXPECT_EQ(DecimalText(std::string("\x01\0\0\0\0\0\0\0\0", 9), 10), "1844674407.3709551616");
  EXPECT_EQ(DecimalText(std::string("\xff\0\0\0\0\0\0\0\0", 9), 0), "-18446744073709551616");
  EXPECT_EQ(DecimalText(std::string("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 17), 0),
            "340282366920938463463374607431768211455");
}

TEST_F(AvroTest, B48_JsonbIsWhatTheColumnHolds) {
  const auto jsonb = [&](const std::string& text) {
    return Column(R"(["null","string"])", "c JSONB NULL", [&](AvroPut c) { c.Branch(1).Text(text); });
  };
  EXPECT_EQ(jsonb(R"({"a": [1]})"), R"(json {"a": [1]}})");
  EXPECT_EQ(jsonb("null"), "json null}");
  EXPECT_EQ(jsonb("1.50"), "decimal 1.50}");
  EXPECT_EQ(jsonb("7"), "int64 7}");
  EXPECT_EQ(jsonb("true"), "bool true}");
  EXPECT_EQ(jsonb(R"("a\"b")"), R"(string "a\"b"})");
  EXPECT_NE(jsonb("{").find("a JSONB column with broken JSON"), std::string::npos);
  EXPECT_EQ(Column(R"(["null","string"])", "c JSONB NULL", [](AvroPut c) { c.Branch(0).Null(); }), "null null}");
}

TEST_F(AvroTest, B48_BrokenRecordsAreBadOnes) {
  Open();
  const std::string good = Message(2, [](AvroPut m) {
    m.Field("before").Branch(0).Null();
    PutRow(m.Field("after"), 7, "new");
    m.Field("updated").Branch(1).Text("5.0000000002");
  });
  ASSERT_TRUE(ReadValue(Key(7), good).ok());
  TakeRows();
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(ReadValue(Key(7), good.substr(0, size)).code(), StatusCode::kInvalidArgument) << size;
  }
  EXPECT_EQ(ReadValue(Key(7), good + "x").message(),
            "broken Avro at byte " + std::to_string(good.size()) + ": expected the end of the record");
  EXPECT_EQ(ReadValue(Key(7), R"({"after": null})").message(),
            "not Avro of a schema registry: it begins with a zero byte and a schema's id");
  EXPECT_EQ(ReadValue(Key(7), WireHeader(2) + "\x04").message(), "broken Avro at byte 6: branch 2 of a union with 2");
  EXPECT_EQ(ReadValue(Key(7), WireHeader(99)).message(), "no schema 99");
  EXPECT_EQ(ReadValue("[7]", WireHeader(2) + std::string("\0\0\0", 3)).message(),
            "record key: not Avro of a schema registry: it begins with a zero byte and a schema's id");
  EXPECT_TRUE(TakeRows().empty());
  EXPECT_TRUE(ReadValue(Key(7), good).ok());
}

TEST(AvroSchemaTest, SaysWhatIsWrong) {
  const auto problem = [](std::string_view schema) {
    const auto parsed = AvroSchema::Parse(schema);
    return parsed.has_value() ? std::string("none") : parsed.error().message();
  };
  EXPECT_EQ(problem("x"), "the schema is not JSON");
  EXPECT_EQ(problem("7"), "not an Avro schema: a type is a name, a list or an object");
  EXPECT_EQ(problem(R"("other")"), "not an Avro schema: no type \"other\" is defined before it is used");
  EXPECT_EQ(problem(R"({"type":"record","name":"r"})"), "not an Avro schema: a record without fields");
  EXPECT_EQ(problem(R"([["null"]])"), "not an Avro schema: a union directly in a union");
  EXPECT_EQ(problem("[]"), "not an Avro schema: a union of nothing");
  EXPECT_EQ(problem(R"({"type":"fixed","name":"f","size":-1})"),
            "not an Avro schema: a fixed without a size up to 1 MiB");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += R"({"type":"array","items":)";
  EXPECT_EQ(problem(deep + "\"null\"" + std::string(1000, '}')), "not an Avro schema: types nested too deeply");
  EXPECT_EQ(problem(R"({"type":"record","name":"a.r","fields":[{"name":"next","type":["null","r"]}]})"), "none");
}

}  // namespace
}  // namespace weir::connectors
