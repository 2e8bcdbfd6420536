// A real Apache Kafka, one KRaft node on loopback, for tests. Its jars are copied by `make test` to build/kafka/lib
// (or lie where the environment variable WEIR_KAFKA_LIB says); without them Start fails and says so.
//
//   One broker a test program:           fresh names a test:
//     TEST(X, Y) {                         KafkaBroker& kafka = SharedKafkaBroker();
//                                          ASSERT_TRUE(kafka.CreateTopic("x-y-input", 3).ok());
//
// Such a program is registered with weir_add_test(... WHOLE), so that its cases share one process. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tests/harness/child_process.h"

namespace weir::harness {

// One more way in, beside the plain one: its name and its security protocol (SSL, SASL_SSL, SASL_PLAINTEXT).
struct KafkaListener {
  std::string name;  // in capitals; properties of its own begin with listener.name.<name in small letters>.
  std::string protocol;
};

class KafkaBroker {
 public:
  // Formats a temporary folder, starts a broker in it, waits until it answers (about 4 s). `properties` are added to
  // those that make one node work.
  static Result<std::unique_ptr<KafkaBroker>> Start(std::vector<std::pair<std::string, std::string>> properties = {},
                                                    const std::vector<KafkaListener>& listeners = {});
  // Kills it and removes the folder.
  ~KafkaBroker();

  // "127.0.0.1:<port>", the same for the whole life.
  std::string bootstrap() const;
  // The same through one of the listeners.
  std::string bootstrap(const std::string& listener) const;
  // Runs a program of the broker's jars, e.g. kafka.admin.ConfigCommand, and waits for its end.
  Status RunTool(const std::vector<std::string>& arguments);
  const std::string& folder() const { return folder_; }

  // Asks it to shut down and waits.
  Status Stop();
  // Takes its life at once.
  void Kill9();
  // Freezes it, and lets it go on: connections stay open and nobody answers.
  void Pause();
  void Resume();
  // Starts it again on the same folder and port, after Stop or Kill9, and waits until it answers.
  Status Restart();

  using TopicOptions = std::vector<std::pair<std::string, std::string>>;  // {"cleanup.policy", "compact"}
  // Comes back when the topic's partitions have a leader.
  Status CreateTopic(const std::string& name, int partitions, const TopicOptions& options = {});
  Status DeleteTopic(const std::string& name);

 private:
  KafkaBroker(std::string library, std::string folder, int port, int controller_port);
  Status Format(const std::vector<std::pair<std::string, std::string>>& properties,
                const std::vector<KafkaListener>& listeners);
  Status Launch();
  Status AwaitAnswer();
  Status AwaitTopic(const std::string& name, int partitions);
  // The end of what the broker said, for messages.
  std::string LastOutput() const;

  const std::string library_;
  const std::string folder_;
  const int port_;
  const int controller_port_;
  std::map<std::string, int> listener_ports_;  // set by Format
  std::optional<ChildProcess> process_;
};

// The program's one broker, started at its first use and stopped when the program ends. Aborts the program with a
// message if it can't be started.
KafkaBroker& SharedKafkaBroker();

}  // namespace weir::harness
