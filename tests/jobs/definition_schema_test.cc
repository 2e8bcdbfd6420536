// The schema and ParseJobDefinition accept and refuse the same definitions, over a few hundred of them.
#include "jobs/definition_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_definition.h"
#include "tests/jobs/json_schema.h"
#include "tests/jobs/test_registry.h"

namespace weir::jobs {
namespace {

using Json = nlohmann::json;

constexpr char kBase[] = R"({
  "name": "orders", "parallelism": 2, "key-groups": 64,
  "checkpoint": {"storage": "./c", "interval": "5s", "min-pause": "0s", "timeout": "10m", "retain": 3,
    "tolerated-failures": 3},
  "memory": {"bytes-max": "1GiB"}, "state": {"bytes-max": "256MiB"}, "stop": {"timeout": "20s"},
  "sources": [{"id": "in", "connector": "feed", "topics": ["a"], "batch": 5, "tls": {"verify": true},
    "columns": {"a": {"type": "x"}},
               "parts": [{"at": 1}], "properties": {"a": "b"}}],
  "operators": [
    {"id": "keyed", "type": "key_by", "input": "in", "keys": ["k"]},
    {"id": "totals", "type": "aggregate", "input": "keyed", "aggregates": {"n": {"function": "count"},
      "s": {"function": "sum", "column": "v"}}},
    {"id": "ways", "type": "route", "inputs": ["totals"], "routes": {"big": "s > 5"}},
    {"id": "both", "type": "union", "inputs": ["ways.big", "in"], "edge": ["rebalance", "broadcast"]}],
  "sinks": [{"id": "out", "connector": "shelf", "input": "both", "path": "x", "extra": {"y": "1 + 1"}}]
})";

struct Outcome {
  std::string schema;  // empty: accepted
  std::string parser;
};

class SchemaTest : public testing::Test {
 protected:
  Outcome Judge(const Json& definition) {
    DefinitionInputs inputs;
    inputs.file_name = "job.json";
    const std::string text = definition.dump();
    inputs.text = text;
    inputs.environment = [](const std::string&) { return std::optional<std::string>("5"); };
    const auto parsed = ParseJobDefinition(inputs, registry_);
    return {SchemaProblem(schema_, definition), parsed.has_value() ? "" : ToString(parsed.error().front())};
  }

  void ExpectSame(const Json& definition, const std::string& what) {
    const Outcome outcome = Judge(definition);
    EXPECT_EQ(outcome.schema.empty(), outcome.parser.empty())
        << what << "\nschema: " << outcome.schema << "\nparser: " << outcome.parser;
    (outcome.parser.empty() ? accepted_ : refused_) += 1;
  }

  const operators::Registry registry_ = TestRegistry();
  const Json schema_ = Json::parse(DefinitionSchema(registry_));
  const Json base_ = Json::parse(kBase);
  int accepted_ = 0;
  int refused_ = 0;
};

TEST_F(SchemaTest, BothAcceptTheBase) {
  const Outcome outcome = Judge(base_);
  EXPECT_EQ(outcome.schema, "");
  EXPECT_EQ(outcome.parser, "");
}

// Every value at every place where the types alone decide.
TEST_F(SchemaTest, BothSayTheSameOfEveryValue) {
  const std::vector<std::string> places = {"/description",
                                           "/key-groups",
                                           "/checkpoint",
                                           "/checkpoint/storage",
                                           "/checkpoint/interval",
                                           "/checkpoint/min-pause",
                                           "/checkpoint/retain",
                                           "/checkpoint/tolerated-failures",
                                           "/memory",
                                           "/memory/bytes-max",
                                           "/state/directory",
                                           "/stop/timeout",
                                           "/sources/0/topics",
                                           "/sources/0/start",
                                           "/sources/0/poll",
                                           "/sources/0/fetch",
                                           "/sources/0/batch",
                                           "/sources/0/tls",
                                           "/sources/0/tls/verify",
                                           "/sources/0/columns",
                                           "/sources/0/columns/a",
                                           "/sources/0/parts",
                                           "/sources/0/parts/0",
                                           "/sources/0/properties",
                                           "/sources/0/follow",
                                           "/sources/0/parallelism",
                                           "/sources/0/unknown",
                                           "/unknown",
                                           "/sources/0/connector",
                                           "/operators/1/emit",
                                           "/operators/1/retractions",
                                           "/operators/1/aggregates/n/function",
                                           "/operators/2/default",
                                           "/operators/3/edge",
                                           "/sinks/0/path",
                                           "/sinks/0/extra/y",
                                           "/sources/0/input",
                                           "/checkpoint/unknown"};
  const Json values = Json::parse(
      R"([null, true, 0, 1, -1, 1.5, 2.0, 50, 20000000, "", "x", "a b", "0", "5s", "0s", "64MiB", "5 MB", "earliest",
      "per-batch", "count", "forward", [], ["a"], [1], ["forward"], {}, {"a": 1}, {"a": "x"}, {"a": {}},
        {"a": {"type": "t"}}, [{"at": 1}],
      {"verify": false}, {"type": "q"}, {"at": 5}])");
  for (const std::string& place : places) {
    for (const Json& value : values) {
      // What other rules than types decide: a text as an expression or tag.
      const bool free_text = place.ends_with("/y") || place.ends_with("/default");
      if (free_text && value.is_string() && value != "x" && value != "") continue;
      if (place.ends_with("/default") && value == "") continue;
      // Fewer key groups than subtasks.
      if (place == "/key-groups" && value == 1) continue;
      if (place.ends_with("/parallelism") && value.is_number() && value > 2) continue;
      Json definition = base_;
      definition[Json::json_pointer(place)] = value;
      ExpectSame(definition, place + " = " + value.dump());
    }
  }
  EXPECT_GE(accepted_, 130);
  EXPECT_GE(refused_, 500);
}

TEST_F(SchemaTest, BothMissTheSame) {
  for (const char* place : {"/name",
                            "/parallelism",
                            "/checkpoint",
                            "/operators",
                            "/sources/0/id",
                            "/sources/0/connector",
                            "/sources/0/topics",
                            "/sources/0/batch",
                            "/operators/0/id",
                            "/operators/0/type",
                            "/operators/0/input",
                            "/operators/1/aggregates",
                            "/operators/2/routes",
                            "/sinks",
                            "/sources",
                            "/sinks/0/id",
                            "/sinks/0/input",
                            "/sinks/0/path",
                            "/sinks/0/extra",
                            "/sources/0/parts/0/at",
                            "/sources/0/columns/a/type",
                            "/operators/1/aggregates/n/function"}) {
    Json definition = base_;
    const std::string path(place);
    const size_t slash = path.rfind('/');
    definition[Json::json_pointer(path.substr(0, slash))].erase(path.substr(slash + 1));
    if (path == "/operators") definition["sinks"][0]["input"] = "in";
    ExpectSame(definition, "without " + path);
  }
}

TEST_F(SchemaTest, BothSayTheSameOfNodes) {
  const Json edits = Json::parse(R"([
    ["/name", "no/slash"], ["/name", "ok.name-1_x"], ["/name", ""], ["/name", 5], ["/name", "."],
      ["/name", ".."], ["/name", "..."], ["/name", ".a"], ["/name", "a."], ["/name", "a"], ["/sources/0/id", "."],
      ["/sources/0/id", ".."], ["/operators/0/id", ".."], ["/sinks/0/id", "."], ["/sinks/0/id", ".x"],
      ["/checkpoint/storage", ""], ["/checkpoint/storage", "x"], ["/sources/0/id", "a b"],
      ["/sources/0/id", ""],
    ["/sources", []], ["/sinks", []], ["/sources", {}], ["/operators", {}], ["/sinks/0", "out"], ["/operators/0", null],
    ["/operators/0/type", "keyby"], ["/operators/0/type", 1], ["/sinks/0/connector", "shelv"], ["/sinks/0/type",
      "shelf"],
    ["/sinks/0/inputs", ["both"]], ["/operators/3/inputs", []], ["/operators/3/inputs", ["in", "in"]],
      ["/operators/2/inputs", ["totals", "in"]],
    ["/operators/2/inputs", "totals"], ["/sources/0/batch", "${B}"], ["/sources/0/poll", "${B}"],
      ["/sources/0/properties/p", "${P}"],
    ["/$schema", "./job.schema.json"], ["/$schema", 1], ["/operators/1/aggregates", {}], ["/operators/2/routes",
      {}]])");
  for (const Json& edit : edits) {
    Json definition = base_;
    const std::string place = edit[0];
    definition[Json::json_pointer(place)] = edit[1];
    ExpectSame(definition, place + " = " + edit[1].dump());
  }
  for (const size_t length : {size_t{99}, size_t{100}, size_t{101}}) {
    Json definition = base_;
    definition["name"] = std::string(length, '.');
    ExpectSame(definition, "a name of " + std::to_string(length));
  }
}

// What both accepted, and what would be another folder.
TEST_F(SchemaTest, BothRefuseNamesThatAreNoFolders) {
  for (const char* place : {"/name", "/sinks/0/id", "/checkpoint/storage"}) {
    for (const char* value : {".", "..", ""}) {
      if (std::string_view(place) == "/checkpoint/storage" && *value != '\0') continue;
      Json definition = base_;
      definition[Json::json_pointer(place)] = value;
      const Outcome outcome = Judge(definition);
      EXPECT_NE(outcome.schema, "") << place << " = " << value;
      EXPECT_NE(outcome.parser, "") << place << " = " << value;
    }
  }
}

}  // namespace
}  // namespace weir::jobs
