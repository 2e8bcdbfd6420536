#include "tests/harness/kafka_broker.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/random.h"

namespace weir::harness {
namespace {

constexpr std::chrono::seconds kStartLimit{90};
constexpr std::chrono::milliseconds kAnswerPollInterval{50};
constexpr int kAdminTimeoutMs = 20'000;

using Handle = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;

// A client that only asks and administers.
Result<Handle> NewClient(const std::string& bootstrap) {
  std::array<char, 512> error{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap.c_str(), nullptr, 0);
  rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);
    return Error(Status::Internal(std::string("can't make a Kafka client: ") + error.data()));
  }
  return Handle(client, &rd_kafka_destroy);
}

std::string LibraryFolder() {
  const char* set = std::getenv("WEIR_KAFKA_LIB");
  return set != nullptr && *set != '\0' ? set : WEIR_KAFKA_LIB_DEFAULT;
}

std::string Java() {
  const char* home = std::getenv("JAVA_HOME");
  if (home != nullptr && std::filesystem::exists(std::string(home) + "/bin/java"))
    return std::string(home) + "/bin/java";
  return "java";
}

// A small heap and the first compiler alone: a test broker lives for seconds.
std::vector<std::string> JavaCommand(const std::string& library, int heap_mb) {
  return {Java(),
          "-Xmx" + std::to_string(heap_mb) + "m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-Xshare:auto",
          "-cp",
          library + "/*"};
}

Result<std::string> NewFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "weir-kafka-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return Error(Status::IoError("can't make a temporary folder " + path));
  return path;
}

// 128 bits in base64; the last of its 22 characters holds two of them.
std::string NewClusterId() {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const std::unique_ptr<Random> random = NewSystemRandom();
  std::string id;
  while (id.size() < 21) id.push_back(kLetters[random->Below(kLetters.size())]);
  return id + 'A';
}

// Sends one admin request and checks the answer for `topic`.
Status Administer(const std::string& bootstrap, const std::string& what,
                  const std::function<void(rd_kafka_t*, rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>& send,
                  const std::function<const rd_kafka_topic_result_t**(rd_kafka_event_t*, size_t*)>& results) {
  WEIR_ASSIGN_OR_RETURN(const Handle client, NewClient(bootstrap));
  const std::unique_ptr<rd_kafka_queue_t, decltype(&rd_kafka_queue_destroy)> queue(rd_kafka_queue_new(client.get()),
                                                                                   &rd_kafka_queue_destroy);
  const std::unique_ptr<rd_kafka_AdminOptions_t, decltype(&rd_kafka_AdminOptions_destroy)> options(
      rd_kafka_AdminOptions_new(client.get(), RD_KAFKA_ADMIN_OP_ANY), &rd_kafka_AdminOptions_destroy);
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), kAdminTimeoutMs, nullptr, 0);
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kAdminTimeoutMs, nullptr, 0);
  send(client.get(), options.get(), queue.get());
  const std::unique_ptr<rd_kafka_event_t, decltype(&rd_kafka_event_destroy)> event(
      rd_kafka_queue_poll(queue.get(), kAdminTimeoutMs + 5'000), &rd_kafka_event_destroy);
  if (event == nullptr) return Status::Unavailable(what + ": no answer");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Status::Unavailable(what + ": " + rd_kafka_event_error_string(event.get()));
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** answers = results(event.get(), &count);
  for (size_t i = 0; i < count; ++i) {
    if (rd_kafka_topic_result_error(answers[i]) == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const char* text = rd_kafka_topic_result_error_string(answers[i]);
    return Status::FailedPrecondition(what + ": " + (text != nullptr ? text : "refused"));
  }
  return Status::Ok();
}

}  // namespace

KafkaBroker::KafkaBroker(std::string library, std::string folder, int port, int controller_port)
    : library_(std::move(library)), folder_(std::move(folder)), port_(port), controller_port_(controller_port) {}

KafkaBroker::~KafkaBroker() {
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string KafkaBroker::bootstrap() const { return "127.0.0.1:" + std::to_string(port_); }

std::string KafkaBroker::bootstrap(const std::string& listener) const {
  return "127.0.0.1:" + std::to_string(listener_ports_.at(listener));
}

Result<std::unique_ptr<KafkaBroker>> KafkaBroker::Start(std::vector<std::pair<std::string, std::string>> properties,
                                                        const std::vector<KafkaListener>& listeners) {
  const std::string library = LibraryFolder();
  std::error_code ignored;
  if (std::filesystem::is_empty(library, ignored) || ignored) {
    return Error(
        Status::NotFound("no jars of Apache Kafka in " + library +
                         ": `make test` copies them there, or set WEIR_KAFKA_LIB to the folder that has them"));
  }
  WEIR_ASSIGN_OR_RETURN(const int port, FreePort());
  WEIR_ASSIGN_OR_RETURN(const int controller_port, FreePort());
  WEIR_ASSIGN_OR_RETURN(std::string folder, NewFolder());
  std::unique_ptr<KafkaBroker> broker(new KafkaBroker(library, std::move(folder), port, controller_port));
  WEIR_RETURN_IF_ERROR(broker->Format(properties, listeners));
  WEIR_RETURN_IF_ERROR(broker->Restart());
  return broker;
}

Status KafkaBroker::Format(const std::vector<std::pair<std::string, std::string>>& properties,
                           const std::vector<KafkaListener>& listeners) {
  std::string more;
  std::string protocols;
  for (const KafkaListener& listener : listeners) {
    WEIR_ASSIGN_OR_RETURN(listener_ports_[listener.name], FreePort());
    more += "," + listener.name + "://" + bootstrap(listener.name);
    protocols += "," + listener.name + ":" + listener.protocol;
  }
  const std::string configuration = folder_ + "/server.properties";
  {
    std::ofstream out(configuration);
    const std::string controller = "127.0.0.1:" + std::to_string(controller_port_);
    out << "process.roles=broker,controller\nnode.id=1\n"
        << "controller.quorum.voters=1@" << controller << "\n"
        << "listeners=PLAINTEXT://" << bootstrap() << ",CONTROLLER://" << controller << more << "\n"
        << "advertised.listeners=PLAINTEXT://" << bootstrap() << more << "\n"
        << "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT" << protocols << "\n"
        << "controller.listener.names=CONTROLLER\ninter.broker.listener.name=PLAINTEXT\n"
        << "log.dirs=" << folder_ << "/data\n"
        << "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=4\n"
        << "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
        << "transaction.state.log.num.partitions=4\n"
        // Looks after transactions whose time is over.
        << "transaction.abort.timed.out.transaction.cleanup.interval.ms=200\n"
        << "share.coordinator.state.topic.replication.factor=1\nshare.coordinator.state.topic.min.isr=1\n"
        << "share.coordinator.state.topic.num.partitions=1\n"
        << "group.initial.rebalance.delay.ms=0\ngroup.min.session.timeout.ms=1000\nauto.create.topics.enable=false\n"
        << "num.network.threads=2\nnum.io.threads=4\nlog.cleaner.dedupe.buffer.size=16777216\n"
        // A killed broker can register again only when its old session has expired.
        << "broker.session.timeout.ms=1500\nbroker.heartbeat.interval.ms=300\n"
        << "controlled.shutdown.enable=true\n";
    for (const auto& [name, value] : properties) out << name << "=" << value << "\n";
  }
  return RunTool({"kafka.tools.StorageTool", "format", "-t", NewClusterId(), "-c", configuration});
}

Status KafkaBroker::RunTool(const std::vector<std::string>& arguments) {
  ChildProcess::Options options;
  options.arguments = JavaCommand(library_, 256);
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.output_path = folder_ + "/server.log";
  WEIR_ASSIGN_OR_RETURN(ChildProcess tool, ChildProcess::Start(options));
  if (tool.Wait(kStartLimit) == 0) return Status::Ok();
  return Status::Internal(arguments.front() + " failed:\n" + LastOutput());
}

Status KafkaBroker::Restart() {
  if (process_.has_value() && process_->Running()) return Status::FailedPrecondition("the broker runs already");
  WEIR_RETURN_IF_ERROR(Launch());
  return AwaitAnswer();
}

Status KafkaBroker::Launch() {
  ChildProcess::Options options;
  options.arguments = JavaCommand(library_, 512);
  options.arguments.insert(options.arguments.end(), {"kafka.Kafka", folder_ + "/server.properties"});
  options.output_path = folder_ + "/server.log";
  WEIR_ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Start(options));
  process_.reset();
  process_.emplace(std::move(process));
  return Status::Ok();
}

Status KafkaBroker::AwaitAnswer() {
  WEIR_ASSIGN_OR_RETURN(const Handle client, NewClient(bootstrap()));
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    if (!process_->Running()) return Status::Internal("the broker has ended:\n" + LastOutput());
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client.get(), 0, nullptr, &metadata, 500) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const bool has_broker = metadata->broker_cnt > 0;
      rd_kafka_metadata_destroy(metadata);
      if (has_broker) return Status::Ok();
    }
    std::this_thread::sleep_for(kAnswerPollInterval);
  }
  return Status::Unavailable("the broker did not answer in time:\n" + LastOutput());
}

std::string KafkaBroker::LastOutput() const {
  constexpr size_t kLimit = 4'000;
  std::ifstream in(folder_ + "/server.log");
  std::stringstream text;
  text << in.rdbuf();
  std::string all = text.str();
  return all.size() <= kLimit ? all : all.substr(all.size() - kLimit);
}

Status KafkaBroker::Stop() {
  if (!process_.has_value()) return Status::Ok();
  process_->Signal(SIGTERM);
  if (process_->Wait(std::chrono::seconds(30)).has_value()) return Status::Ok();
  Kill9();
  return Status::Internal("the broker did not shut down and was killed:\n" + LastOutput());
}

void KafkaBroker::Kill9() {
  if (!process_.has_value()) return;
  process_->Signal(SIGKILL);
  process_->Wait(std::chrono::seconds(10));
}

void KafkaBroker::Pause() {
  if (process_.has_value()) process_->Pause();
}

void KafkaBroker::Resume() {
  if (process_.has_value()) process_->Signal(SIGCONT);
}

Status KafkaBroker::CreateTopic(const std::string& name, int partitions, const TopicOptions& options) {
  std::array<char, 512> error{};
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, error.data(), error.size());
  if (topic == nullptr) return Status::InvalidArgument("topic " + name + ": " + error.data());
  for (const auto& [key, value] : options) rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str());
  const Status status = Administer(
      bootstrap(), "creating topic " + name,
      [&](rd_kafka_t* client, rd_kafka_AdminOptions_t* admin, rd_kafka_queue_t* queue) {
        rd_kafka_CreateTopics(client, &topic, 1, admin, queue);
      },
      [](rd_kafka_event_t* event, size_t* count) {
        return rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), count);
      });
  rd_kafka_NewTopic_destroy(topic);
  WEIR_RETURN_IF_ERROR(status);
  return AwaitTopic(name, partitions);
}

// The controller has it before the broker tells clients of it.
Status KafkaBroker::AwaitTopic(const std::string& name, int partitions) {
  WEIR_ASSIGN_OR_RETURN(const Handle client, NewClient(bootstrap()));
  const std::unique_ptr<rd_kafka_topic_t, decltype(&rd_kafka_topic_destroy)> topic(
      rd_kafka_topic_new(client.get(), name.c_str(), nullptr), &rd_kafka_topic_destroy);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kAdminTimeoutMs);
  while (std::chrono::steady_clock::now() < deadline) {
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client.get(), 0, topic.get(), &metadata, kAdminTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const rd_kafka_metadata_topic& found = metadata->topics[0];
      bool led =
          metadata->topic_cnt == 1 && found.err == RD_KAFKA_RESP_ERR_NO_ERROR && found.partition_cnt == partitions;
      for (int i = 0; led && i < found.partition_cnt; ++i) led = found.partitions[i].leader >= 0;
      rd_kafka_metadata_destroy(metadata);
      if (led) return Status::Ok();
    }
    std::this_thread::sleep_for(kAnswerPollInterval);
  }
  return Status::Unavailable("topic " + name + " was made, and the broker does not tell of it");
}

Status KafkaBroker::DeleteTopic(const std::string& name) {
  rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(name.c_str());
  const Status status = Administer(
      bootstrap(), "deleting topic " + name,
      [&](rd_kafka_t* client, rd_kafka_AdminOptions_t* admin, rd_kafka_queue_t* queue) {
        rd_kafka_DeleteTopics(client, &topic, 1, admin, queue);
      },
      [](rd_kafka_event_t* event, size_t* count) {
        return rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), count);
      });
  rd_kafka_DeleteTopic_destroy(topic);
  return status;
}

namespace {

std::unique_ptr<KafkaBroker>& TheBroker() {
  static std::unique_ptr<KafkaBroker> broker;
  return broker;
}

// Stops the broker before the program's statics go.
class KafkaEnvironment final : public testing::Environment {
 public:
  void TearDown() override { TheBroker().reset(); }
};

}  // namespace

KafkaBroker& SharedKafkaBroker() {
  std::unique_ptr<KafkaBroker>& broker = TheBroker();
  if (broker == nullptr) {
    Result<std::unique_ptr<KafkaBroker>> started = KafkaBroker::Start();
    if (!started.has_value()) {
      std::fprintf(stderr, "no Kafka broker for the tests: %s\n", started.error().ToString().c_str());
      std::abort();
    }
    broker = std::move(*started);
    testing::AddGlobalTestEnvironment(new KafkaEnvironment);
  }
  return *broker;
}

}  // namespace weir::harness
