// Whole jobs as people run them, for tests: the real binary as a process, a folder for what it needs, and what its
// sinks show in the end. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/connectors/kafka/kafka_world.h"
#include "tests/harness/child_process.h"

namespace weir::job_test {

using Environment = std::vector<std::pair<std::string, std::string>>;
using Arguments = std::vector<std::string>;

// Exit codes as the README promises them, not as the sources name them.
inline constexpr int kOk = 0;
inline constexpr int kJobFailed = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kStartRefused = 3;
inline constexpr int kGaveUp = 6;

// Milliseconds since 1970, the clock of Kafka's record timestamps.
int64_t WallMs();
void Pause(Duration duration);
// Asks every 20 ms; false if `done` did not hold within `limit`.
bool Eventually(Duration limit, const std::function<bool()>& done);

// A temporary folder of one test. Removed with it; kept and named if the test has failed.
class JobFolder {
 public:
  JobFolder();
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Replaces the file; its folder is made. Answers its path.
  std::string Write(const std::string& name, const std::string& content) const;
  void Append(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

std::string ReadText(const std::string& path);
// Paths of all files under `path`, sorted.
std::vector<std::string> FilesUnder(const std::string& path);
std::vector<std::string> LinesOf(const std::string& text);
// Lines of all parts that a file sink's folder shows; hidden names are left out.
std::vector<std::string> PublishedLines(const std::string& folder);

// While it lives, a link to itself stands in the place of a folder: what a job does there next fails, as on a broken
// disk. At one stroke, so that the job can't make a new folder in between.
class BrokenFolder {
 public:
  explicit BrokenFolder(std::string path);
  ~BrokenFolder();
  BrokenFolder(const BrokenFolder&) = delete;
  BrokenFolder& operator=(const BrokenFolder&) = delete;

 private:
  void Exchange() const;

  const std::string path_;
  const std::string aside_ = path_ + ".aside";
};

// The path of the binary under test: this build's, or the environment variable WEIR_BINARY (one with a sanitizer, say).
std::string WeirBinary();
// The same with call sites that fail (tests/harness/chaos); WEIR_CHAOS_BINARY.
std::string ChaosBinary();

// A running `weir`; killed with the object. Its output is kept apart for each process.
class Weir {
 public:
  // `weir <arguments>`.
  Weir(const JobFolder& folder, Arguments arguments, const Environment& environment = {},
       const std::string& binary = WeirBinary());

  pid_t pid() const { return process_.pid(); }
  bool Running() { return process_.Running(); }
  void Signal(int number) { process_.Signal(number); }
  // SIGSTOP, and waits until it stands still.
  void Freeze() { process_.Pause(); }
  void Kill9();
  // Exit code or minus the signal; nothing: it still runs.
  std::optional<int> Wait(Duration limit);
  // SIGTERM once the job has started, then Wait for 20 s.
  std::optional<int> Stop();
  // All it has said so far, both streams.
  std::string Output() const { return ReadText(output_path_); }
  bool Says(const std::string& text) const { return Output().find(text) != std::string::npos; }

 private:
  std::string output_path_;
  harness::ChildProcess process_;
};

struct Ended {
  std::optional<int> code;
  std::string output;
};
// Runs it to its end.
Ended RunToEnd(const JobFolder& folder, Arguments arguments, const Environment& environment = {},
               Duration limit = std::chrono::seconds(60));

struct TopicRecord {
  int32_t partition = 0;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  friend bool operator==(const TopicRecord&, const TopicRecord&) = default;
};
// A read_committed consumer of a topic, from its beginning; the client fetches all the time that it exists.
class TopicReader {
 public:
  TopicReader(kafka_test::KafkaWorld& world, const std::string& topic, int partitions);

  // All that it has seen up to now, the records of a partition in order.
  const std::vector<TopicRecord>& Read();
  // The same once it has come to the topic's present end. Fails the test if that is not to be had.
  const std::vector<TopicRecord>& ReadToEnd();

 private:
  kafka_test::KafkaWorld& world_;
  std::vector<connectors::TopicPartition> partitions_;
  std::unique_ptr<connectors::KafkaConsumer> consumer_;
  std::vector<TopicRecord> records_;
  Status error_;  // ended the reading
};
// Everything in the topic now, as a fresh reader sees it.
std::vector<TopicRecord> ReadTopic(kafka_test::KafkaWorld& world, const std::string& topic, int partitions);

}  // namespace weir::job_test
