#include "jobs/definition_shown.h"

#include <gtest/gtest.h>

#include <string>

#include "jobs/job_definition.h"
#include "tests/jobs/test_registry.h"

namespace weir::jobs {
namespace {

class DefinitionShownTest : public testing::Test {
 protected:
  std::expected<ParsedDefinition, std::vector<DefinitionProblem>> Parse(const std::string& more) {
    const std::string text =
        R"({"name": "j", )" + more + R"("sinks": [{"id": "out", "connector": "shelf", "path": "p", "input": "in"}]})";
    DefinitionInputs inputs;
    inputs.file_name = "job.json";
    inputs.text = text;
    inputs.environment = [](const std::string&) { return std::optional<std::string>("canary"); };
    inputs.read_file = [](const std::string&) { return Result<std::string>("canary"); };
    return ParseJobDefinition(inputs, registry_);
  }
  // A member of the source, as it is shown.
  std::string Shown(const std::string& name, const std::string& value) {
    const std::string topics = name == "topics" ? "" : R"("topics": "t", )";
    const auto parsed =
        Parse(R"("sources": [{"id": "in", "connector": "feed", )" + topics + "\"" + name + "\": \"" + value + "\"}],");
    if (!parsed.has_value()) return ToString(parsed.error().front());
    const operators::RawValue* source = &parsed->shown.Find("sources")->list.front();
    return source->Find(name)->text;
  }

  const operators::Registry registry_ = TestRegistry();
};

TEST_F(DefinitionShownTest, B46_ReferencesStayReferencesAndSecretsAreHidden) {
  EXPECT_EQ(Shown("password", "canary"), "<secret>");
  EXPECT_EQ(Shown("password", "${PASSWORD}"), "${PASSWORD}");
  EXPECT_EQ(Shown("password", "${file:/run/secret}"), "${file:/run/secret}");
  EXPECT_EQ(Shown("password", "canary ${PASSWORD}"), "<secret>");
  EXPECT_EQ(Shown("password", "${A}${B}"), "<secret>");
  EXPECT_EQ(Shown("topics", "t${A}"), "<secret>");
  EXPECT_EQ(Shown("topics", "${A}"), "${A}");
  EXPECT_EQ(Shown("topics", "orders"), "orders");
}

TEST_F(DefinitionShownTest, MetricsAreOffUnlessTheDefinitionSaysSo) {
  const std::string source = R"("sources": [{"id": "in", "connector": "feed", "topics": "t"}],)";
  const auto off = Parse(source);
  ASSERT_TRUE(off.has_value());
  EXPECT_FALSE(off->job.metrics.has_value());
  const auto on = Parse(R"("metrics": {}, )" + source);
  ASSERT_TRUE(on.has_value());
  ASSERT_TRUE(on->job.metrics.has_value());
  EXPECT_EQ(on->job.metrics->host, "127.0.0.1");
  EXPECT_EQ(on->job.metrics->port, 9464);
  const auto chosen = Parse(R"("metrics": {"port": 0, "host": "0.0.0.0"}, )" + source);
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->job.metrics->host, "0.0.0.0");
  EXPECT_EQ(chosen->job.metrics->port, 0);
  for (const std::string wrong : {"65536", "-1", "\"x\""}) {
    const auto parsed = Parse("\"metrics\": {\"port\": " + wrong + "}, " + source);
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_NE(ToString(parsed.error().front()).find("/metrics/port"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::jobs
