// `weir state` and `weir plan` on savepoints of the real binary: what they show and write, and that a job goes on from
// what they wrote as from any savepoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

constexpr int kDiffers = 1;
constexpr int kStateChanges = 7;

// A job that counts the rows of a few keys at parallelism 2, stopped with a savepoint "sp".
class StateToolTest : public testing::Test {
 protected:
  Json CountingJob() {
    Json job = EmptyJob(folder_, "counting");
    job["parallelism"] = 2;
    job["sources"].push_back(FileSource(folder_, "in", "in/*.jsonl", true));
    AddCount(job, "counts", "in", "k");
    job["sinks"].push_back(FileSink(folder_, "out", "counts"));
    return job;
  }
  void Append(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) folder_.Append("in/a.jsonl", "{\"k\":\"" + key + "\"}\n");
  }
  static std::string Row(const std::string& key, int n) {
    return "{\"k\":\"" + key + "\",\"n\":" + std::to_string(n) + "}";
  }
  // Runs until `rows` are out in all and stops with a savepoint; what it said.
  std::string Run(const Json& job, size_t rows, const std::string& savepoint, Arguments more = {}) {
    const std::string path = WriteJob(folder_, job);
    Arguments arguments = {"run", path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Weir weir(folder_, arguments);
    EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_).size() >= rows; })) << weir.Output();
    const Ended stopped = RunToEnd(folder_, {"savepoint", path, "--to", Path(savepoint), "--stop"});
    EXPECT_EQ(stopped.code, kOk) << stopped.output;
    EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
    return weir.Output();
  }
  void RunToFirstSavepoint() {
    Append({"a", "b", "a"});
    Run(CountingJob(), 3, "sp");
  }
  Ended State(Arguments arguments) {
    arguments.insert(arguments.begin(), "state");
    return RunToEnd(folder_, std::move(arguments));
  }
  Ended Plan(const Json& job, Arguments more = {}) {
    Arguments arguments = {"plan", WriteJob(folder_, job, "plan.json"), "--from", Path("sp")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunToEnd(folder_, std::move(arguments));
  }
  std::string Path(const std::string& name) { return folder_.Path(name); }
  std::map<std::string, std::string> ContentOf(const std::string& name) {
    std::map<std::string, std::string> content;
    for (const std::string& file : FilesUnder(Path(name))) content[file] = ReadText(file);
    return content;
  }

  JobFolder folder_;
};

TEST_F(StateToolTest, B51_ExportIsOneLineOfJsonForEachEntry) {
  RunToFirstSavepoint();
  const auto before = ContentOf("sp");
  const Ended groups = State({"export", Path("sp"), "--operator", "counts", "--state", "groups"});
  EXPECT_EQ(groups.code, kOk) << groups.output;
  std::vector<std::string> lines = LinesOf(groups.output);
  std::ranges::sort(lines);
  const auto line = [](const std::string& key, const std::string& n) {
    return R"({"uid":"counts","state":"groups","kind":"value","key":[")" + key + R"("],"value":{"rows":)" + n +
           R"(,"aggregates":[{"function":"count","of":"*","count":)" + n + R"(,"result":)" + n + "}]}}";
  };
  EXPECT_EQ(lines, (std::vector{line("a", "2"), line("b", "1")}));
  const Ended source = State({"export", Path("sp"), "--operator", "in"});
  const std::string split = "split:" + Path("in/a.jsonl");
  std::set<std::string> names;
  for (const std::string& each : LinesOf(source.output)) {
    const Json json = Json::parse(each);
    names.insert(json["state"]);
    if (json["state"] == split) {
      EXPECT_EQ(json["value"]["line"], 3) << each;
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"enumerator", split}));
  EXPECT_EQ(ContentOf("sp"), before);
}

TEST_F(StateToolTest, DiffSaysWhatAGoingOnWouldDoOtherwise) {
  RunToFirstSavepoint();
  const Ended same = State({"diff", Path("sp"), Path("checkpoints/counting")});
  EXPECT_EQ(same.code, kOk) << same.output;
  EXPECT_EQ(same.output, "");
  Append({"c"});
  Json job = CountingJob();
  job["parallelism"] = 3;
  Run(job, 4, "later");
  const Ended differs = State({"diff", Path("sp"), Path("later")});
  EXPECT_EQ(differs.code, kDiffers) << differs.output;
  ExpectSays(differs.output, {"operator counts: parallelism: 2 -> 3\n", "operator counts: state groups: 2 entries of",
                              "-> 3 entries of", "operator in: split:" + Path("in/a.jsonl") + ": {"});
  EXPECT_EQ(State({"diff", Path("sp"), Path("nothing")}).code, kBadUsage);
}

TEST_F(StateToolTest, B51_AnOffsetThatWasSetIsWhereTheJobGoesOn) {
  RunToFirstSavepoint();
  const auto before = ContentOf("sp");
  const std::string split = Path("in/a.jsonl");
  const Ended edited = State({"set-offset", Path("sp"), "--source", "in", "--split", split, "--offset",
                              R"({"offset":10,"line":1})", "--to", Path("edited")});
  EXPECT_EQ(edited.code, kOk) << edited.output;
  EXPECT_EQ(ContentOf("sp"), before);
  const Ended shown = State({"show", Path("edited")});
  ExpectSays(shown.output, {R"("line":1)", R"("offset":10)", "comes from checkpoint"});
  const Ended differs = State({"diff", Path("sp"), Path("edited")});
  ASSERT_EQ(LinesOf(differs.output).size(), 1U) << differs.output;
  std::filesystem::remove_all(Path("sp"));  // it stands alone
  Append({"c"});
  ExpectSays(Run(CountingJob(), 6, "next", {"--restore", Path("edited")}), {"goes on from checkpoint"});
  std::vector<std::string> rows = {Row("a", 1), Row("a", 2), Row("a", 3), Row("b", 1), Row("b", 2), Row("c", 1)};
  EXPECT_EQ(OutLines(folder_), rows);
  // A command line that is repeated takes what has come from it.
  Append({"c"});
  Run(CountingJob(), 7, "last", {"--restore", Path("edited")});
  rows.push_back(Row("c", 2));
  EXPECT_EQ(OutLines(folder_), rows);
  // The sinks are ahead of it by now.
  const Ended refused = RunToEnd(folder_, {"run", WriteJob(folder_, CountingJob()), "--set",
                                           "checkpoint.storage=" + Path("empty"), "--restore", Path("edited")});
  EXPECT_EQ(refused.code, kStartRefused);
  ExpectSays(refused.output, {"--rewind="});
}

TEST_F(StateToolTest, B51_Weakness_m_APartitionOfKafkaGoesOnAtAnOffsetByNumber) {
  const auto world = kafka_test::NewRealWorld();
  const std::string topic = world->NewName("in");
  ASSERT_TRUE(world->CreateTopic(topic, 2).ok());
  world->AppendValues(topic, 0, {R"({"n":0})", R"({"n":1})", R"({"n":2})"});
  world->AppendValues(topic, 1, {R"({"n":10})"});
  const Json job = CopyJob(*world, folder_, topic);
  Run(job, 4, "sp");
  const Ended edited = State(
      {"set-offset", Path("sp"), "--source", "in", "--split", topic + "-0", "--offset", "1", "--to", Path("edited")});
  EXPECT_EQ(edited.code, kOk) << edited.output;
  ExpectSays(State({"show", Path("edited")}).output, {topic + R"(-0":{"offset":1})", topic + R"(-1":{"offset":1)"});
  Run(job, 6, "next", {"--restore", Path("edited")});
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{R"({"n":0})", R"({"n":10})", R"({"n":1})", R"({"n":1})",
                                                         R"({"n":2})", R"({"n":2})"}));
}

TEST_F(StateToolTest, ASplitThatWasReadToItsEndIsReadAgain) {
  Json job = EmptyJob(folder_, "bounded");
  job["sources"].push_back({{"id", "made"}, {"connector", "generator"}, {"rows", 40}, {"splits", 4}});
  AddCount(job, "counts", "made", "status");
  job["sinks"].push_back(FileSink(folder_, "out", "counts"));
  EXPECT_EQ(RunToEnd(folder_, {"run", WriteJob(folder_, job)}).code, kOk);
  ASSERT_EQ(OutLines(folder_).size(), 40U);
  const Ended edited = State({"set-offset", Path("checkpoints/bounded"), "--source", "made", "--split", "orders-2",
                              "--offset", "7", "--to", Path("edited")});
  EXPECT_EQ(edited.code, kOk) << edited.output;
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job), "--restore", Path("edited")});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(OutLines(folder_).size(), 43U) << ended.output;
}

// No reader holds a split yet: the enumerator has only assigned it.
TEST_F(StateToolTest, TheFirstCheckpointsOffsetsCanBeSetToo) {
  Json job = EmptyJob(folder_, "first");
  job["checkpoint"]["interval"] = "1h";
  job["sources"].push_back(
      {{"id", "made"}, {"connector", "generator"}, {"rows", 40}, {"splits", 4}, {"rows-per-second", 1}});
  job["sinks"].push_back(FileSink(folder_, "out", "made"));
  const std::string path = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(
        Eventually(seconds(20), [&] { return std::filesystem::exists(Path("checkpoints/first/chk-1/_metadata")); }));
    weir.Kill9();
  }
  const Ended edited = State({"set-offset", Path("checkpoints/first"), "--source", "made", "--split", "orders-3",
                              "--offset", "4", "--to", Path("edited")});
  EXPECT_EQ(edited.code, kOk) << edited.output;
  ExpectSays(State({"show", Path("edited")}).output, {R"(begins split orders-3 at {"row":4})"});
  const Ended ended =
      RunToEnd(folder_, {"run", path, "--set", "sources.made.rows-per-second=0", "--restore", Path("edited")});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(OutLines(folder_).size(), 36U) << ended.output;
}

TEST_F(StateToolTest, AnOperatorThatWasDroppedBeginsAnew) {
  RunToFirstSavepoint();
  const Ended edited = State({"drop-operator", Path("sp"), "--operator", "counts", "--to", Path("edited")});
  EXPECT_EQ(edited.code, kOk) << edited.output;
  ExpectSays(State({"export", Path("edited"), "--operator", "counts"}).output, {"no operator \"counts\""});
  Append({"a"});
  ExpectSays(Run(CountingJob(), 4, "next", {"--restore", Path("edited")}), {"operator 'counts' is new"});
  EXPECT_EQ(OutLines(folder_), (std::vector{Row("a", 1), Row("a", 1), Row("a", 2), Row("b", 1)}));
}

// Of an operator with keyed state and of a source, whose state is the operator's own.
TEST_F(StateToolTest, AnOperatorThatWasRenamedGoesOnUnderItsNewName) {
  RunToFirstSavepoint();
  Json job = CountingJob();
  job["sources"][0]["id"] = "input";
  job["operators"][0]["input"] = "input";
  job["operators"][1]["id"] = "totals";
  job["sinks"][0]["input"] = "totals";
  const Ended refused = RunToEnd(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_EQ(refused.code, kStartRefused);
  ExpectSays(refused.output, {"'counts', 'in'", "--map-operator OLD=NEW"});
  EXPECT_EQ(State({"rename-operator", Path("sp"), "--operator", "in", "--as", "input", "--to", Path("half")}).code,
            kOk);
  const Ended edited =
      State({"rename-operator", Path("half"), "--operator", "counts", "--as", "totals", "--to", Path("edited")});
  EXPECT_EQ(edited.code, kOk) << edited.output;
  EXPECT_EQ(State({"diff", Path("sp"), Path("edited")}).code, kDiffers);
  Append({"a", "c"});
  job["parallelism"] = 3;
  Run(job, 5, "next", {"--restore", Path("edited")});
  EXPECT_EQ(OutLines(folder_), (std::vector{Row("a", 1), Row("a", 2), Row("a", 3), Row("b", 1), Row("c", 1)}));
}

TEST_F(StateToolTest, WhatCannotBeDoneIsSaidAndLeavesNothing) {
  RunToFirstSavepoint();
  const std::string split = Path("in/a.jsonl");
  const auto set_offset = [&](const std::string& source, const std::string& at, const std::string& offset,
                              const std::string& to) {
    return State({"set-offset", Path("sp"), "--source", source, "--split", at, "--offset=" + offset, "--to", Path(to)});
  };
  struct Case {
    Ended ended;
    int code;
    std::vector<std::string> says;
  };
  folder_.Write("taken/file", "1");
  const std::vector<Case> cases = {
      {set_offset("inn", split, "{}", "new"), kBadUsage, {Path("sp"), "no source \"inn\"", "it has in"}},
      {set_offset("in", "b", "{}", "new"), kBadUsage, {"source \"in\"", "no split \"b\"", split}},
      {set_offset("in", split, "-3", "new"), kBadUsage, {Path("sp"), split, "-3", "\"offset\""}},
      {set_offset("in", split, R"({"offset":"3"})", "new"), kBadUsage, {"\"offset\" is a whole number", "\"3\""}},
      {set_offset("in", split, R"({"offset":3})", "taken"), kStartRefused, {"something in " + Path("taken")}},
      {set_offset("in", split, R"({"offset":3})", "sp/new"), kStartRefused, {Path("sp")}},
      {State({"drop-operator", Path("sp"), "--operator", "x", "--to", Path("new")}),
       kBadUsage,
       {"no operator \"x\"", "counts, in"}},
      {State({"rename-operator", Path("sp"), "--operator", "in", "--as", "counts", "--to", Path("new")}),
       kBadUsage,
       {"\"counts\"", "one of that name"}},
      {State({"export", Path("sp"), "--operator", "x"}), kBadUsage, {"no operator \"x\"", "counts, in"}},
      {State({"export", Path("sp"), "--state", "x"}), kBadUsage, {"no state \"x\"", "have groups"}},
      {State({"drop-operator", Path("nowhere"), "--operator", "x", "--to", Path("new")}),
       kBadUsage,
       {"no checkpoint in " + Path("nowhere")}},
      {State({"drop-operator", Path("sp"), "--to", Path("new")}), kBadUsage, {"lacks --operator"}}};
  for (const Case& each : cases) {
    EXPECT_EQ(each.ended.code, each.code) << each.ended.output;
    ExpectSays(each.ended.output, each.says);
  }
  EXPECT_FALSE(std::filesystem::exists(Path("new")));
  EXPECT_FALSE(std::filesystem::exists(Path("sp/new")));
  // A byte of a state file has changed.
  for (const std::string& file : FilesUnder(Path("sp/state"))) {
    std::string bytes = ReadText(file);
    if (bytes.empty()) continue;
    bytes[bytes.size() / 2] ^= 1;
    std::filesystem::remove(file);
    folder_.Write(std::filesystem::relative(file, folder_.path()).string(), bytes);
  }
  for (const Ended& ended : {State({"export", Path("sp")}), State({"diff", Path("sp"), Path("sp")}),
                             set_offset("in", split, R"({"offset":3})", "new"), Plan(CountingJob())}) {
    EXPECT_EQ(ended.code, kStartRefused) << ended.output;
    ExpectSays(ended.output, {"state file " + Path("sp/state/")});
  }
  EXPECT_FALSE(std::filesystem::exists(Path("new")));
}

TEST_F(StateToolTest, PlanSaysWhatAStartWouldDoAndDisturbsNobody) {
  RunToFirstSavepoint();
  Json job = CountingJob();
  Weir running(folder_, {"run", WriteJob(folder_, job)});  // has the lock
  EXPECT_TRUE(Eventually(seconds(20), [&] { return running.Says("goes on from"); })) << running.Output();
  Ended plan = Plan(job);
  EXPECT_EQ(plan.code, kOk) << plan.output;
  ExpectSays(plan.output, {"operator 'in': state restored, parallelism 2\n",
                           "operator 'counts': state restored (groups), parallelism 2\n", "restores everything"});
  job["parallelism"] = 3;
  plan = Plan(job);
  EXPECT_EQ(plan.code, kOk) << plan.output;
  ExpectSays(plan.output, {"operator 'counts': state restored (groups), parallelism 2 -> 3"});
  const Ended newest = RunToEnd(folder_, {"plan", WriteJob(folder_, job, "plan.json")});
  EXPECT_EQ(newest.code, kOk) << newest.output;
  ExpectSays(newest.output, {"checkpoints/counting/chk-"});
  // New, and one more that the state is mapped to.
  Json more = CountingJob();
  AddCount(more, "others", "in", "k2");
  more["sinks"].push_back(FileSink(folder_, "out2", "others"));
  plan = Plan(more);
  EXPECT_EQ(plan.code, kStateChanges) << plan.output;
  ExpectSays(plan.output, {"operator 'others' is new"});
  Json renamed = CountingJob();
  renamed["operators"][1]["id"] = "totals";
  renamed["sinks"][0]["input"] = "totals";
  plan = Plan(renamed);
  EXPECT_EQ(plan.code, kStartRefused) << plan.output;
  ExpectSays(plan.output, {"operator 'counts': state left behind (groups)", "operator 'totals' is new",
                           "--map-operator OLD=NEW", "a start is refused"});
  plan = Plan(renamed, {"--map-operator", "counts=totals"});
  EXPECT_EQ(plan.code, kOk) << plan.output;
  ExpectSays(plan.output, {"operator 'totals': state restored from 'counts' (groups)"});
  plan = Plan(renamed, {"--allow-non-restored-state", "--json"});
  EXPECT_EQ(plan.code, kStateChanges) << plan.output;
  const Json json = Json::parse(plan.output);
  EXPECT_EQ(json["result"], "changed");
  EXPECT_EQ(json["operators"].size(), 3U);
  EXPECT_EQ(json["problems"].size(), 0U);
  EXPECT_EQ(running.Stop(), kOk) << running.Output();
}

TEST_F(StateToolTest, PlanAndStartRefuseTheSameMisfits) {
  RunToFirstSavepoint();
  Json job = CountingJob();
  job["key-groups"] = 96;
  job["operators"][1]["aggregates"]["last"] = {{"function", "max"}, {"column", "k"}};
  const Ended plan = Plan(job);
  EXPECT_EQ(plan.code, kStartRefused) << plan.output;
  const auto before = ContentOf("checkpoints");
  const Ended start = RunToEnd(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_EQ(start.code, kStartRefused) << start.output;
  for (const Ended& each : {plan, start}) {
    ExpectSays(each.output, {"128 key groups, the definition has 96", "operator 'counts'", "was stored as value of"});
  }
  EXPECT_EQ(ContentOf("checkpoints"), before);
}

TEST_F(StateToolTest, ARenamedOperatorIsMappedAtTheStart) {
  RunToFirstSavepoint();
  Json job = CountingJob();
  job["sources"][0]["id"] = "input";
  job["operators"][0]["input"] = "input";
  job["operators"][1]["id"] = "totals";
  job["sinks"][0]["input"] = "totals";
  const Arguments mapping = {"--map-operator", "in=input", "--map-operator", "counts=totals"};
  Append({"a"});
  // From the newest checkpoint, at another parallelism, killed and repeated.
  job["parallelism"] = 3;
  const std::string path = WriteJob(folder_, job);
  for (size_t rows = 4; rows <= 6; ++rows) {
    Arguments arguments = {"run", path};
    arguments.insert(arguments.end(), mapping.begin(), mapping.end());
    Weir weir(folder_, arguments);
    EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_).size() >= rows; })) << weir.Output();
    if (rows == 4) ExpectSays(weir.Output(), {"operator 'totals': state restored from 'counts' (groups)"});
    weir.Kill9();
    Append({"a"});
  }
  // Then without.
  ExpectSays(Run(job, 7, "next"), {"operator 'totals': state restored (groups), parallelism 3"});
  EXPECT_EQ(OutLines(folder_),
            (std::vector{Row("a", 1), Row("a", 2), Row("a", 3), Row("a", 4), Row("a", 5), Row("a", 6), Row("b", 1)}));
}

TEST_F(StateToolTest, StateIsNotLostToAnOperatorThatHasNone) {
  RunToFirstSavepoint();
  Json job = CountingJob();
  job["operators"] = Json::array({{{"id", "counts"}, {"type", "filter"}, {"input", "in"}, {"where", "k <> 'x'"}}});
  const std::string path = WriteJob(folder_, job);
  const Ended refused = RunToEnd(folder_, {"run", path});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"holds state of 'counts'", "no operator with state of that name"});
  EXPECT_EQ(Plan(job).code, kStartRefused);
  Append({"c"});
  Run(job, 4, "without", {"--allow-non-restored-state"});
  EXPECT_EQ(State({"export", Path("without"), "--operator", "counts"}).output, "");
}

TEST_F(StateToolTest, StateThatWasLeftBehindIsGoneFromTheNextCheckpoint) {
  RunToFirstSavepoint();
  Json job = CountingJob();
  job["operators"] = Json::array();
  job["sinks"][0]["input"] = "in";
  Append({"c"});
  ExpectSays(Run(job, 4, "without", {"--allow-non-restored-state"}), {"state of 'counts' is dropped"});
  ExpectSays(State({"export", Path("without"), "--operator", "counts"}).output, {"no operator \"counts\""});
  // The next start needs no leave, and the operator that comes back begins anew.
  Append({"c"});
  Run(job, 5, "again");
  Append({"a"});
  ExpectSays(Run(CountingJob(), 6, "back"), {"operator 'counts' is new"});
  EXPECT_EQ(OutLines(folder_),
            (std::vector<std::string>{R"({"k":"a","n":1})", R"({"k":"a","n":1})", R"({"k":"a","n":2})",
                                      R"({"k":"b","n":1})", R"({"k":"c"})", R"({"k":"c"})"}));
}

}  // namespace
}  // namespace weir::job_test
