// A changefeed of two tables into PostgreSQL, by the parent/child workload: 5 partitions of 2 topics, rows of one
// source transaction in several of them. A reader takes the marker's frontier and both tables in one snapshot, which
// must be the source as of that time. One thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/postgres_server.h"
#include "tests/integration/job_definitions.h"
#include "tests/integration/parent_child.h"

namespace weir::job_test {

using Lines = std::vector<std::string>;

// WEIR_TORTURE is set: runs are longer.
bool Torture();

class JobChangefeedTest : public testing::Test {
 protected:
  static constexpr int kPartitions = 5;

  explicit JobChangefeedTest(bool redelivers = true);

  void CreateTables(bool foreign_keys);

  // Source "feed" with its rows by key as "by_key".
  Json Job(const std::string& name);
  Json Sink(const std::string& input);
  // "family", whose frontier the reader looks at.
  Json ConsistentJob();
  Json ImmediateJob();

  void Send(const std::vector<FeedMessage>& messages);

  // What the target shows in one snapshot, and whether that is the source as of its frontier.
  void Look();
  bool TargetIsLatest();

  const std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
  JobFolder folder_;
  ParentChild feed_;
  ParentChild::Replay replay_{feed_};
  operators::EventTime frontier_ = operators::EventTime::Min();
  std::set<std::string> seen_;  // frontiers
};

}  // namespace weir::job_test
