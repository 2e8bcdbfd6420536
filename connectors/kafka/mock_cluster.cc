#include "connectors/kafka/mock_cluster.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>

namespace weir::connectors {
namespace {

class RdKafkaMockCluster final : public MockCluster {
 public:
  RdKafkaMockCluster(rd_kafka_t* host, rd_kafka_mock_cluster_t* cluster) : host_(host), cluster_(cluster) {}
  ~RdKafkaMockCluster() override {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(host_);
  }
  RdKafkaMockCluster(const RdKafkaMockCluster&) = delete;
  RdKafkaMockCluster& operator=(const RdKafkaMockCluster&) = delete;

  std::string bootstrap_servers() const override { return rd_kafka_mock_cluster_bootstraps(cluster_); }

  Status CreateTopic(const std::string& topic, int partitions) override {
    const rd_kafka_resp_err_t error = rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    if (error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) return Status::AlreadyExists("topic " + topic + " exists");
    return Status::Internal("topic " + topic + ": " + rd_kafka_err2str(error));
  }

 private:
  rd_kafka_t* host_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace

Result<std::unique_ptr<MockCluster>> MockCluster::Start(int brokers) {
  std::array<char, 512> reason{};
  // The mock lives in a client; this one does nothing else, and need not say that it has no servers.
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "log_level", "4", nullptr, 0);
  rd_kafka_t* host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason.data(), reason.size());
  if (host == nullptr) rd_kafka_conf_destroy(conf);
  if (host == nullptr) return Error(Status::Internal(std::string("mock cluster: ") + reason.data()));
  rd_kafka_mock_cluster_t* cluster = rd_kafka_mock_cluster_new(host, brokers);
  if (cluster == nullptr) {
    rd_kafka_destroy(host);
    return Error(Status::Internal("mock cluster: librdkafka could not start it"));
  }
  return std::make_unique<RdKafkaMockCluster>(host, cluster);
}

}  // namespace weir::connectors
