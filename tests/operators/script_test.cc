// The operator `script`: its hooks (the model's, B39), exact values, the bounds of time and memory, the sandbox.
#include "operators/script/script.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/json_escape.h"
#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

std::string JsonText(std::string_view text) {
  std::string json;
  AppendJsonString(json, text);
  return json;
}

std::string OptionsText(std::string_view script, std::string_view more = "") {
  return "{\"script\": " + JsonText(script) + (more.empty() ? "" : ", ") + std::string(more) + "}";
}

class ScriptTest : public testing::TestWithParam<HarnessMode> {
 protected:
  OperatorTestHarness Make(std::string_view script, std::string_view more = "") const {
    return OperatorTestHarness(ScriptType(), OptionsText(script, more), {.mode = GetParam()});
  }
  // The rows of a script that takes all of them.
  Rows Run(std::string_view script, const Rows& rows, std::string_view more = "") const {
    OperatorTestHarness harness = Make(script, more);
    const Status status = harness.Process(rows);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return harness.Take();
  }
  // Why the script does not take a row.
  std::string Failure(std::string_view script, const std::string& row = R"({"id": 1})",
                      std::string_view more = "") const {
    OperatorTestHarness harness = Make(script, std::string(R"("on-error": "dead-letter")") + std::string(more));
    EXPECT_TRUE(harness.Process({row}).ok());
    EXPECT_EQ(harness.Take(), Rows{});
    const Rows letters = harness.TakeSide("dead-letter");
    EXPECT_EQ(letters.size(), 1U);
    if (letters.empty()) return "";
    const size_t begin = letters[0].find("\"error\":\"") + 9;
    return letters[0].substr(begin, letters[0].find("\",\"uid\"") - begin);
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, ScriptTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

TEST_P(ScriptTest, B39_MapChangesRowsAndNilFilters) {
  EXPECT_EQ(
      Run(R"(
                function map(row, meta)
                  if row.status == "void" then return nil end
                  row.amount = row.amount * 2
                  row.note = "n" .. row.id
                  row.status = nil
                  return row
                end)",
          {R"({"id": 1, "status": "paid", "amount": 0.10})", R"({"id": 2, "status": "void", "amount": 3})",
           R"(-D {"id": 3, "status": "paid", "amount": 9007199254740993})"}),
      (Rows{R"(+I {"id":1,"amount":0.20,"note":"n1"})", R"(-D {"id":3,"amount":18014398509481986,"note":"n3"})"}));
}

TEST_P(ScriptTest, B39_DispatchMakesRowsOfOtherTables) {
  EXPECT_EQ(
      Run(R"(
                function dispatch(row, meta)
                  if meta.table ~= "orders" then return nil end
                  local lines = {}
                  for i, line in ipairs(json.decode(row.lines)) do
                    lines[i] = {order_id = row.id, n = i, what = line}
                  end
                  row.lines = nil
                  return {orders = {row}, lines = lines}
                end)",
          {R"({"t": "orders", "id": 7, "lines": ["a", "b"]})", R"({"t": "other", "id": 8})",
           R"(+U {"t": "orders", "id": 9, "lines": []})"},
          R"("table-column": "t")"),
      (Rows{R"(+I {"t":"lines","n":1,"order_id":7,"what":"a"})", R"(+I {"t":"lines","n":2,"order_id":7,"what":"b"})",
            R"(+I {"t":"orders","id":7})", R"(+U {"t":"orders","id":9})"}));
}

TEST_P(ScriptTest, B39_MapFollowsDispatchForItsTable) {
  EXPECT_EQ(Run(R"(
                function dispatch(row, meta) return {a = {row}, b = {{id = row.id}}} end
                function map(row, meta)
                  if meta.table == "a" then return nil end
                  row.from = meta.table .. meta.kind
                  return row
                end)",
                {R"({"id": 1, "x": 2})"}),
            Rows{R"(+I {"id":1,"from":"b+I","table":"b"})"});
}

TEST_P(ScriptTest, B39_DeletionsGoWhereDeletesToSays) {
  const std::string dispatch = "function dispatch(row, meta) return {copy = {row}} end\n";
  const Rows rows = {R"({"table": "s", "id": 1})", R"(-D {"table": "s", "id": 1})"};
  const Rows to_target = {R"(+I {"table":"copy","id":1})", R"(-D {"table":"target","id":1})"};
  EXPECT_EQ(Run(dispatch, rows, R"("deletes-to": "target")"), to_target);
  EXPECT_EQ(Run(dispatch + "deletes_to = 'target'", rows), to_target);
  EXPECT_EQ(Run(dispatch + "function deletes_to(row, meta) return 'tar' .. 'get' end", rows), to_target);
  EXPECT_EQ(Run(dispatch + "function deletes_to(row, meta) return nil end", rows), Rows{to_target[0]});
  EXPECT_EQ(Run(dispatch, rows), (Rows{to_target[0], R"(-D {"table":"copy","id":1})"}));
}

TEST_P(ScriptTest, B39_DeleteKeyChangesAKey) {
  const Rows rows = {R"(-D {"k": "[1, \"x\"]"})", R"(-D {"k": "[2, \"y\"]"})", R"(-D {"k": "[3, \"z\"]"})",
                     R"({"k": "[1, \"x\"]"})"};
  EXPECT_EQ(Run(R"(
                function delete_key(key, meta)
                  if key[1] == 1 then return key end
                  if key[1] == 2 then return {key[2], key[1]} end
                end)",
                rows, R"("key-column": "k")"),
            (Rows{R"(-D {"k":"[1, \"x\"]"})", R"(-D {"k":"[\"y\",2]"})", R"(+I {"k":"[1, \"x\"]"})"}));
}

TEST_P(ScriptTest, B39_MetaTellsWhereARowIsFrom) {
  EXPECT_EQ(Run(R"(
                function map(row, meta)
                  return {out = table.concat({meta.table, meta.key, meta.time, meta.wall_ns, meta.logical, meta.kind,
                                              meta.topic, meta.partition, meta.offset}, "|"),
                          none = meta.nothing == nil, before = meta.before == nil}
                end)",
                {R"(+U {"@time": 1700000000123456789, "table": "t", "key": "[1]", "topic": "x", "partition": 3,
                   "offset": 4})"}),
            Rows{R"(+U {"before":true,"none":true,)"
                 R"("out":"t|[1]|1700000000123456789.0000000000|1700000000123456789|0|+U|x|3|4"})"});
}

TEST_P(ScriptTest, B39_AnUpdateSeesItsRowBefore) {
  EXPECT_EQ(Run(R"(
                function map(row, meta)
                  if meta.before then row.was = meta.before.v end
                  return row
                end)",
                {R"(-U {"id": 1, "v": 5})", R"(+U {"id": 1, "v": 6})", R"(+U {"id": 2, "v": 7})"}),
            (Rows{R"(-U {"id":1,"v":5})", R"(+U {"id":1,"v":6,"was":5})", R"(+U {"id":2,"v":7})"}));
}

TEST_P(ScriptTest, AFileIsReadAndItsNameIsInMessages) {
  const std::string path = testing::TempDir() + "weir_script_test_" + HarnessModeName(GetParam()) + ".lua";
  std::ofstream(path) << "function map(row)\n  error('no')\nend\n";
  OperatorTestHarness harness(ScriptType(), "{\"file\": " + JsonText(path) + "}", {.mode = GetParam()});
  const Status failed = harness.Process({R"({"id": 1})"});
  EXPECT_NE(failed.message().find(".lua:2: no; the row is +I {\"id\":1}"), std::string::npos) << failed.message();
}

TEST_P(ScriptTest, AnErrorNamesHookKeyAndReason) {
  const std::string row = R"({"key": "[7]", "id": 1})";
  EXPECT_EQ(Failure("function map(row)\n return row.x.y\nend", row),
            "map: script:2: attempt to index a nil value (field 'x') (key [7])");
  EXPECT_EQ(Failure("function map(row) return 5 end", row),
            "map: it gave an integer, expected a row, a table or nil (key [7])");
  EXPECT_EQ(Failure("function map(row) row.f = print2 row.g = map return row end", row),
            "map: column \\\"g\\\": a value can't be a function (key [7])");
  EXPECT_EQ(
      Failure("function map(row) local t = {} t[1] = t row.t = t return row end", row),
      "map: column \\\"t\\\": a value can't be a table nested deeper than 64 levels (does it hold itself?) (key [7])");
  EXPECT_EQ(Failure("function map(row) row.t = {0/0} return row end", row),
            "map: column \\\"t\\\": a value can't be NaN or infinity in JSON (key [7])");
  EXPECT_EQ(Failure("function map(row) row.t = '\\xff' return row end", row),
            "map: column \\\"t\\\": a value can't be a string that is not UTF-8 (bytes(...) makes a value of bytes) "
            "(key [7])");
  EXPECT_EQ(Failure("function map(row) return {} end", row), "map: it gave a row without columns (key [7])");
  EXPECT_EQ(Failure("function map(row) return {1, 2} end", row),
            "map: it gave a table with an integer as a column's name (key [7])");
  EXPECT_EQ(Failure("function dispatch(row) return {a = row} end", row),
            "dispatch: expected a list of rows for the table a, got an object (key [7])");
  EXPECT_EQ(Failure("function dispatch(row) return {a = {id = 1}} end", row),
            "dispatch: expected a list of rows for the table a, got one row: {row} (key [7])");
  EXPECT_EQ(Failure("function map(row) error({}) end", row), "map: an error that is a table (key [7])");
}

TEST_P(ScriptTest, ARowThatFailsGivesNothingAtAll) {
  OperatorTestHarness harness =
      Make("function dispatch(row) return {a = {row, {f = dispatch}}} end", R"("on-error": "skip")");
  ASSERT_TRUE(harness.Process({R"({"id": 1})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  EXPECT_EQ(harness.metrics().bad_records.load(), 1U);
}

// Whatever runs, takes or makes without end costs its row; the next one finds the script in order.
class ScriptBoundsTest : public testing::TestWithParam<const char*> {};

TEST_P(ScriptBoundsTest, B39_IsStoppedAndTheNextRowWorks) {
  const std::string script =
      "function map(row)\n if row.id == 2 then\n" + std::string(GetParam()) + "\n end\n return row\nend";
  OperatorTestHarness harness(
      ScriptType(), OptionsText(script, R"("on-error": "dead-letter", "time-max": "50ms", "memory-max": "8MiB")"), {});
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(harness.Process({R"({"id": 1})", R"({"id": 2})", R"({"id": 3})"}).ok());
    EXPECT_EQ(harness.Take(), (Rows{R"(+I {"id":1})", R"(+I {"id":3})"})) << GetParam();
    const Rows letters = harness.TakeSide("dead-letter");
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_NE(letters[0].find("map: "), std::string::npos) << letters[0];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Endless, ScriptBoundsTest,
    testing::Values("while true do end", "repeat local x = 1 until false", "goto a ::a:: goto a",
                    "local t = {} while true do t[#t + 1] = {} end", "local s = 'x' while true do s = s .. s end",
                    "return {s = string.rep('x', 1 << 40)}", "return {s = string.rep('', 1 << 62)} .. 1",
                    "local s = string.rep('x', 1000000) while true do s:reverse():upper() end",
                    "local function f() return 1 + f() end return f()", "local function f() return f() end return f()",
                    "local s = ('a'):rep(100000) return s:find('.-.-.-.-.-.-x')",
                    "local s = ('a'):rep(30) return s:find(('a?'):rep(30) .. ('a'):rep(31))",
                    "local s = ('a'):rep(5000) for _ in s:gmatch('(a*)*.-.-.-.-b') do end error('no')",
                    "return ('x'):rep(1000):gsub('.', function(c) while true do end end)",
                    "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]",
                    "local t <close> = setmetatable({}, {__close = function() while true do end end}) error('x')",
                    "setmetatable({}, {__gc = function() error('late') end})",
                    "local t = setmetatable({}, {__len = function() return 1 << 62 end}) table.insert(t, 1, 1)",
                    "local t = {} for i = 0, 61 do t[1 << i] = 1 end table.insert(t, 1, 1) while true do end",
                    "local t = {row} for i = 1, 25 do t = {t, t} end row.t = t",
                    "row = {} for i = 1, 1000000 do row['c' .. i] = i end",
                    "local t = {} for i = 1, 64 do t = {t} end row.t = t", "json.decode(('['):rep(1000000))",
                    "error(('\\xff'):rep(5000000))", "row['\\xff'] = 1",
                    "local s = ('a'):rep(3000000) s:find(('a'):rep(1000000) .. 'b', 1, true)",
                    "local s = ('a'):rep(3000000) s:find('(.*)%1b')", "return ('a'):find(('[a]'):rep(5000))",
                    "for i = 1, 20000 do row['c' .. i] = i end", "pairs({[{}] = 1})", "local a = {} a.a = a row.a = a",
                    "while true do local ok = select('#', table.unpack({}, 1, 100000)) end",
                    "return {s = ('%d'):rep(100000):format()}", "return utf8.char(table.unpack({}, 1, 1 << 40))"));

TEST_P(ScriptTest, B39_DispatchWithoutEndIsStopped) {
  const std::string failure = Failure(
      "function dispatch(row) local s = ('x'):rep(1000000) local t = {} for i = 1, 1000 do t[i] = {s = s} end "
      "return {a = t} end",
      R"({"id": 1})", R"(, "memory-max": "8MiB")");
  EXPECT_EQ(failure, "dispatch: its rows are larger than memory-max");
}

TEST_P(ScriptTest, TheWorldAndWhatChangesBetweenRunsAreOutOfReach) {
  for (const char* name :
       {"io",      "os",    "require",     "load",        "loadstring",      "dofile",    "loadfile", "debug",
        "package", "pcall", "xpcall",      "coroutine",   "collectgarbage",  "rawset",    "next",     "print",
        "warn",    "_G",    "string.dump", "math.random", "math.randomseed", "table.move"}) {
    EXPECT_EQ(Run("function map(row) row.none = " + std::string(name) + " == nil return row end", {R"({"id": 1})"}),
              Rows{R"(+I {"id":1,"none":true})"})
        << name;
  }
}

TEST_P(ScriptTest, WhatARowWouldLeaveForTheNextIsRefused) {
  EXPECT_EQ(Failure("count = 0 function map(row) count = count + 1 return row end"),
            "map: script:1: the global count can't be assigned here: what a script remembers from row to row would be "
            "lost at a restart (use local)");
  EXPECT_EQ(Failure("function map(row) string.seen = 1 return row end").substr(0, 50),
            "map: script:1: string can't be assigned: what a sc");
  EXPECT_EQ(Failure("function map(row) getmetatable('').__index = nil return row end").substr(0, 35),
            "map: script:1: attempt to index a b");
  OperatorTestHarness harness =
      Make("local kept function map(row) local k = kept kept = row return {v = k and k.id} end",
           R"("on-error": "dead-letter")");
  ASSERT_TRUE(harness.Process({R"({"id": 1})", R"({"id": 2})"}).ok());
  EXPECT_NE(harness.TakeSide("dead-letter").back().find("this row was given to an earlier call"), std::string::npos);
}

TEST_P(ScriptTest, ValuesAreExactAndOfTheirTypes) {
  EXPECT_EQ(Run(R"(
                function map(row)
                  assert(row.d > 1 and row.d < decimal("1e400") and row.d == decimal("12.500") and row.d ~= 12.5)
                  assert(math.type(row.i) == "integer" and row.i - 1 == 9223372036854775806)
                  assert(row.n == null and row.gone == nil and typeof(row.d) == "decimal" and typeof(row.n) == "null")
                  assert(date("2024-02-29") < date("2024-03-01") and tostring(date("2024-02-29")) == "2024-02-29")
                  local j = json.decode(row.j)
                  assert(j.a[2] == null and tostring(j.big) == "123456789012345678901234567890" and j.s == "\u{e9}\n")
                  return {sum = row.d + 1, product = row.d * row.d, quotient = decimal(10) / 3, text = "" .. row.d,
                          rounded = row.d:round(), float = row.d:float(), integer = decimal("7E0"):integer(),
                          j = j, empty = json.array({}), object = {}, bytes = bytes("\xff\0"),
                          at = timestamptz("2024-02-29 12:00:00+02"), n = row.n, i = row.i, raw = row.j}
                end)",
                {R"({"d": 12.50, "i": 9223372036854775807, "n": null,
                     "j": {"s": "\u00e9\n", "big": 123456789012345678901234567890, "a": [1.0, null, true, "x"]}})"}),
            Rows{R"(+I {"i":9223372036854775807,"n":null,)"
                 R"("j":{"a":[1.0,null,true,"x"],"big":123456789012345678901234567890,"s":"é\n"},)"
                 R"("at":"2024-02-29 10:00:00+00","bytes":"\\xff00","empty":[],"float":12.5,"integer":7,"object":{},)"
                 R"("product":156.2500,"quotient":3.3333333333333333,)"
                 R"("raw":{"s":"é\n","big":123456789012345678901234567890,"a":[1.0,null,true,"x"]},)"
                 R"("rounded":13,"sum":13.50,"text":"12.50"})"});
  EXPECT_EQ(Failure("function map(row) return {x = decimal(0.1)} end").substr(0, 60),
            "map: script:1: decimal() takes a text, an integer or a decim");
  EXPECT_EQ(Failure("function map(row) return {x = decimal(1) + 0.5} end"),
            "map: script:1: a decimal and a float do not mix: use decimal(...) or :float()");
}

TEST_P(ScriptTest, PairsAndTablesHaveOneOrder) {
  EXPECT_EQ(Run(R"(
                function map(row)
                  local names = {}
                  for name, value in pairs(row) do names[#names + 1] = name .. tostring(value) end
                  row.names = names
                  local plain = copy(row)
                  plain.z, plain.a = nil, {y = 1, x = {3, 2, 1}}
                  return plain
                end)",
                {R"({"z": 1, "b": 2, "a": 3})"}),
            Rows{R"(+I {"b":2,"a":{"x":[3,2,1],"y":1},"names":["a3","b2","z1"]})"});
}

TEST_P(ScriptTest, RowsOfManySchemasKeepTheirOrder) {
  Rows rows;
  Rows expected;
  for (int i = 0; i < 300; ++i) {
    rows.push_back("{\"id\": " + std::to_string(i) + "}");
    const bool third = i % 3 == 0;
    expected.push_back("+I {\"id\":" + std::to_string(i) + (third ? ",\"x\":1}" : "}"));
  }
  EXPECT_EQ(Run("function map(row) if row.id % 3 == 0 then row.x = 1 end return row end", rows), expected);
}

TEST(ScriptCheckTest, EveryMistakeIsToldWithItsLine) {
  const auto problems = [](std::string_view script) { return ProblemsOf(ScriptType(), OptionsText(script)); };
  EXPECT_EQ(problems("function map(row)\n  return row +\nend"),
            Rows{"/script: script:3: unexpected symbol near 'end'"});
  EXPECT_EQ(problems("x = 1"),
            Rows{"/script: the script defines no hook: a global function map, dispatch, delete_key or deletes_to"});
  EXPECT_EQ(problems("function dispach(row) end"),
            Rows{"/script: the function \"dispach\" is no hook (did you mean \"dispatch\"? if it is a function of your "
                 "own, make it local)"});
  EXPECT_EQ(problems("function deletesTo(row) end function map(row) end").size(), 1U);
  EXPECT_EQ(problems("map = 5"), Rows{"/script: map is an integer, expected a function"});
  EXPECT_EQ(problems("function map() end while true do end"), Rows{"/script: stopped after time-max (1000 ms)"});
  EXPECT_EQ(problems("\x1bLua"), Rows{"/script: attempt to load a binary chunk (mode is 't')"});
  EXPECT_EQ(problems("function map(row) return row end"), Rows{});
  EXPECT_EQ(ProblemsOf(ScriptType(), "{}"), Rows{": a script is given as `script` or as a `file`"});
  EXPECT_EQ(ProblemsOf(ScriptType(), R"({"file": "no/such/file.lua"})").size(), 1U);
}

}  // namespace
}  // namespace weir::operators
