#include "tests/integration/job_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/check.h"

namespace weir::job_test {
namespace {

harness::ChildProcess StartProcess(const harness::ChildProcess::Options& options) {
  Result<harness::ChildProcess> started = harness::ChildProcess::Start(options);
  if (!started.has_value()) {
    std::cerr << started.error().ToString() << "\n";
    std::abort();
  }
  return std::move(*started);
}

std::string GivenOr(const char* variable, const char* path) {
  const char* given = std::getenv(variable);
  return given != nullptr && *given != '\0' ? given : path;
}

std::string NextOutputPath(const JobFolder& folder) {
  for (int number = 1;; ++number) {
    std::string path = folder.Path("process-" + std::to_string(number) + ".log");
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

int64_t WallMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void Pause(Duration duration) { std::this_thread::sleep_for(duration); }

bool Eventually(Duration limit, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    Pause(std::chrono::milliseconds(20));
  }
  return true;
}

JobFolder::JobFolder() : path_((std::filesystem::temp_directory_path() / "weir-job-XXXXXX").string()) {
  WEIR_CHECK(mkdtemp(path_.data()) != nullptr);
}

JobFolder::~JobFolder() {
  if (testing::Test::HasFailure()) {
    std::cerr << "kept for a look: " << path_ << "\n";
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string JobFolder::Write(const std::string& name, const std::string& content) const {
  std::string path = Path(name);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  return path;
}

void JobFolder::Append(const std::string& name, const std::string& content) const {
  const std::string path = Path(name);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::app) << content;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> FilesUnder(const std::string& path) {
  std::vector<std::string> files;
  std::error_code ignored;  // folders come and go while one looks
  std::filesystem::recursive_directory_iterator entry(path, ignored);
  for (; entry != std::filesystem::recursive_directory_iterator(); entry.increment(ignored)) {
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> PublishedLines(const std::string& folder) {
  std::vector<std::string> lines;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file() || entry.path().filename().string().starts_with(".")) continue;
    std::ranges::move(LinesOf(ReadText(entry.path().string())), std::back_inserter(lines));
  }
  return lines;
}

BrokenFolder::BrokenFolder(std::string path) : path_(std::move(path)) {
  std::filesystem::create_symlink(std::filesystem::path(path_).filename(), aside_);
  Exchange();
}

BrokenFolder::~BrokenFolder() {
  Exchange();
  std::filesystem::remove(aside_);
}

void BrokenFolder::Exchange() const {
  WEIR_CHECK(renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, aside_.c_str(), RENAME_EXCHANGE) == 0);
}

std::string WeirBinary() { return GivenOr("WEIR_BINARY", WEIR_BINARY); }
std::string ChaosBinary() { return GivenOr("WEIR_CHAOS_BINARY", WEIR_CHAOS_BINARY); }

Weir::Weir(const JobFolder& folder, Arguments arguments, const Environment& environment, const std::string& binary)
    : output_path_(NextOutputPath(folder)), process_([&] {
        arguments.insert(arguments.begin(), binary);
        std::ofstream(output_path_).flush();
        return StartProcess({std::move(arguments), environment, output_path_});
      }()) {}

void Weir::Kill9() {
  process_.Signal(SIGKILL);
  process_.Wait(std::chrono::seconds(10));
}

std::optional<int> Weir::Wait(Duration limit) {
  return process_.Wait(std::chrono::duration_cast<std::chrono::milliseconds>(limit));
}

std::optional<int> Weir::Stop() {
  Eventually(std::chrono::seconds(20), [this] { return Says("first start") || Says("goes on from") || !Running(); });
  Signal(SIGTERM);
  return Wait(std::chrono::seconds(20));
}

Ended RunToEnd(const JobFolder& folder, Arguments arguments, const Environment& environment, Duration limit) {
  Weir weir(folder, std::move(arguments), environment);
  const std::optional<int> code = weir.Wait(limit);
  return {code, weir.Output()};
}

TopicReader::TopicReader(kafka_test::KafkaWorld& world, const std::string& topic, int partitions) : world_(world) {
  std::vector<connectors::PartitionStart> starts;
  for (int32_t p = 0; p < partitions; ++p) {
    partitions_.push_back({topic, p});
    starts.push_back({{topic, p}, 0});
  }
  auto consumer = world.factory().NewConsumer(world.connection(), world.context());
  WEIR_CHECK(consumer.has_value());
  consumer_ = std::move(*consumer);
  EXPECT_EQ(consumer_->Assign(starts).ToString(), "ok");
}

const std::vector<TopicRecord>& TopicReader::Read() {
  const auto text = [](std::string_view bytes) {
    return bytes.data() == nullptr ? std::nullopt : std::optional<std::string>(bytes);
  };
  while (error_.ok()) {
    const auto block = consumer_->Fetch();
    if (!block.has_value()) {
      error_ = block.error();
      break;
    }
    if (*block == nullptr) break;
    for (const connectors::KafkaRecord& record : (*block)->records()) {
      records_.push_back({static_cast<int32_t>(record.partition), record.offset, record.timestamp_ms, text(record.key),
                          text(record.value)});
    }
  }
  return records_;
}

const std::vector<TopicRecord>& TopicReader::ReadToEnd() {
  const std::vector<int64_t> ends = world_.CommittedEnds(partitions_);
  const bool complete = world_.Until([&] {
    Read();
    for (uint32_t p = 0; p < ends.size(); ++p) {
      if (consumer_->Position(p) < ends[p]) return false;
    }
    return true;
  });
  EXPECT_TRUE(complete) << "topic " << partitions_.front().topic
                        << " could not be read to its end: " << error_.ToString();
  return records_;
}

std::vector<TopicRecord> ReadTopic(kafka_test::KafkaWorld& world, const std::string& topic, int partitions) {
  return TopicReader(world, topic, partitions).ReadToEnd();
}

}  // namespace weir::job_test
