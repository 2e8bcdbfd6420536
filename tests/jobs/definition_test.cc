#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jobs/job_definition.h"
#include "tests/jobs/test_registry.h"

namespace weir::jobs {
namespace {

using Lines = std::vector<std::string>;

class DefinitionTest : public testing::Test {
 protected:
  std::expected<ParsedDefinition, std::vector<DefinitionProblem>> Parse(std::string_view text,
                                                                        std::string file = "job.json") {
    DefinitionInputs inputs;
    inputs.file_name = std::move(file);
    inputs.text = text;
    inputs.environment = [](const std::string& name) -> std::optional<std::string> {
      if (name == "PASSWORD") return "wrong password";
      if (name == "BATCH") return "7";
      return std::nullopt;
    };
    inputs.read_file = [](const std::string& path) -> Result<std::string> {
      if (path == "secrets/pw") return "from file\n";
      return Error(Status::NotFound("no such file"));
    };
    inputs.overrides = overrides_;
    return ParseJobDefinition(inputs, registry_);
  }

  Lines Problems(std::string_view text, std::string file = "job.json") {
    const auto parsed = Parse(text, std::move(file));
    Lines lines;
    if (!parsed.has_value()) {
      for (const DefinitionProblem& problem : parsed.error()) lines.push_back(ToString(problem));
    }
    return lines;
  }

  // A job whose operators are `operators` (a JSON list without brackets) between source "in" and sink "out".
  Lines GraphProblems(const std::string& operators, const std::string& sink_input) {
    Lines lines = Problems(
        R"({"name": "j", "sources": [{"id": "in", "connector": "feed", "topics": "t"}], "operators": [)" + operators +
        R"(], "sinks": [{"id": "out", "connector": "shelf", "path": "p", "input": ")" + sink_input + "\"}]}");
    std::erase_if(lines, [](const std::string& line) { return line.find("warning") != std::string::npos; });
    return lines;
  }

  const operators::Registry registry_ = TestRegistry();
  std::vector<std::pair<std::string, std::string>> overrides_;
};

constexpr char kJson[] = R"({
  "name": "orders",
  "parallelism": 2,
  "checkpoint": {"interval": "1s"},
  "sources": [
    {"id": "in", "connector": "feed", "topics": ["a"], "password": "${file:secrets/pw}", "batch": "${BATCH}"}
  ],
  "operators": [
    {"id": "keyed", "type": "key_by", "input": "in", "keys": ["region", "id"]},
    {"id": "totals", "type": "aggregate", "input": "keyed", "parallelism": 3,
     "aggregates": {"n": {"function": "count"}}},
    {"id": "ways", "type": "route", "input": "totals", "routes": {"big": "n > 5"}, "default": "rest"}
  ],
  "sinks": [
    {"id": "out", "connector": "shelf", "path": "$${x}", "inputs": ["ways.big", "ways.dead-letter", "ways.rest"],
      "edge": "rebalance"}
  ]
})";

constexpr char kYaml[] = R"(name: orders
parallelism: 2
checkpoint: {interval: 1s}
sources:
  - id: in
    connector: feed
    topics: [a]
    password: ${file:secrets/pw}
    batch: "${BATCH}"
operators:
  - {id: keyed, type: key_by, input: in, keys: [region, id]}
  - id: totals
    type: aggregate
    input: keyed
    parallelism: 3
    aggregates:
      n: {function: count}
  - {id: ways, type: route, input: totals, routes: {big: n > 5}, default: rest}
sinks:
  - id: out
    connector: shelf
    path: $${x}
    inputs: [ways.big, ways.dead-letter, ways.rest]
    edge: rebalance
)";

TEST_F(DefinitionTest, IsTheSameFromJsonAndYaml) {
  for (const bool yaml : {false, true}) {
    SCOPED_TRACE(yaml ? "yaml" : "json");
    const auto parsed = Parse(yaml ? kYaml : kJson, yaml ? "job.yaml" : "job.json");
    ASSERT_TRUE(parsed.has_value()) << ToString(parsed.error().front());
    const JobDefinition& job = parsed->job;
    EXPECT_EQ(job.name, "orders");
    EXPECT_EQ(job.parallelism, 2U);
    EXPECT_EQ(job.key_groups, 128U);
    EXPECT_EQ(job.checkpoint.interval, std::chrono::seconds(1));
    EXPECT_EQ(job.checkpoint.retain, 3U);
    EXPECT_FALSE(job.checkpoint.delete_on_stop);
    EXPECT_EQ(job.memory_bytes_max, uint64_t{1} << 30);
    ASSERT_EQ(job.nodes.size(), 5U);
    EXPECT_EQ(job.nodes[0].options.String("password"), "from file");
    EXPECT_EQ(job.nodes[0].options.Integer("batch"), 7);
    EXPECT_EQ(job.nodes[2].type, "aggregate");
    EXPECT_EQ(job.nodes[2].parallelism, 3U);
    EXPECT_EQ(job.nodes[2].options.Strings("keys"), (Lines{"region", "id"}));
    const NodeDefinition& sink = job.nodes[4];
    EXPECT_EQ(sink.kind, NodeKind::kSink);
    EXPECT_EQ(sink.options.String("path"), "${x}");
    ASSERT_EQ(sink.inputs.size(), 3U);
    EXPECT_EQ(sink.inputs[0].node, 3U);
    EXPECT_EQ(sink.inputs[0].side_tag, "big");
    EXPECT_EQ(sink.inputs[1].side_tag, "dead-letter");
    EXPECT_EQ(sink.inputs[2].edge, EdgeKind::kRebalance);
    EXPECT_TRUE(parsed->warnings.empty());
  }
}

TEST_F(DefinitionTest, ReadsTheRestartStrategyAndWarnsOfAnothersOptions) {
  const auto with = [&](const std::string& restart) {
    return Parse(R"({"name": "j", "restart": )" + restart +
                 R"(, "sources": [{"id": "in", "connector": "feed", "topics": "t"}],
                    "sinks": [{"id": "out", "connector": "shelf", "path": "p", "input": "in"}]})");
  };
  EXPECT_EQ(Parse(kJson)->job.restart.kind, RestartKind::kExponentialDelay);
  EXPECT_EQ(Parse(kJson)->job.restart.attempts_max, 100U);
  const auto fixed = with(R"({"strategy": "fixed-delay", "delay": "250ms", "attempts-max": 7})");
  ASSERT_TRUE(fixed.has_value());
  EXPECT_EQ(fixed->job.restart.kind, RestartKind::kFixedDelay);
  EXPECT_EQ(fixed->job.restart.delay, std::chrono::milliseconds(250));
  EXPECT_EQ(fixed->job.restart.attempts_max, 7U);
  EXPECT_TRUE(fixed->warnings.empty());
  const auto mixed = with(R"({"strategy": "failure-rate", "failures-max": 2, "attempts-max": 7})");
  ASSERT_TRUE(mixed.has_value());
  EXPECT_EQ(mixed->job.restart.kind, RestartKind::kFailureRate);
  EXPECT_EQ(mixed->job.restart.failures_max, 2U);
  ASSERT_EQ(mixed->warnings.size(), 1U);
  EXPECT_EQ(
      ToString(mixed->warnings.front()),
      "job.json:1: warning: /restart/attempts-max: the restart strategy \"failure-rate\" does not use attempts-max "
      "(value 7, expected no attempts-max)");
  const auto unknown = with(R"({"strategy": "fixed", "attempts-max": 0})");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().size(), 2U);
}

TEST_F(DefinitionTest, ReportsEveryProblemWithItsLine) {
  const char* json = R"({
  "name": "a/b",
  "paralelism": 2,
  "checkpoint": {
    "interval": "soon",
    "retain": 0
  },
  "sources": [
    {"id": "in",
     "connector": "fed"},
    {"id": "in2", "connector": "feed",
     "batch": 1000,
     "starrt": "latest"}
  ],
  "sinks": [
    {"id": "out", "connector": "shelf", "path": 5, "input": "inn"}
  ]
})";
  EXPECT_EQ(
      Problems(json),
      (Lines{
          R"(job.json:2: /name: the job's name can't be the name of a folder (value "a/b", expected letters, )"
          R"(digits, _ . -, at most 100, neither . nor ..))",
          R"x(job.json:3: /paralelism: unknown key "paralelism" (did you mean "parallelism"?) (expected one of )x"
          R"x($schema, name, description, parallelism, key-groups, checkpoint, restart, memory, state, stop, )x"
          R"x(metrics, sources, operators or sinks))x",
          R"(job.json:5: /checkpoint/interval: "interval" is not a duration (value "soon", expected a duration )"
          R"(such as "500ms", "5s", "2m", "1h", at least 1ms))",
          R"(job.json:6: /checkpoint/retain: "retain" is too small (value 0, expected a whole number from 1 to 1000))",
          R"x(job.json:9: warning: /sources/0: nobody reads the rows of "in": they are dropped (expected a node )x"
          R"x(that names it as input))x",
          R"x(job.json:10: /sources/0/connector: unknown connector "fed" (did you mean "feed"?) (value "fed", )x"
          R"x(expected feed))x",
          R"(job.json:11: /sources/1/topics: required key "topics" is missing (expected a list of strings))",
          R"x(job.json:11: warning: /sources/1: nobody reads the rows of "in2": they are dropped (expected a )x"
          R"x(node that names it as input))x",
          R"(job.json:12: /sources/1/batch: "batch" is too large (value 1000, expected a whole number from 1 to 100))",
          R"x(job.json:13: /sources/1/starrt: unknown key "starrt" (did you mean "start"?) (expected one of id, )x"
          R"x(connector, parallelism, topics, start, poll, fetch, batch, tls, columns, parts, password, follow, )x"
          R"x(keep or properties))x",
          R"(job.json:16: /sinks/0/path: "path" is a number (value 5, expected a string))",
          R"x(job.json:16: /sinks/0/input: unknown input "inn" (did you mean "in"?) (value "inn", expected in )x"
          R"x(or in2))x",
      }));
}

TEST_F(DefinitionTest, ReportsTheLinesOfYaml) {
  EXPECT_EQ(
      Problems("name: j\nsources:\n  - id: in\n    connector: feed\n    topics: t\n    batch: many\nsinks:\n  - {id: "
               "out, connector: shelf, path: p, input: in}\n",
               "j.yml"),
      Lines{R"(j.yml:6: /sources/0/batch: "batch" is a string (value "many", expected a whole number from 1 to 100))"});
  EXPECT_EQ(Problems("name: [\n", "j.yml").size(), 1U);
  EXPECT_EQ(Problems("a: &a [*a]\n", "j.yml").size(), 1U);
}

TEST_F(DefinitionTest, RefusesTextsThatAreNoDefinition) {
  EXPECT_EQ(Problems("{\n \"name\": \"j\",\n}"),
            Lines{"job.json:3: this is not JSON: parse error at line 3, column 1: syntax error while parsing object "
                  "key - unexpected '}'; expected string literal"});
  EXPECT_EQ(Problems("").size(), 1U);
  EXPECT_EQ(Problems("[]").size(), 3U);
  EXPECT_EQ(Problems(std::string(100'000, '[')), Lines{"job.json:1: the definition is nested more than 64 deep"});
  EXPECT_EQ(Problems(R"({"name": "j", "name": "k"})")[0],
            R"(job.json:1: /name: key "name" stands twice (expected each key once))");
}

TEST_F(DefinitionTest, SaysThatYamlIsNestedTooDeepAndWhere) {
  const std::string refused = "the definition is nested more than 64 deep";
  for (const size_t depth : {size_t{70}, size_t{100'000}}) {
    SCOPED_TRACE(depth);
    EXPECT_EQ(Problems("name: j\nsources: " + std::string(depth, '['), "j.yaml").size(), 1U);
    const Lines lines = Problems("name: j\nsources: " + std::string(depth, '[') + std::string(depth, ']'), "j.yaml");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines[0].starts_with("j.yaml:2: ")) << lines[0];
    EXPECT_TRUE(lines[0].ends_with(refused)) << lines[0];
  }
}

TEST_F(DefinitionTest, TellsYamlInAFileOfAnotherNameFromBrokenJson) {
  const std::string hint = "expected JSON; does the file hold YAML? then call it .yaml";
  for (const char* file : {"job", "job.json", "job.txt"}) {
    const Lines lines = Problems(kYaml, file);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find(hint), std::string::npos) << lines[0];
  }
  for (const char* text : {"{\"name\": }", " [1,", ""}) {
    EXPECT_EQ(Problems(text)[0].find(hint), std::string::npos) << text;
  }
}

TEST_F(DefinitionTest, AppliesOverridesBeforeTheChecks) {
  overrides_ = {
      {"parallelism", "4"}, {"sources.in.batch", "9"}, {"/sinks/0/path", "elsewhere"}, {"checkpoint.min-pause", "3s"}};
  const auto parsed = Parse(kJson);
  ASSERT_TRUE(parsed.has_value()) << ToString(parsed.error().front());
  EXPECT_EQ(parsed->job.parallelism, 4U);
  EXPECT_EQ(parsed->job.nodes[0].options.Integer("batch"), 9);
  EXPECT_EQ(parsed->job.nodes[4].options.String("path"), "elsewhere");
  EXPECT_EQ(parsed->job.checkpoint.min_pause, std::chrono::seconds(3));
  overrides_ = {{"parallelism", "four"}, {"sources.out.batch", "9"}};
  EXPECT_EQ(
      Problems(kJson),
      (Lines{
          R"(--set sources.out.batch: /sources: nothing is called "out" (expected an index or an id of "/sources"))",
          R"(--set parallelism: /parallelism: "parallelism" is a string (value "four", expected a whole number )"
          R"(from 1 to 1024))",
      }));
}

TEST_F(DefinitionTest, B46_NeverPrintsWhatAReferenceHolds) {
  overrides_ = {{"sources.in.password", "${PASSWORD}"}, {"sources.in.start", "${PASSWORD}"}};
  for (const std::string& line : Problems(kJson)) EXPECT_EQ(line.find("wrong password"), std::string::npos) << line;
  EXPECT_FALSE(Problems(kJson).empty());
  overrides_ = {{"sources.in.password", "${PASSWORD}"}};
  EXPECT_EQ(
      Problems(kJson),
      Lines{"--set sources.in.password: /sources/0/password: <secret> is wrong (value <secret>, expected another)"});
  overrides_ = {{"sources.in.password", "${NOT_SET}${file:gone}"}};
  EXPECT_EQ(Problems(kJson),
            Lines{R"(--set sources.in.password: /sources/0/password: environment variable "NOT_SET" is not set (value )"
                  R"(${NOT_SET}, expected an environment variable that is set))"});
  overrides_ = {{"sources.in.password", "${file:gone}"}};
  EXPECT_EQ(Problems(kJson),
            Lines{R"(--set sources.in.password: /sources/0/password: file "gone" can't be read: no such file (value )"
                  R"(${file:gone}, expected a file that can be read))"});
}

TEST_F(DefinitionTest, FindsWhatIsWrongWithTheGraph) {
  EXPECT_EQ(
      GraphProblems(
          R"({"id": "a", "type": "union", "inputs": ["in", "c"]}, {"id": "b", "type": "union", "input": "a"}, )"
          R"({"id": "c", "type": "union", "input": "b"})",
          "c"),
      Lines{R"(job.json:1: /operators/0: the graph has a cycle: a -> b -> c -> a (expected rows that flow one way))"});
  EXPECT_EQ(GraphProblems(R"({"id": "in", "type": "union", "input": "in"})", "in").size(), 1U);
  EXPECT_EQ(GraphProblems(R"({"id": "a", "type": "union", "input": "out"})", "a"),
            Lines{R"(job.json:1: /operators/0/input: input "out" is a sink: nothing comes out of it (value "out", )"
                  R"(expected a source or an operator))"});
  EXPECT_EQ(GraphProblems(
                R"({"id": "a", "type": "aggregate", "input": "in", "aggregates": {"n": {"function": "count"}}})", "a"),
            Lines{R"(job.json:1: /operators/0: "a" (aggregate) needs rows with a key, and "in" gives them none )"
                  R"((expected an operator of type key_by as its input))"});
  EXPECT_EQ(GraphProblems(R"({"id": "a", "type": "union", "input": "in", "edge": "hash"})", "a").size(), 1U);
  EXPECT_EQ(
      GraphProblems(R"({"id": "a", "type": "union", "input": "in", "edge": "forward", "parallelism": 2})", "a").size(),
      1U);
  EXPECT_EQ(GraphProblems(R"({"id": "a", "type": "route", "input": "in", "routes": {"x": "true"}})", "a.y"),
            Lines{R"(job.json:1: /sinks/0/input: unknown side output "y" (did you mean "x"?) (value "a.y", expected x )"
                  R"(or dead-letter))"});
  EXPECT_EQ(
      GraphProblems(R"({"id": "a", "type": "key_by", "input": "in", "keys": "k", "on-error": "dead-letter"})", "a")
          .size(),
      1U);
  EXPECT_EQ(GraphProblems(R"({"id": "a", "type": "union"})", "a").size(), 1U);
  EXPECT_EQ(GraphProblems(
                R"({"id": "a", "type": "key_by", "inputs": ["in", "b"], "keys": "k"}, {"id": "b", "type": "union", )"
                R"("input": "in"})",
                "a")
                .size(),
            1U);
  EXPECT_EQ(GraphProblems(R"({"id": "a", "type": "filter", "input": "in", "where": "x >"})", "a").size(), 1U);
}

// Whether the key's names are given or come from the key_by.
TEST_F(DefinitionTest, RefusesAnAggregateWithTheNameOfAKey) {
  const std::string keyed = R"({"id": "k", "type": "key_by", "input": "in", "keys": ["region"]}, )";
  const std::string aggregates =
      R"("aggregates": {"region": {"function": "count"}, "region_count": {"function": "count"}}})";
  for (const char* keys : {"", R"("keys": ["region"], )"}) {
    EXPECT_EQ(
        GraphProblems(keyed + R"({"id": "a", "type": "aggregate", "input": "k", )" + keys + aggregates, "a"),
        Lines{R"(job.json:1: /operators/1/aggregates/region: aggregate "region" has the name of a column of the key )"
              R"((value "region", expected another name, such as "region_count_", or other names for the key's )"
              R"(columns (keys)))"});
  }
  EXPECT_EQ(
      GraphProblems(keyed + R"({"id": "a", "type": "aggregate", "input": "k", "keys": ["r"], )" + aggregates, "a"),
      Lines{});
}

TEST_F(DefinitionTest, QuotesALongExpressionInPart) {
  std::string where;
  for (int i = 0; i < 2'000; ++i) where += "x > 1 AND ";
  const Lines lines = GraphProblems(R"({"id": "a", "type": "filter", "input": "in", "where": ")" + where + "\"}", "a");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 600U) << lines[0];
}

TEST_F(DefinitionTest, RefusesMoreSubtasksThanKeyGroups) {
  overrides_ = {{"key-groups", "2"}};
  const Lines lines = Problems(kJson);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("/operators/1/parallelism: the parallelism is greater than the number of key groups (value "
                          "3, expected at most key-groups (2))"),
            std::string::npos)
      << lines[0];
}

}  // namespace
}  // namespace weir::jobs
