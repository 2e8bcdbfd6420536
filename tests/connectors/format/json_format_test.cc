// JSON records to rows and back, against nlohmann as the slow and obviously right reader.
#include "connectors/format/json_format.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "connectors/format/json_text.h"
#include "connectors/format/json_writer.h"
#include "tests/connectors/collected_output.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::Value;
using operators::ValueType;

std::unique_ptr<Deserializer> NewJson(RawMembers members = {}) {
  operators::Problems problems;
  const operators::Options options = OptionsOf(DeserializerOptions(), std::move(members), problems);
  CheckDeserializerOptions(options, problems);
  EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : problems[0].message);
  auto deserializer = NewDeserializer(options);
  EXPECT_TRUE(deserializer.has_value());
  return std::move(*deserializer);
}

// Reads the texts as one poll would.
Status ReadAll(Deserializer& deserializer, const std::vector<std::string>& texts, CollectedOutput& output) {
  RowCollector collector;
  const std::string split = "t-0";
  collector.Begin(output, texts.size());
  collector.BeginSplit(split);
  Status status;
  for (size_t i = 0; i < texts.size() && status.ok(); ++i) {
    status = deserializer.Deserialize({.topic = "t", .offset = static_cast<int64_t>(i), .value = texts[i]}, collector);
  }
  const Status flushed = collector.Flush();
  return status.ok() ? flushed : status;
}

std::string ProblemWith(const std::string& text) {
  CollectedOutput output;
  const Status status = ReadAll(*NewJson(), {text}, output);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
  EXPECT_TRUE(output.rows.empty()) << text;
  return status.message();
}

TEST(JsonFormatTest, KeepsEveryDigit) {
  CollectedOutput output;
  ASSERT_TRUE(ReadAll(*NewJson(),
                      {R"({"id":9007199254740993})", R"({"id":9223372036854775807})", R"({"id":-9223372036854775808})",
                       R"({"id":9007199254740992})", R"({"id":0.1000})", R"({"id":123456789012345678901234567890.12})"},
                      output)
                  .ok());
  EXPECT_EQ(output.rows,
            (std::vector<std::string>{R"(+I {"id":9007199254740993})", R"(+I {"id":9223372036854775807})",
                                      R"(+I {"id":-9223372036854775808})", R"(+I {"id":9007199254740992})",
                                      R"(+I {"id":0.1000})", R"(+I {"id":123456789012345678901234567890.12})"}));
  EXPECT_EQ(output.batches, 1U);
}

TEST(JsonFormatTest, TellsNullFromAbsentAndKeepsNestedTextAsItStands) {
  CollectedOutput output;
  ASSERT_TRUE(
      ReadAll(*NewJson(), {R"({"a":1,"b":null,"c":{"x": [1, 2.50]},"d":[ ]})", R"({"c":"t","a":true})"}, output).ok());
  EXPECT_EQ(output.rows, (std::vector<std::string>{R"(+I {"a":1,"b":null,"c":{"x": [1, 2.50]},"d":[ ]})",
                                                   R"(+I {"a":true,"c":"t"})"}));
  EXPECT_EQ(output.kept[0].at(0, 1).type(), ValueType::kNull);
  EXPECT_EQ(output.kept[0].at(1, 1).type(), ValueType::kAbsent);
  EXPECT_EQ(output.kept[0].at(0, 2).type(), ValueType::kJson);
}

TEST(JsonFormatTest, ReadsOnlyTheColumnsAskedFor) {
  CollectedOutput output;
  const auto json = NewJson({{"columns", RawList({"b", "z"})}});
  ASSERT_TRUE(ReadAll(*json, {R"({"a":1,"b":2})", R"({"b":3,"a":[{"b":9}]})", R"({"q":0})"}, output).ok());
  EXPECT_EQ(output.rows, (std::vector<std::string>{R"(+I {"b":2})", R"(+I {"b":3})", "+I {}"}));
  EXPECT_EQ(output.kept[0].schema()->columns(), (std::vector<std::string>{"b", "z"}));
}

TEST(JsonFormatTest, TheLastOfANameThatOccursTwiceHolds) {
  CollectedOutput output;
  ASSERT_TRUE(ReadAll(*NewJson(), {R"({"a":1,"b":5,"a":2})", R"({"a":1,"b":5,"a":null})"}, output).ok());
  EXPECT_EQ(output.rows, (std::vector<std::string>{R"(+I {"a":2,"b":5})", R"(+I {"a":null,"b":5})"}));
}

TEST(JsonFormatTest, ATopicWithSeveralTablesKeepsOneSchemaAndItsBatches) {
  CollectedOutput output;
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back(i % 2 == 0 ? R"({"id":1,"a":2})" : R"({"id":1,"b":"x","c":3})");
  ASSERT_TRUE(ReadAll(*NewJson(), texts, output).ok());
  EXPECT_LE(output.batches, 4U);  // two of them until both tables are known
  EXPECT_EQ(output.rows[499], R"(+I {"id":1,"b":"x","c":3})");
  EXPECT_EQ(output.rows[498], R"(+I {"id":1,"a":2})");
}

TEST(JsonFormatTest, NamesWithoutEndDoNotGrowTheSchemaWithoutEnd) {
  CollectedOutput output;
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back("{\"k" + std::to_string(i) + "\":" + std::to_string(i) + "}");
  ASSERT_TRUE(ReadAll(*NewJson(), texts, output).ok());
  ASSERT_EQ(output.rows.size(), 5000U);
  EXPECT_EQ(output.rows[4321], R"(+I {"k4321":4321})");
  for (const Batch& batch : output.kept) EXPECT_LE(batch.columns(), RowShape::kColumnsMax);
}

TEST(JsonFormatTest, SaysWhatIsWrongWithARecord) {
  EXPECT_EQ(ProblemWith(R"({"a":1,)"),
            "broken JSON at byte 7: expected a member name in quotes, found the end of the text");
  EXPECT_EQ(ProblemWith(""), "the value is empty: neither a JSON object nor a tombstone");
  EXPECT_EQ(ProblemWith("  "), "broken JSON at byte 2: expected a value, found the end of the text");
  EXPECT_EQ(ProblemWith("[1]"), "not a JSON object");
  EXPECT_EQ(ProblemWith("7"), "not a JSON object");
  EXPECT_EQ(ProblemWith(R"({"a":{"b":nul}})"),
            "broken JSON at byte 10: expected a value, found a word that is none of true, false, null");
  EXPECT_EQ(ProblemWith("{\"a\":\"\xc3\"}"), "broken JSON at byte 6: invalid UTF-8");
  EXPECT_EQ(ProblemWith(R"({"a":1}{"a":2})"), "broken JSON at byte 7: expected the end of the text, found '{'");
}

TEST(JsonFormatTest, ATombstoneGivesNoRow) {
  CollectedOutput output;
  RowCollector collector;
  collector.Begin(output, 1);
  ASSERT_TRUE(NewJson()->Deserialize({.topic = "t", .key = "k"}, collector).ok());
  ASSERT_TRUE(collector.Flush().ok());
  EXPECT_TRUE(output.rows.empty());
}

TEST(JsonFormatTest, ShowsMetadataAsColumns) {
  operators::RawValue metadata =
      RawObject({{"topic", RawText("from")}, {"offset", RawText("at")}, {"key", RawText("k")}});
  const auto json = NewJson({{"metadata", std::move(metadata)}});
  CollectedOutput output;
  RowCollector collector;
  collector.Begin(output, 1);
  ASSERT_TRUE(
      json->Deserialize({.topic = "t", .offset = 42, .key = "x\"y", .value = R"({"at":1,"b":2})"}, collector).ok());
  ASSERT_TRUE(collector.Flush().ok());
  EXPECT_EQ(output.rows, (std::vector<std::string>{R"(+I {"from":"t","at":42,"k":"x\"y","b":2})"}));
}

TEST(JsonFormatTest, RawPassesBytesOn) {
  const auto raw = NewJson({{"format", RawText("raw")}});
  CollectedOutput output;
  ASSERT_TRUE(ReadAll(*raw, {std::string("\x00\xff", 2), ""}, output).ok());
  EXPECT_EQ(output.rows, (std::vector<std::string>{R"(+I {"value":"AP8="})", R"(+I {"value":""})"}));
}

// A random JSON text with random white space, escapes and numbers.
class TextMaker {
 public:
  explicit TextMaker(uint64_t seed) : random_(seed) {}

  std::string Object(int depth) {
    std::string text = Space() + "{" + Space();
    const uint64_t members = random_.Below(5);
    for (uint64_t i = 0; i < members; ++i) {
      if (i > 0) text += "," + Space();
      text += String() + Space() + ":" + Space() + Any(depth) + Space();
    }
    return text + "}" + Space();
  }

 private:
  std::string Space() {
    std::string space;
    while (random_.Below(4) == 0) space += " \t\n\r"[random_.Below(4)];
    return space;
  }
  std::string String() {
    static const std::vector<std::string> kPieces = {"a",
                                                     "b",
                                                     "key",
                                                     "\\n",
                                                     "\\\"",
                                                     "\\u0041",
                                                     "\\ud83d\\ude00",
                                                     "é",
                                                     "€",
                                                     "\\\\",
                                                     "\\/",
                                                     "\xF0\x9F\x98\x80",
                                                     "a longer piece of text",
                                                     "\\u0000",
                                                     "'",
                                                     "{"};
    std::string text = "\"";
    for (uint64_t i = random_.Below(4); i > 0; --i) text += kPieces[random_.Below(kPieces.size())];
    return text + "\"";
  }
  std::string Any(int depth) {
    switch (random_.Below(depth > 0 ? 8 : 6)) {
      case 0: return "null";
      case 1: return random_.Below(2) == 0 ? "true" : "false";
      case 2: return std::to_string(static_cast<int64_t>(random_.Next()));
      case 3: return std::to_string(random_.Below(100)) + "." + std::to_string(random_.Below(1000));
      case 4: return std::to_string(random_.Below(10)) + "e" + std::to_string(random_.Below(20));
      case 5: return String();
      case 6: return Object(depth - 1);
      default: {
        std::string text = "[" + Space();
        for (uint64_t i = random_.Below(3); i > 0; --i) text += Any(depth - 1) + Space() + (i > 1 ? "," : "") + Space();
        return text + "]";
      }
    }
  }

  SeededRandom random_;
};

// An exponent beyond double's range, which nlohmann refuses, is a number like any other here.
bool HasLongExponent(const std::string& text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if ((text[i] != 'e' && text[i] != 'E') || text[i - 1] < '0' || text[i - 1] > '9') continue;
    const size_t digits = text.find_first_of("0123456789", i);
    if (digits <= i + 2 && text.find_first_not_of("0123456789", digits) > digits + 2) return true;
  }
  return false;
}

TEST(JsonFormatTest, AgreesWithNlohmannOnRandomTexts) {
  TextMaker maker(7);
  SeededRandom random(11);
  const auto json = NewJson();
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = maker.Object(3);
    if (i % 3 == 0) {  // damaged somewhere
      const size_t at = random.Below(text.size());
      const std::string with(1, "\"{}[]:,0-eEtn\\u \xff\x01"[random.Below(18)]);
      if (random.Below(2) == 0) {
        text.replace(at, 1, with);
      } else {
        text.insert(at, with);
      }
    }
    if (HasLongExponent(text)) continue;
    const nlohmann::json expected = nlohmann::json::parse(text, nullptr, false);
    CollectedOutput output;
    const Status status = ReadAll(*json, {text}, output);
    ASSERT_EQ(status.ok(), expected.is_object()) << text << "\n" << status.ToString();
    ASSERT_EQ(!FindJsonProblem(text).has_value(), !expected.is_discarded()) << text;
    if (!status.ok()) continue;
    ++valid;
    const nlohmann::json found = nlohmann::json::parse(output.rows.at(0).substr(3), nullptr, false);
    ASSERT_EQ(found, expected) << text << "\n" << output.rows[0];
  }
  EXPECT_GT(valid, 12'000);
}

TEST(JsonWriterTest, WritesEveryType) {
  const auto schema = std::make_shared<const operators::Schema>(std::vector<std::string>{
      "a\"b", "bool", "decimal", "nan", "double", "string", "bytes", "date", "time", "ts", "tstz", "json", "no"});
  Batch batch(schema, 2);
  Value* row = batch.AddRow(operators::RowKind::kUpdateAfter, {});
  row[0] = Value::Int64(INT64_MIN);
  row[1] = Value::Bool(false);
  row[2] = Value::Text(ValueType::kDecimal, "1.50E+3");
  row[3] = Value::Text(ValueType::kDecimal, "-Infinity");
  row[4] = Value::Double(0.1);
  row[5] = Value::Text(ValueType::kString, "q\"\\\n\x01\x1f/é and some more text");
  row[6] = Value::Text(ValueType::kBytes, "hello");
  row[7] = Value::Temporal(ValueType::kDate, 19'782);  // 2024-02-29
  row[8] = Value::Temporal(ValueType::kTime, 46'801'250'000);
  row[9] = Value::Temporal(ValueType::kTimestamp, -1);
  row[10] = Value::Temporal(ValueType::kTimestampTz, 1'700'000'000'000'000);
  row[11] = Value::Text(ValueType::kJson, "{\"x\":\n 1}");
  batch.AddRow(operators::RowKind::kDelete, {});
  JsonWriter writer("op");
  std::string out;
  ASSERT_TRUE(writer.Append(batch, 0, out).ok());
  EXPECT_EQ(
      out,
      "{\"a\\\"b\":-9223372036854775808,\"bool\":false,\"decimal\":1.50E+3,\"nan\":\"-Infinity\",\"double\":0.1,"
      "\"string\":\"q\\\"\\\\\\n\\u0001\\u001f/é and some more text\",\"bytes\":\"aGVsbG8=\",\"date\":\"2024-02-29\","
      "\"time\":\"13:00:01.250000\",\"ts\":\"1969-12-31T23:59:59.999999\",\"tstz\":\"2023-11-14T22:13:20Z\","
      "\"json\":{\"x\":  1},\"op\":\"+U\"}");
  EXPECT_FALSE(nlohmann::json::parse(out, nullptr, false).is_discarded());
  out.clear();
  ASSERT_TRUE(writer.Append(batch, 1, out).ok());
  EXPECT_EQ(out, R"({"op":"-D"})");
}

TEST(JsonWriterTest, ARowWithAColumnOfTheKindsNameIsRefusedAndNotWrittenTwice) {
  const auto schema = std::make_shared<const operators::Schema>(std::vector<std::string>{"a", "op"});
  Batch batch(schema, 2);
  batch.AddRow(operators::RowKind::kInsert, {})[0] = Value::Int64(1);
  Value* row = batch.AddRow(operators::RowKind::kInsert, {});
  row[0] = Value::Int64(2);
  row[1] = Value::Int64(3);
  JsonWriter writer("op");
  std::string out;
  EXPECT_TRUE(writer.Append(batch, 0, out).ok());
  EXPECT_EQ(out, R"({"a":1,"op":"+I"})");
  const Status refused = writer.Append(batch, 1, out);
  EXPECT_EQ(refused.message(),
            "the row has a column \"op\" of its own, which row-kind-column names: expected another name");
  EXPECT_EQ(out, R"({"a":1,"op":"+I"})");
}

TEST(JsonWriterTest, WithoutAKindColumnARetractionIsNotWrittenAsARow) {
  const auto schema = std::make_shared<const operators::Schema>(std::vector<std::string>{"a"});
  Batch batch(schema, 2);
  batch.AddRow(operators::RowKind::kUpdateBefore, {})[0] = Value::Int64(1);
  batch.AddRow(operators::RowKind::kDelete, {})[0] = Value::Int64(1);
  JsonWriter writer("");
  std::string out = "x";
  EXPECT_TRUE(writer.Append(batch, 0, out).ok());
  EXPECT_EQ(writer.Append(batch, 1, out).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(out, "x");
}

}  // namespace
}  // namespace weir::connectors
