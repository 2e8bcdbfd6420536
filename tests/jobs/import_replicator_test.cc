// A replicator's command line as a job definition. The definition itself is checked by the real registry in
// tests/integration/command_line_test.
#include "jobs/import_replicator.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::jobs {
namespace {

using Words = std::vector<std::string>;
using Json = nlohmann::json;

Words Least(const Words& more = {}) {
  Words words = {"kafka",
                 "--broker",
                 "a:1",
                 "--broker=b:2",
                 "--group",
                 "g",
                 "--topic",
                 "t1",
                 "--topic",
                 "t2",
                 "--targetSchema",
                 "shop.sales",
                 "--targetConn",
                 "postgres://u:canary-7Q!x@h/shop"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json DefinitionOf(const Words& more) {
  const ImportedJob job = ImportReplicator(Least(more));
  EXPECT_EQ(job.problems, Words());
  return Json::parse(job.definition, nullptr, false);
}

bool Says(const Words& lines, const std::string& text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST(ImportReplicatorTest, B42_TheLeastThatRunsIsAConsistentJobThatSwitchesAsTheModelDoes) {
  const Json job = DefinitionOf({});
  EXPECT_EQ(job["name"], "g");
  EXPECT_EQ(job["checkpoint"]["interval"], "1s");
  const Json& source = job["sources"][0];
  EXPECT_EQ(source["bootstrap-servers"], "a:1,b:2");
  EXPECT_EQ(source["topics"], Json::parse(R"(["t1","t2"])"));
  EXPECT_EQ(source["group"], "g");
  EXPECT_TRUE(source["frontier"].is_object());
  EXPECT_EQ(job["operators"][1],
            Json::parse(R"({"id":"ordered","type":"sequence","input":"by_key","best-effort-window":"1h"})"));
  EXPECT_EQ(job["sinks"][0]["on-missing-parent"], "wait");
  EXPECT_EQ(job["sinks"][0]["schema"], "sales");
  EXPECT_EQ(job["sinks"][0]["connection"], "${TARGET_CONN}");
}

TEST(ImportReplicatorTest, B01_WhatIsMissingIsNamedAllAtOnce) {
  const ImportedJob job = ImportReplicator({"kafka"});
  EXPECT_EQ(job.definition, "");
  for (const char* flag : {"--broker", "--group", "--topic", "--targetSchema", "--targetConn"}) {
    EXPECT_TRUE(Says(job.problems, std::string(flag) + " is missing")) << flag;
  }
}

TEST(ImportReplicatorTest, EveryFlagOfTheModelIsKnown) {
  const Words values = {"--batchSize=100",
                        "--strategy=sticky",
                        "--minTimestamp=1.0",
                        "--maxTimestamp=2.0",
                        "--resolvedInterval=5s",
                        "--saslMechanism=PLAIN",
                        "--saslUser=u",
                        "--saslPassword=p",
                        "--tlsCACertificate=/ca",
                        "--tlsCertificate=/c",
                        "--tlsPrivateKey=/k",
                        "--insecureSkipVerify",
                        "--bestEffortWindow=1h",
                        "--disableCheckpointStream",
                        "--limitLookahead=0",
                        "--flushPeriod=1s",
                        "--flushSize=1000",
                        "--assumeIdempotent",
                        "--parallelism=16",
                        "--quiescentPeriod=10s",
                        "--retireOffset=24h",
                        "--scanSize=10000",
                        "--taskGracePeriod=1m",
                        "--timestampLimit=1000",
                        "--stagingConn=postgres://s",
                        "--stagingSchema=_replicator.public",
                        "--stagingCreateSchema",
                        "--stagingIdleTime=1m",
                        "--stagingJitterTime=15s",
                        "--stagingMaxLifetime=5m",
                        "--stagingMaxPoolSize=128",
                        "--targetIdleTime=1m",
                        "--targetJitterTime=15s",
                        "--targetMaxLifetime=5m",
                        "--targetMaxPoolSize=128",
                        "--applyTimeout=30s",
                        "--targetStatementCacheSize=128",
                        "--dlqTableName=replicator_dlq",
                        "--stageMarkAppliedLimit=100000",
                        "--stageSanityCheckPeriod=10m",
                        "--stageSanityCheckWindow=1h",
                        "--stageUnappliedPeriod=1m",
                        "--schemaRefresh=1m",
                        "--gracePeriod=30s",
                        "--metricsAddr=127.0.0.1:8080",
                        "-vv"};
  const ImportedJob job = ImportReplicator(Least(values));
  EXPECT_EQ(job.problems, Words());
  const Json definition = Json::parse(job.definition);
  EXPECT_EQ(definition["parallelism"], 16);
  EXPECT_EQ(definition["sources"][0]["resolved-interval"], "5s");
  EXPECT_EQ(definition["sources"][0]["frontier"]["release-rows-max"], 1000);
  EXPECT_EQ(definition["sources"][0]["tls"]["skip-verify"], true);
  EXPECT_EQ(definition["sinks"][0]["statement-timeout"], "30s");
  EXPECT_EQ(definition["metrics"], Json::parse(R"({"port":8080,"host":"127.0.0.1"})"));
  EXPECT_EQ(definition["stop"]["timeout"], "30s");
  EXPECT_EQ(job.definition.find("staging"), std::string::npos);
  for (const std::string& word : values) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--staging")) continue;
    EXPECT_TRUE(Says(job.notes, name + ": not needed")) << name;
  }
}

TEST(ImportReplicatorTest, WhatHasNoEqualIsRefusedByNameWithTheReason) {
  for (const char* flag : {"--userscript=/s.ts", "--logFormat=fluent", "--logDestination=/l"}) {
    const ImportedJob job = ImportReplicator(Least({flag}));
    EXPECT_EQ(job.definition, "") << flag;
    EXPECT_TRUE(Says(job.problems, std::string(flag).substr(0, std::string(flag).find('=')) + " has no equal: "))
        << flag;
  }
  EXPECT_TRUE(Says(ImportReplicator(Least({"--nope=1"})).problems, "--nope is not a flag"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--strategy=cooperative"})).problems, "sticky, roundrobin or range"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--targetConn=mysql://h/d"})).problems, "no PostgreSQL"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--parallelism=many"})).problems, "whole number"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--flushPeriod=soon"})).problems, "a duration"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--flushPeriod"})).problems, "has no value"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"loose"})).problems, "is no flag"));
}

TEST(ImportReplicatorTest, SwitchesAreReadAsGoReadsThem) {
  for (const char* off : {"--immediate=0", "--immediate=F", "--immediate=False"}) {
    const ImportedJob job = ImportReplicator(Least({"--immediate", off}));
    EXPECT_EQ(job.problems, Words()) << off;
    EXPECT_NE(job.definition.find("\"sequence\""), std::string::npos) << off;
  }
  EXPECT_NE(ImportReplicator(Least({"--immediate=t"})).definition.find("\"deduplicate\""), std::string::npos);
  EXPECT_TRUE(Says(ImportReplicator(Least({"--insecureSkipVerify=maybe"})).problems, "expected true or false"));
}

TEST(ImportReplicatorTest, ImmediateModeKeepsTheNewestVersionOfAKey) {
  const Json job = DefinitionOf({"--immediate", "--retireOffset", "1h30m"});
  EXPECT_EQ(job["operators"][1],
            Json::parse(R"({"id":"newest","type":"deduplicate","input":"by_key","retention":"5400s"})"));
  EXPECT_FALSE(job["sources"][0].contains("frontier"));
  EXPECT_EQ(DefinitionOf({"--immediate=false"})["operators"][1]["type"], "sequence");
}

TEST(ImportReplicatorTest, B21_B42_BestEffortHasItsFlags) {
  const Json window = DefinitionOf({"--bestEffortWindow=1h30m"});
  EXPECT_EQ(window["operators"][1]["best-effort-window"], "5400s");
  EXPECT_EQ(window["sinks"][0]["on-missing-parent"], "wait");
  for (const char* never : {"--bestEffortWindow=0", "--bestEffortWindow=0s"}) {
    const Json consistent = DefinitionOf({never});
    EXPECT_EQ(consistent["operators"][1]["type"], "sequence");
    EXPECT_FALSE(consistent["operators"][1].contains("best-effort-window"));
    EXPECT_FALSE(consistent["sinks"][0].contains("on-missing-parent"));
  }
  const Json only = DefinitionOf({"--bestEffortOnly", "--bestEffortWindow=1h"});
  EXPECT_EQ(only["operators"][1]["type"], "deduplicate");
  EXPECT_EQ(only["sinks"][0]["input"], "newest");
  EXPECT_EQ(only["sinks"][0]["on-missing-parent"], "wait");
  EXPECT_FALSE(only["sources"][0].contains("frontier"));
  EXPECT_FALSE(DefinitionOf({"--immediate"})["sinks"][0].contains("on-missing-parent"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--immediate", "--bestEffortOnly"})).problems, "take one"));
  EXPECT_TRUE(Says(ImportReplicator(Least({"--bestEffortWindow=long"})).problems, "a duration"));
}

TEST(ImportReplicatorTest, B46_SecretsDoNotComeAlong) {
  const ImportedJob job = ImportReplicator(
      Least({"--saslMechanism=OAUTHBEARER", "--saslClientID=id", "--saslClientSecret=canary-7Q!x",
             "--saslTokenURL=https://t", "--saslScope=a", "--saslScope=b", "--saslPassword=canary-7Q!x"}));
  EXPECT_EQ(job.problems, Words());
  EXPECT_EQ(job.definition.find("canary"), std::string::npos);
  EXPECT_FALSE(Says(job.notes, "canary"));
  EXPECT_TRUE(Says(job.notes, "set SASL_CLIENT_SECRET"));
  EXPECT_EQ(Json::parse(job.definition)["sources"][0]["sasl"]["scopes"], Json::parse(R"(["a","b"])"));
}

TEST(ImportReplicatorTest, WordsComeApartAsInAShell) {
  Words words;
  EXPECT_TRUE(SplitWords("replicator kafka --a='b c' \\\n  --d \"e\\\"f\" '' g\\ h", words));
  EXPECT_EQ(words, (Words{"replicator", "kafka", "--a=b c", "--d", "e\"f", "", "g h"}));
  EXPECT_FALSE(SplitWords("--a 'b", words));
}

}  // namespace
}  // namespace weir::jobs
