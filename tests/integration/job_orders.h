// The main job and its oracle: a changefeed of orders on a topic of eight partitions, through filter, projection and an
// aggregate by customer, into a topic at least once, into another one exactly once, into files, and, where there is a
// PostgreSQL, into a table that is added to and one that is updated. What must come out is added up here from what was
// put in, by code that shares nothing with the job. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "connectors/generator/orders.h"
#include "tests/harness/postgres_server.h"
#include "tests/integration/job_process.h"

namespace weir::job_test {

class OrdersJob {
 public:
  static constexpr int kInputPartitions = 8;
  static constexpr int kOutputPartitions = 4;

  // Makes the topics, the tables if there is a server for them, and the definition, in `folder`.
  OrdersJob(kafka_test::KafkaWorld& world, const JobFolder& folder, uint64_t seed, uint64_t customers,
            harness::PostgresServer* postgres = nullptr);

  const std::string& definition() const { return definition_; }
  const std::string& input_topic() const { return input_topic_; }
  std::string output_folder() const { return folder_.Path("totals"); }
  std::string checkpoints() const { return folder_.Path("checkpoints/" + input_topic_); }

  // Appends the next orders to the topic, and a resolved message to each partition.
  void Feed(uint64_t rows);
  uint64_t fed() const { return fed_; }
  uint64_t kept() const { return kept_; }
  bool FilesComplete() const { return PublishedLines(output_folder()).size() >= kept_; }

  // Each (customer, count) is there once, and the totals rise by just the amounts of the customer's orders.
  void ExpectExactFiles() const;
  // The same of the topic that is written exactly once, and each customer's rows are in the order of its counts; for a
  // consumer that has run all along, and a fresh one.
  void ExpectExactTopic();
  bool ExactTopicComplete() { return exact_.Read().size() >= kept_; }
  // Needs the tables. The added rows are as the exact topic's, the updated one has the last of each customer.
  void ExpectExactTables() const;
  bool TablesComplete() const;
  // The last row of each customer is right, and its counts go up one by one, except that after a moment at which the
  // job was killed (`kills_ms`) they may start again from one that was there before.
  void ExpectTopicAtLeastOnce(const std::vector<int64_t>& kills_ms) const;

 private:
  struct Row;
  struct Total {
    std::vector<int64_t> cents;  // of each order that is kept, in the order of feeding
    int64_t sum = 0;
  };

  void ExpectExact(const std::vector<Row>& rows) const;

  kafka_test::KafkaWorld& world_;
  const JobFolder& folder_;
  harness::PostgresServer* const postgres_;  // null: no tables
  const connectors::OrdersOptions options_;
  const std::string input_topic_;
  const std::string output_topic_;
  const std::string exact_topic_;
  TopicReader exact_;  // runs all along
  std::string definition_;
  uint64_t fed_ = 0;
  uint64_t kept_ = 0;
  std::map<int64_t, Total> totals_;
};

// "431.07" -> 43107; aborts the test run for anything else than a decimal with at most two places.
int64_t CentsOf(const std::string& decimal);

}  // namespace weir::job_test
