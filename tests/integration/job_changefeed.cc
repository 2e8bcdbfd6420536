#include "tests/integration/job_changefeed.h"

#include <cstdlib>

#include "base/random.h"
#include "connectors/format/hlc.h"

namespace weir::job_test {

using operators::EventTime;

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

JobChangefeedTest::JobChangefeedTest(bool redelivers)
    : feed_({.seed = NewSystemRandom()->Next(),
             .prefix = world_->NewName("family") + ".Public.",
             .partitions = kPartitions,
             .redelivers = redelivers}) {
  for (const std::string& topic : {feed_.parent_topic(), feed_.child_topic()}) {
    EXPECT_EQ(world_->CreateTopic(topic, kPartitions).ToString(), "ok");
  }
}

void JobChangefeedTest::CreateTables(bool foreign_keys) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE parent (id bigint PRIMARY KEY, value bigint NOT NULL)").ok());
  const std::string reference = foreign_keys ? " REFERENCES parent (id)" : "";
  ASSERT_TRUE(postgres_
                  ->Run("CREATE TABLE child (id bigint PRIMARY KEY, parent bigint NOT NULL" + reference +
                        ", value bigint NOT NULL)")
                  .ok());
}

Json JobChangefeedTest::Job(const std::string& name) {
  Json job = EmptyJob(folder_, name);
  job["parallelism"] = 2;
  Json source = KafkaSource(*world_, "feed", feed_.parent_topic(), "cockroachdb");
  source["topics"] = {feed_.parent_topic(), feed_.child_topic()};
  source["metadata"] = {{"table", "t"}, {"key", "k"}};
  job["sources"].push_back(source);
  job["operators"].push_back({{"id", "by_key"}, {"type", "key_by"}, {"input", "feed"}, {"keys", {"t", "k"}}});
  return job;
}

Json JobChangefeedTest::Sink(const std::string& input) {
  return {{"id", "target"},      {"connector", "postgres"}, {"input", input}, {"connection", postgres_->conninfo()},
          {"table-column", "t"}, {"key-column", "k"}};
}

Json JobChangefeedTest::ConsistentJob() {
  Json job = Job("family");
  job["sources"][0]["frontier"] = {{"release-rows-max", 20}};
  job["operators"].push_back({{"id", "ordered"}, {"type", "sequence"}, {"input", "by_key"}});
  job["sinks"].push_back(Sink("ordered"));
  return job;
}

Json JobChangefeedTest::ImmediateJob() {
  Json job = Job("family");
  job["operators"].push_back({{"id", "newest"}, {"type", "deduplicate"}, {"input", "by_key"}});
  job["sinks"].push_back(Sink("newest"));
  return job;
}

void JobChangefeedTest::Send(const std::vector<FeedMessage>& messages) {
  std::map<std::pair<std::string, int32_t>, std::vector<kafka_test::TestRecord>> records;
  for (const FeedMessage& message : messages) {
    records[{message.topic, message.partition}].push_back({message.key, message.value});
  }
  for (const auto& [place, list] : records) world_->Append(place.first, place.second, list);
}

void JobChangefeedTest::Look() {
  const Lines rows = postgres_->Query(ParentChildTables("family"));
  if (rows.size() != 1 || rows[0].starts_with("null|") || rows[0].starts_with("ERROR")) return;
  const std::string frontier = rows[0].substr(0, rows[0].find('|'));
  const std::optional<EventTime> time = connectors::ParseHlc(frontier);
  ASSERT_TRUE(time.has_value()) << rows[0];
  ASSERT_GE(*time, frontier_) << "the frontier fell";
  frontier_ = *time;
  seen_.insert(frontier);
  const Family& family = replay_.AdvanceTo(*time);
  ASSERT_EQ(rows[0], frontier + "|" + family.ParentsText() + "|" + family.ChildrenText());
}

bool JobChangefeedTest::TargetIsLatest() {
  const Lines rows = postgres_->Query(ParentChildTables({}));
  return rows.size() == 1 &&
         rows[0].substr(rows[0].find('|') + 1) == feed_.latest().ParentsText() + "|" + feed_.latest().ChildrenText();
}

}  // namespace weir::job_test
