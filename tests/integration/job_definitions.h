// Small definitions for tests of whole jobs, as JSON values to be changed and written into a folder. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "tests/integration/job_process.h"

namespace weir::job_test {

using Json = nlohmann::ordered_json;

// A job with a name, checkpoints each 100 ms in <folder>/checkpoints, without restarts, and no nodes yet.
Json EmptyJob(const JobFolder& folder, const std::string& name);
Json KafkaSource(kafka_test::KafkaWorld& world, const std::string& id, const std::string& topic,
                 const std::string& format);
Json FileSource(const JobFolder& folder, const std::string& id, const std::string& file_pattern, bool follow);
// Into <folder>/<id>.
Json FileSink(const JobFolder& folder, const std::string& id, const std::string& input);
Json KafkaSink(kafka_test::KafkaWorld& world, const std::string& id, const std::string& input, const std::string& topic,
               const Json& key);
// key_by "by_<key>" and aggregate `id` that counts.
void AddCount(Json& job, const std::string& id, const std::string& input, const std::string& key);
// A source "in" of the topic and a file sink "out" behind it.
Json CopyJob(kafka_test::KafkaWorld& world, const JobFolder& folder, const std::string& topic,
             const std::string& format = "json");
// Writes it and answers the path.
std::string WriteJob(const JobFolder& folder, const Json& job, const std::string& file = "job.json");

// Lines that the sink "out" shows, sorted.
std::vector<std::string> OutLines(const JobFolder& folder, const std::string& sink = "out");
// `parts` all stand in `text`.
void ExpectSays(const std::string& text, const std::vector<std::string>& parts);

}  // namespace weir::job_test
