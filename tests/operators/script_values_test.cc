// What a script does not touch comes out as it was, bit by bit, and what it hands through its own variables too; and
// the matcher of patterns answers as Lua's own does.
#include <gtest/gtest.h>
#include <lua5.4/lua.hpp>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "operators/decimal.h"
#include "operators/script/pattern.h"
#include "operators/script/row_stage.h"
#include "operators/script/script_engine.h"

namespace weir::operators::script {
namespace {

std::string RandomText(Random& random, std::string_view letters, size_t size_max) {
  std::string text;
  for (size_t i = random.Below(size_max + 1); i > 0; --i) text += letters[random.Below(letters.size())];
  return text;
}

Value RandomValue(Random& random, Arena& arena) {
  const auto text = [&](ValueType type, std::string_view t) { return Value::Text(type, arena.Copy(t)); };
  switch (random.Below(12)) {
    case 0: return Value::Absent();
    case 1: return Value::Null();
    case 2: return Value::Bool(random.Below(2) == 0);
    case 3: return Value::Int64(static_cast<int64_t>(random.Next()));
    case 4: {
      const uint64_t bits = random.Next();
      double value;
      std::memcpy(&value, &bits, sizeof value);
      return Value::Double(value);
    }
    case 5: return text(ValueType::kDecimal, "-" + RandomText(random, "123456789", 50) + "0.00E-7");
    case 6: return text(ValueType::kString, RandomText(random, std::string_view("ab\0\xc3\xa9\n\"", 3), 60));
    case 7: return text(ValueType::kBytes, RandomText(random, std::string_view("\0\xff\x80z", 4), 60));
    case 8: return Value::Temporal(ValueType::kDate, static_cast<int64_t>(random.Below(100000)));
    case 9: return Value::Temporal(ValueType::kTimestampTz, static_cast<int64_t>(random.Next() >> 8));
    case 10: return text(ValueType::kJson, "{ \"a\" :1.0, \"a\": [ ] }");
    default: return text(ValueType::kDecimal, "NaN");
  }
}

bool SameBits(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  if (a.has_text()) return a.text() == b.text();
  return a.missing() || std::memcmp(&a, &b, sizeof(int64_t)) == 0;
}

class Collected final : public Output {
 public:
  Status Emit(Batch batch) override {
    batches.push_back(std::move(batch));
    return Status::Ok();
  }
  Status EmitSide(std::string_view, Batch) override { return Status::Ok(); }
  bool HasSide(std::string_view) const override { return false; }
  std::vector<Batch> batches;
};

TEST(ScriptValuesTest, RandomValuesGoRoundBitByBit) {
  const SystemClock clock;
  ScriptSettings settings;
  settings.name = "script";
  settings.text = R"(
    function map(row, meta)
      if row.how == 0 then return row end
      if row.how == 1 then row.added = 1 return row end
      if row.how == 2 then return copy(row) end
      local t = {}
      for name, value in pairs(row) do t[name] = value end
      return t
    end)";
  ScriptEngine engine(settings, clock);
  ASSERT_TRUE(engine.Load().ok());
  const auto schema = std::make_shared<const Schema>(std::vector<std::string>{"how", "a", "b", "c"});
  SeededRandom random(20261201);
  RowStage stage;
  for (int round = 0; round < 50; ++round) {
    Batch batch(schema, 64);
    while (!batch.full()) {
      Value* row = batch.AddRow(RowKind::kInsert, {});
      row[0] = Value::Int64(static_cast<int64_t>(random.Below(4)));
      for (size_t c = 1; c < 4; ++c) row[c] = RandomValue(random, batch.arena());
    }
    Collected output;
    stage.Begin(batch);
    for (size_t i = 0; i < batch.rows(); ++i) {
      ASSERT_TRUE(engine.Transform(i, std::nullopt, stage)) << engine.error();
      ASSERT_TRUE(stage.Commit(i, output).ok());
    }
    ASSERT_TRUE(stage.Finish(output).ok());
    size_t seen = 0;
    for (const Batch& out : output.batches) {
      for (size_t i = 0; i < out.rows(); ++i, ++seen) {
        for (size_t c = 0; c < 4; ++c) {
          const auto column = out.schema()->Find(schema->columns()[c]);
          const Value value = column.has_value() ? out.at(i, *column) : Value::Absent();
          ASSERT_TRUE(SameBits(value, batch.at(seen, c))) << "round " << round << " row " << seen << " column " << c;
        }
      }
    }
    EXPECT_EQ(seen, batch.rows());
  }
}

// "nil json.encode row": mostly no script at all, sometimes a strange one.
std::string RandomExpression(Random& random) {
  static const std::vector<std::string> kPieces = {"row",
                                                   "meta",
                                                   "meta.before",
                                                   "row.a",
                                                   "nil",
                                                   "null",
                                                   "1",
                                                   "-1 << 63",
                                                   "0/0",
                                                   "'x'",
                                                   "{}",
                                                   "{row}",
                                                   "{a = row.a}",
                                                   "(",
                                                   ")",
                                                   "..",
                                                   "+",
                                                   "//",
                                                   "%",
                                                   "[",
                                                   "]",
                                                   "==",
                                                   "<",
                                                   "json.encode",
                                                   "json.decode",
                                                   "copy",
                                                   "pairs",
                                                   "decimal",
                                                   "string.rep",
                                                   "tostring",
                                                   "select",
                                                   "bytes",
                                                   "table.concat",
                                                   "table.sort",
                                                   "table.unpack",
                                                   "setmetatable",
                                                   "utf8.char",
                                                   "math.floor",
                                                   "date",
                                                   "typeof",
                                                   "error",
                                                   "assert",
                                                   "'[1]'",
                                                   "'%d+'",
                                                   "#",
                                                   ",",
                                                   "string.format",
                                                   "function(x) return x end"};
  std::string text;
  for (size_t i = 1 + random.Below(6); i > 0; --i) text += kPieces[random.Below(kPieces.size())] + " ";
  return text;
}

// They may fail, but never the process, and the next row works.
TEST(ScriptValuesTest, RandomScriptsLeaveTheEngineInOrder) {
  const SystemClock clock;
  const auto schema = std::make_shared<const Schema>(std::vector<std::string>{"a"});
  Batch batch(schema, 1);
  batch.AddRow(RowKind::kDelete, {})[0] = Value::Text(ValueType::kDecimal, "1.5");
  SeededRandom random(7);
  RowStage stage;
  size_t loaded = 0;
  for (int round = 0; round < 20'000; ++round) {
    ScriptSettings settings;
    settings.name = "script";
    settings.memory_max = 1 << 20;
    settings.time_max = std::chrono::milliseconds(20);
    settings.text = "function map(row, meta) local v = " + RandomExpression(random) + "row.v = v return row end";
    ScriptEngine engine(settings, clock);
    if (!engine.Load().ok()) continue;
    ++loaded;
    for (int call = 0; call < 2; ++call) {
      Collected output;
      stage.Begin(batch);
      const bool good = engine.Transform(0, std::nullopt, stage);
      EXPECT_EQ(good, engine.error().empty());
      ASSERT_TRUE(stage.Commit(0, output).ok());
      ASSERT_TRUE(stage.Finish(output).ok());
      EXPECT_EQ(output.batches.size(), good ? 1U : 0U) << settings.text;
    }
  }
  EXPECT_GT(loaded, 200U);
}

bool NeverStop(void*) { return false; }

// Lua's own string.find as text: "3 5 b 4", "none" or "error".
std::string LuasAnswer(lua_State* lua, const std::string& subject, const std::string& pattern) {
  lua_settop(lua, 0);
  lua_getglobal(lua, "string");
  lua_getfield(lua, -1, "find");
  lua_remove(lua, 1);
  lua_pushlstring(lua, subject.data(), subject.size());
  lua_pushlstring(lua, pattern.data(), pattern.size());
  if (lua_pcall(lua, 2, LUA_MULTRET, 0) != LUA_OK) return "error";
  if (lua_isnil(lua, 1)) return "none";
  std::string answer;
  for (int i = 1; i <= lua_gettop(lua); ++i) answer += std::string(lua_tostring(lua, i)) + " ";
  return answer;
}

std::string OurAnswer(const std::string& subject, const std::string& pattern) {
  PatternMatcher matcher(subject, pattern, NeverStop, nullptr);
  const bool anchored = pattern.starts_with('^');
  for (size_t begin = 0; begin <= subject.size(); ++begin) {
    const size_t end = matcher.MatchAt(begin, anchored ? 1 : 0);
    if (matcher.failure() != PatternMatcher::Failure::kNone) return "error";
    if (end == PatternMatcher::kNone) {
      if (anchored) break;
      continue;
    }
    std::string answer = std::to_string(begin + 1) + " " + std::to_string(end) + " ";
    for (size_t i = 0; i < matcher.captures(); ++i) {
      const PatternMatcher::Capture& capture = matcher.capture(i);
      answer +=
          (capture.position ? std::to_string(capture.begin + 1) : subject.substr(capture.begin, capture.length)) + " ";
    }
    return answer;
  }
  return "none";
}

TEST(PatternTest, AnswersAsLuaDoes) {
  lua_State* lua = luaL_newstate();
  luaL_openlibs(lua);
  const std::vector<std::string> pieces = {"a", "b", ".", "%a", "%d", "%D", "[ab]", "[^a]", "[a-c]", "[]]",  "[%w-]",
                                           "*", "+", "-", "?",  "(",  ")",  "()",   "%1",   "%2",    "%bab", "%f[a]",
                                           "^", "$", "[", "]",  "%",  "1",  "%b",   "%f",   "%s",    " "};
  SeededRandom random(54);
  size_t found = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string pattern;
    for (size_t i = 1 + random.Below(7); i > 0; --i) pattern += pieces[random.Below(pieces.size())];
    if (pattern.find_first_of("^$*+?.([%-") == std::string::npos) continue;  // Lua searches these as plain text
    const std::string subject = RandomText(random, "aabbc1 ]-", 8);
    const std::string expected = LuasAnswer(lua, subject, pattern);
    ASSERT_EQ(OurAnswer(subject, pattern), expected) << "subject \"" << subject << "\" pattern \"" << pattern << "\"";
    found += expected != "none" && expected != "error" ? 1U : 0U;
  }
  EXPECT_GT(found, 10'000U);
  lua_close(lua);
}

}  // namespace
}  // namespace weir::operators::script
