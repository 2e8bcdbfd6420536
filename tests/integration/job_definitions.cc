#include "tests/integration/job_definitions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::job_test {

Json EmptyJob(const JobFolder& folder, const std::string& name) {
  Json job;
  job["name"] = name;
  job["parallelism"] = 1;
  job["checkpoint"] = {{"storage", folder.Path("checkpoints")}, {"interval", "100ms"}};
  job["restart"] = {{"strategy", "none"}};  // a test looks at the first failure
  job["sources"] = Json::array();
  job["operators"] = Json::array();
  job["sinks"] = Json::array();
  return job;
}

Json KafkaSource(kafka_test::KafkaWorld& world, const std::string& id, const std::string& topic,
                 const std::string& format) {
  return {{"id", id},
          {"connector", "kafka"},
          {"bootstrap-servers", world.connection().bootstrap_servers},
          {"topics", topic},
          {"format", format}};
}

Json FileSource(const JobFolder& folder, const std::string& id, const std::string& file_pattern, bool follow) {
  return {{"id", id},         {"connector", "file"},           {"path", folder.Path(file_pattern)},
          {"follow", follow}, {"discovery-interval", "100ms"}, {"format", "json"}};
}

Json FileSink(const JobFolder& folder, const std::string& id, const std::string& input) {
  return {{"id", id}, {"connector", "file"}, {"input", input}, {"path", folder.Path(id)}};
}

Json KafkaSink(kafka_test::KafkaWorld& world, const std::string& id, const std::string& input, const std::string& topic,
               const Json& key) {
  return {{"id", id},       {"connector", "kafka"},
          {"input", input}, {"bootstrap-servers", world.connection().bootstrap_servers},
          {"topic", topic}, {"key", key}};
}

void AddCount(Json& job, const std::string& id, const std::string& input, const std::string& key) {
  job["operators"].push_back({{"id", "by_" + key}, {"type", "key_by"}, {"input", input}, {"keys", Json::array({key})}});
  job["operators"].push_back(
      {{"id", id}, {"type", "aggregate"}, {"input", "by_" + key}, {"aggregates", {{"n", {{"function", "count"}}}}}});
}

Json CopyJob(kafka_test::KafkaWorld& world, const JobFolder& folder, const std::string& topic,
             const std::string& format) {
  Json job = EmptyJob(folder, "copy");
  job["sources"].push_back(KafkaSource(world, "in", topic, format));
  job["sinks"].push_back(FileSink(folder, "out", "in"));
  return job;
}

std::string WriteJob(const JobFolder& folder, const Json& job, const std::string& file) {
  return folder.Write(file, job.dump(2));
}

std::vector<std::string> OutLines(const JobFolder& folder, const std::string& sink) {
  std::vector<std::string> lines = PublishedLines(folder.Path(sink));
  std::ranges::sort(lines);
  return lines;
}

void ExpectSays(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in:\n" << text;
  }
}

}  // namespace weir::job_test
