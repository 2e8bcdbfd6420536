#include "jobs/state_text.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "operators/key.h"
#include "state/codec.h"

namespace weir::jobs {
namespace {

template <class T>
std::string Encoded(const T& value) {
  std::string bytes;
  state::Codec<T>::Encode(value, bytes);
  return bytes;
}

std::string Key(const std::vector<operators::Value>& values) {
  std::string key;
  for (const auto& value : values) operators::AppendKey(key, value);
  return key;
}

// Everything behind "kind".
std::string Text(const std::string& kind, const std::string& codec, const std::string& key,
                 const std::string& name_space, const std::string& value) {
  const state::StateDescription described{.uid = "op", .name = "s", .kind = kind, .codec = codec, .id = 7};
  const std::string line = EntryAsJson({.state = &described, .key = key, .name_space = name_space, .value = value});
  const std::string begin = R"({"uid":"op","state":"s","kind":")" + kind + "\",";
  EXPECT_TRUE(line.starts_with(begin)) << line;
  EXPECT_TRUE(line.ends_with('}')) << line;
  return line.substr(begin.size(), line.size() - begin.size() - 1);
}

const std::string kKey = Key({operators::Value::Int64(7)});

TEST(StateTextTest, KeysAreTheColumnsOfKeyBy) {
  using operators::Value;
  using operators::ValueType;
  const std::string key = Key({Value::Text(ValueType::kString, "a\"b"), Value::Int64(INT64_MIN), Value::Null(),
                               Value::Text(ValueType::kDecimal, "12345678901234567890.5")});
  EXPECT_EQ(Text("value", "int64", key, "", Encoded<int64_t>(-3)),
            R"("key":["a\"b",-9223372036854775808,null,12345678901234567890.5],"value":-3)");
  EXPECT_EQ(Text("value", "int64", "\xff\x01", "", Encoded<int64_t>(-3)),
            R"("key-hex":"ff01","value":-3,"codec":"int64")");
}

TEST(StateTextTest, ValuesAreDecodedByTheirRecordedType) {
  const std::string key = R"("key":[7],)";
  EXPECT_EQ(Text("value", "uint64", kKey, "", Encoded<uint64_t>(UINT64_MAX)), key + "\"value\":18446744073709551615");
  EXPECT_EQ(Text("value", "bool", kKey, "", Encoded(true)), key + "\"value\":true");
  EXPECT_EQ(Text("reducing", "double", kKey, "", Encoded(0.1)), key + "\"value\":0.1");
  EXPECT_EQ(Text("value", "bytes", kKey, "", "text"), key + "\"value\":\"text\"");
  EXPECT_EQ(Text("value", "bytes", kKey, "", "\xfe"), key + R"("value":{"hex":"fe"})");
  using Pair = std::pair<int64_t, std::pair<std::string, bool>>;
  EXPECT_EQ(Text("aggregating", state::Codec<Pair>::Type(), kKey, "", Encoded(Pair{5, {"x", false}})),
            key + R"("value":[5,["x",false]])");
}

TEST(StateTextTest, ListsMapsAndTimersSayTheirPlaceInTheKey) {
  std::string number;
  AppendBigEndian64(number, 2);
  EXPECT_EQ(Text("list", "bytes", kKey, number, "x"), R"("key":[7],"index":2,"value":"x")");
  EXPECT_EQ(Text("list", "bytes", kKey, "", Encoded<uint64_t>(3)), R"("key":[7],"length":3)");
  EXPECT_EQ(Text("map", "pair(bytes;int64)", kKey, "member", Encoded<int64_t>(3)),
            R"("key":[7],"member":"member","value":3)");
  std::string time;
  AppendBigEndian64(time, uint64_t{1} << 63 | 1700);
  EXPECT_EQ(Text("timers", "timer/event-time", kKey, time + "w", ""), R"("key":[7],"time":1700,"namespace":"w")");
}

TEST(StateTextTest, WhatCannotBeDecodedIsHexAndSaysItsType) {
  EXPECT_EQ(Text("value", "mine/v3", kKey, "", "\x01\xff"), R"("key":[7],"value-hex":"01ff","codec":"mine/v3")");
  EXPECT_EQ(Text("value", "int64", kKey, "", ""), R"("key":[7],"value-hex":"","codec":"int64")");
  EXPECT_EQ(Text("map", "mine/v3", kKey, "m", "v"),
            R"("key":[7],"namespace-hex":"6d","value-hex":"76","codec":"mine/v3")");
}

TEST(StateTextTest, OperatorStateIsTheConnectorsOwnText) {
  EXPECT_EQ(Text("operator", "", "", "", R"({"offset":12345678901234567890})"),
            R"("value":{"offset":12345678901234567890})");
  EXPECT_EQ(Text("operator", "", "", "", "no json"), R"("value":"no json")");
}

}  // namespace
}  // namespace weir::jobs
