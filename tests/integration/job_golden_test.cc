// Runs the jobs of tests/golden/ (its README says how a folder is read), each killed with -9 in the middle.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::string> SortedEntries(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class GoldenJob {
 public:
  GoldenJob(kafka_test::KafkaWorld& world, std::string name)
      : world_(world), golden_(fs::path(WEIR_SOURCE_DIR) / "tests/golden" / name), topic_(world.NewName(name)) {
    for (const std::string& sink : SortedEntries(golden_ / "expected")) {
      std::vector<std::string> lines = LinesOf(ReadText(golden_ / "expected" / sink));
      std::ranges::sort(lines);
      expected_[fs::path(sink).stem()] = std::move(lines);
    }
    fs::create_directories(folder_.Path("in"));
  }

  void Run() {
    PutInput("1");
    {
      Weir first = Start(2);
      EXPECT_TRUE(Eventually(seconds(30), [&] { return RowsOut() > 0 || !first.Running(); }));
      PutInput("2");
      first.Wait(milliseconds(250));
      EXPECT_TRUE(first.Running()) << first.Output();
      first.Kill9();
    }
    Weir second = Start(3);
    second.Wait(milliseconds(400));
    PutInput("3");
    size_t rows = 0;
    for (const auto& [sink, lines] : expected_) rows += lines.size();
    EXPECT_TRUE(Eventually(seconds(30), [&] { return RowsOut() >= rows || !second.Running(); })) << second.Output();
    second.Wait(milliseconds(300));  // for rows too many
    EXPECT_EQ(second.Stop(), 0) << second.Output();
    for (const auto& [sink, lines] : expected_) EXPECT_EQ(Found(sink), lines) << "sink " << sink;
  }

 private:
  Weir Start(int parallelism) {
    return {folder_,
            {"run", (golden_ / "job.json").string(), "--set", "parallelism=" + std::to_string(parallelism)},
            {{"FOLDER", folder_.path()}, {"TOPIC", topic_}, {"KAFKA", world_.connection().bootstrap_servers}}};
  }

  void PutInput(const std::string& phase) {
    static const std::regex of_topic(R"(kafka-(\d+)\.jsonl)");
    for (const std::string& name : SortedEntries(golden_ / phase)) {
      const std::string content = ReadText(golden_ / phase / name);
      std::smatch match;
      if (!std::regex_match(name, match, of_topic)) {
        folder_.Append("in/" + name, content);
        continue;
      }
      const int partition = std::stoi(match[1]);
      GrowTopic(phase == "1" ? CountPartitions(phase) : partition + 1);
      world_.AppendValues(topic_, partition, LinesOf(content));
    }
  }

  int CountPartitions(const std::string& phase) const {
    return static_cast<int>(std::ranges::count_if(SortedEntries(golden_ / phase),
                                                  [](const std::string& name) { return name.starts_with("kafka-"); }));
  }

  void GrowTopic(int partitions) {
    if (partitions <= partitions_) return;
    const Status status =
        partitions_ == 0 ? world_.CreateTopic(topic_, partitions) : world_.AddPartitions(topic_, partitions);
    EXPECT_EQ(status.ToString(), "ok");
    partitions_ = partitions;
  }

  std::vector<std::string> Found(const std::string& sink) const {
    std::vector<std::string> lines = PublishedLines(folder_.Path("out/" + sink));
    std::ranges::sort(lines);
    return lines;
  }
  size_t RowsOut() const {
    size_t rows = 0;
    for (const auto& [sink, lines] : expected_) rows += Found(sink).size();
    return rows;
  }

  kafka_test::KafkaWorld& world_;
  JobFolder folder_;
  const fs::path golden_;
  const std::string topic_;
  int partitions_ = 0;
  std::map<std::string, std::vector<std::string>> expected_;  // sink -> lines, sorted
};

TEST(JobGoldenTest, AllFolders) {
  const auto world = kafka_test::NewRealWorld();
  int jobs = 0;
  for (const std::string& name : SortedEntries(fs::path(WEIR_SOURCE_DIR) / "tests/golden")) {
    if (!fs::exists(fs::path(WEIR_SOURCE_DIR) / "tests/golden" / name / "job.json")) continue;
    SCOPED_TRACE("tests/golden/" + name);
    GoldenJob(*world, name).Run();
    ++jobs;
  }
  EXPECT_GE(jobs, 5);
}

// What is shown under "Rows of other tables", word for word.
Json DocumentedDispatch() {
  std::string text = ReadText(std::string(WEIR_SOURCE_DIR) + "/docs/changefeeds.md");
  text.erase(0, text.find("## Rows of other tables"));
  std::string operators = "[";
  for (const std::string& line : LinesOf(text)) {
    if (line.starts_with("    ")) operators += line;
  }
  return Json::parse(operators + "]");
}

TEST(JobGoldenTest, B39_TheDocumentedDispatchMovesDropsAndSplits) {
  const auto world = kafka_test::NewRealWorld();
  JobFolder folder;
  const std::string topic = world->NewName("dispatch");
  ASSERT_EQ(world->CreateTopic(topic, 1).ToString(), "ok");
  const auto send = [&](const std::string& table, const char* key, const std::string& after) {
    const std::string value = R"({"topic":")" + table + R"(","after":)" + after + "}";
    world->Append(topic, 0, {{key, value}});
  };
  send("orders", "[1]", R"({"id":1})");
  send("orders", "[1]", "null");
  send("sessions", "[2]", R"({"id":2})");
  send("sessions", "[2]", "null");
  send("customers", "[3]", R"({"id":3,"name":"Ann","address":{"city":"Bonn","zip":1}})");
  send("customers", "[3]", "null");
  Json job = EmptyJob(folder, "dispatch");
  Json source = KafkaSource(*world, "feed", topic, "cockroachdb");
  source["metadata"] = {{"table", "t"}, {"key", "k"}};
  source["end"] = "latest";
  job["sources"].push_back(source);
  job["operators"] = DocumentedDispatch();
  Json sink = FileSink(folder, "out", "changes");
  sink["row-kind-column"] = "kind";
  job["sinks"].push_back(sink);
  const Ended ended = RunToEnd(folder, {"run", WriteJob(folder, job)});
  ASSERT_EQ(ended.code, kOk) << ended.output;
  const std::vector<std::string> expected = {R"({"k":[1],"t":"orders_archive","kind":"-D"})",
                                             R"({"t":"addresses","k":[3],"city":null,"kind":"-D"})",
                                             R"({"t":"addresses","k":[3],"customer":3,"city":"Bonn","kind":"+U"})",
                                             R"({"t":"customers","k":[3],"id":3,"name":"Ann","kind":"+U"})",
                                             R"({"t":"customers","k":[3],"kind":"-D"})",
                                             R"({"t":"orders","k":[1],"id":1,"kind":"+U"})",
                                             R"({"t":"sessions","k":[2],"id":2,"kind":"+U"})"};
  EXPECT_EQ(OutLines(folder), expected);
}

}  // namespace
}  // namespace weir::job_test
