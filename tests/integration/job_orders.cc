#include "tests/integration/job_orders.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "base/check.h"

namespace weir::job_test {

// Row of a sink.
struct OrdersJob::Row {
  int64_t customer = 0;
  uint64_t orders = 0;
  int64_t total_cents = 0;
  int64_t largest_cents = 0;
};

namespace {

using nlohmann::ordered_json;

std::string Member(const std::string& line, const std::string& name) {
  const std::string label = "\"" + name + "\":";
  const size_t begin = line.find(label);
  if (begin == std::string::npos) return {};
  const size_t end = line.find_first_of(",}", begin);
  return line.substr(begin + label.size(), end - begin - label.size());
}

template <class Row>
Row RowOf(const std::string& line) {
  return {std::stoll(Member(line, "customer")), std::stoull(Member(line, "orders")), CentsOf(Member(line, "total")),
          CentsOf(Member(line, "largest"))};
}

ordered_json Definition(const std::string& servers, const std::string& input, const std::string& output,
                        const std::string& exact, const JobFolder& folder) {
  ordered_json job;
  job["name"] = input;  // a cluster knows a job by its name, and the broker is shared
  job["parallelism"] = 1;
  job["checkpoint"] = {{"storage", folder.Path("checkpoints")}, {"interval", "200ms"}};
  job["sources"] = {{{"id", "orders"},
                     {"connector", "kafka"},
                     {"bootstrap-servers", servers},
                     {"topics", input},
                     {"format", "cockroachdb"},
                     {"key-columns", {"id"}},
                     {"group", input + "-group"}}};
  job["operators"] = {{{"id", "kept"}, {"type", "filter"}, {"input", "orders"}, {"where", "status <> 'returned'"}},
                      {{"id", "shaped"},
                       {"type", "project"},
                       {"input", "kept"},
                       {"columns", {{"customer", "customer_id"}, {"amount", "CAST(amount AS numeric(20, 2))"}}}},
                      {{"id", "by_customer"}, {"type", "key_by"}, {"input", "shaped"}, {"keys", {"customer"}}},
                      {{"id", "totals"},
                       {"type", "aggregate"},
                       {"input", "by_customer"},
                       {"emit", "per-row"},
                       {"aggregates",
                        {{"orders", {{"function", "count"}}},
                         {"total", {{"function", "sum"}, {"column", "amount"}}},
                         {"largest", {{"function", "max"}, {"column", "amount"}}}}}}};
  job["sinks"] = {
      {{"id", "totals_topic"},
       {"connector", "kafka"},
       {"input", "totals"},
       {"bootstrap-servers", servers},
       {"topic", output},
       {"key", {"customer"}}},
      {{"id", "totals_exact"},
       {"connector", "kafka"},
       {"input", "totals"},
       {"delivery", "exactly-once"},
       {"bootstrap-servers", servers},
       {"topic", exact},
       {"key", {"customer"}}},
      {{"id", "totals_files"}, {"connector", "file"}, {"input", "totals"}, {"path", folder.Path("totals")}}};
  return job;
}

// Two of one database, which share a committer.
void AddTables(harness::PostgresServer& postgres, ordered_json& job) {
  const std::string columns = "customer bigint NOT NULL, orders bigint, total numeric(20, 2), largest numeric(20, 2)";
  EXPECT_EQ(postgres
                .Run("CREATE TABLE totals_added (seq bigserial, " + columns + "); CREATE TABLE totals_kept (" +
                     columns + ", PRIMARY KEY (customer))")
                .ToString(),
            "ok");
  job["sinks"].push_back({{"id", "totals_added"},
                          {"connector", "postgres"},
                          {"input", "totals"},
                          {"connection", postgres.conninfo()},
                          {"table", "totals_added"},
                          {"mode", "append"}});
  job["sinks"].push_back({{"id", "totals_kept"},
                          {"connector", "postgres"},
                          {"input", "totals"},
                          {"connection", postgres.conninfo()},
                          {"table", "totals_kept"}});
}

std::string NewTopic(kafka_test::KafkaWorld& world, const std::string& stem, int partitions) {
  std::string name = world.NewName(stem);
  EXPECT_EQ(world.CreateTopic(name, partitions).ToString(), "ok");
  return name;
}

bool InOneOf(const std::vector<int64_t>& kills_ms, int64_t from_ms, int64_t to_ms) {
  return std::ranges::any_of(kills_ms, [&](int64_t kill) { return from_ms <= kill && kill <= to_ms; });
}

}  // namespace

int64_t CentsOf(const std::string& decimal) {
  static const std::regex pattern(R"((-?)(\d+)(?:\.(\d{1,2}))?)");
  std::smatch match;
  WEIR_CHECK(std::regex_match(decimal, match, pattern));
  std::string fraction = match[3];
  fraction.resize(2, '0');
  const int64_t cents = std::stoll(match[2]) * 100 + std::stoll(fraction);
  return match[1].length() > 0 ? -cents : cents;
}

OrdersJob::OrdersJob(kafka_test::KafkaWorld& world, const JobFolder& folder, uint64_t seed, uint64_t customers,
                     harness::PostgresServer* postgres)
    : world_(world),
      folder_(folder),
      postgres_(postgres),
      options_{.seed = seed, .splits = kInputPartitions, .customers = customers},
      input_topic_(NewTopic(world, "orders", kInputPartitions)),
      output_topic_(NewTopic(world, "totals", kOutputPartitions)),
      exact_topic_(NewTopic(world, "exact", kOutputPartitions)),
      exact_(world, exact_topic_, kOutputPartitions) {
  const std::string servers = world.connection().bootstrap_servers;
  ordered_json definition = Definition(servers, input_topic_, output_topic_, exact_topic_, folder);
  if (postgres_ != nullptr) AddTables(*postgres_, definition);
  definition_ = folder.Write("orders.json", definition.dump(2));
}

void OrdersJob::Feed(uint64_t rows) {
  std::vector<std::vector<kafka_test::TestRecord>> records(kInputPartitions);
  for (const uint64_t end = fed_ + rows; fed_ < end; ++fed_) {
    const auto split = static_cast<uint32_t>(fed_ % kInputPartitions);
    const connectors::Order order = OrderAt(options_, split, fed_ / kInputPartitions);
    std::string key;
    std::string value;
    AppendOrderKey(order, key);
    AppendOrderMessage(order, value);
    records[split].push_back({.key = std::move(key), .value = std::move(value)});
    if (order.status == "returned") continue;
    ++kept_;
    Total& total = totals_[order.customer_id];
    total.cents.push_back(order.amount_cents);
    total.sum += order.amount_cents;
  }
  for (uint32_t split = 0; split < records.size(); ++split) {
    const uint64_t next = fed_ / kInputPartitions;
    std::string resolved;
    connectors::AppendResolvedMessage(OrderAt(options_, split, next == 0 ? 0 : next - 1).updated, resolved);
    records[split].push_back({.value = std::move(resolved)});
    world_.Append(input_topic_, static_cast<int32_t>(split), records[split]);
  }
  exact_.Read();  // so that its client never has to stop for want of room
}

void OrdersJob::ExpectExactFiles() const {
  std::vector<Row> rows;
  for (const std::string& line : PublishedLines(output_folder())) rows.push_back(RowOf<Row>(line));
  ExpectExact(rows);
}

void OrdersJob::ExpectExactTopic() {
  const auto by_partition = [](std::vector<TopicRecord> records) {
    std::ranges::stable_sort(records, {}, &TopicRecord::partition);
    return records;
  };
  const std::vector<TopicRecord> records = by_partition(exact_.ReadToEnd());
  EXPECT_TRUE(records == by_partition(ReadTopic(world_, exact_topic_, kOutputPartitions)))
      << "a fresh consumer sees other records than the one that has run all along";
  std::vector<Row> rows;
  std::map<int64_t, uint64_t> newest;
  for (const TopicRecord& record : records) {
    ASSERT_TRUE(record.value.has_value() && record.key.has_value());
    const Row row = RowOf<Row>(*record.value);
    EXPECT_EQ(*record.key, "[" + std::to_string(row.customer) + "]");
    EXPECT_EQ(row.orders, newest[row.customer] + 1)
        << "customer " << row.customer << ", partition " << record.partition << ", offset " << record.offset;
    newest[row.customer] = row.orders;
    rows.push_back(row);
  }
  ExpectExact(rows);
}

bool OrdersJob::TablesComplete() const {
  const auto count = postgres_->Query("SELECT count(*), (SELECT sum(orders) FROM totals_kept) FROM totals_added");
  const std::string kept = std::to_string(kept_);
  return count.front() == kept + "|" + kept;
}

void OrdersJob::ExpectExactTables() const {
  const auto row_of = [](const std::string& line) {
    static const std::regex pattern(R"((\d+)\|(\d+)\|([^|]+)\|([^|]+))");
    std::smatch match;
    WEIR_CHECK(std::regex_match(line, match, pattern));
    return Row{std::stoll(match[1]), std::stoull(match[2]), CentsOf(match[3]), CentsOf(match[4])};
  };
  std::vector<Row> rows;
  std::map<int64_t, Row> newest;
  for (const std::string& line :
       postgres_->Query("SELECT customer, orders, total, largest FROM totals_added ORDER BY seq")) {
    const Row row = row_of(line);
    EXPECT_EQ(row.orders, newest[row.customer].orders + 1) << "customer " << row.customer;
    newest[row.customer] = row;
    rows.push_back(row);
  }
  ExpectExact(rows);
  const std::vector<std::string> kept = postgres_->Query("SELECT customer, orders, total, largest FROM totals_kept");
  EXPECT_EQ(kept.size(), totals_.size());
  for (const std::string& line : kept) {
    const Row row = row_of(line);
    const Row& last = newest[row.customer];
    EXPECT_TRUE(row.orders == last.orders && row.total_cents == last.total_cents &&
                row.largest_cents == last.largest_cents)
        << "customer " << row.customer << " is " << line;
  }
}

void OrdersJob::ExpectExact(const std::vector<Row>& rows_found) const {
  std::map<int64_t, std::map<uint64_t, Row>> found;
  EXPECT_EQ(rows_found.size(), kept_);
  for (const Row& row : rows_found) {
    EXPECT_TRUE(found[row.customer].emplace(row.orders, row).second)
        << "twice: customer " << row.customer << ", order " << row.orders;
  }
  EXPECT_EQ(found.size(), totals_.size());
  for (const auto& [customer, expected] : totals_) {
    const auto& rows = found[customer];
    ASSERT_EQ(rows.size(), expected.cents.size()) << "customer " << customer;
    EXPECT_EQ(rows.begin()->first, 1U) << "customer " << customer;
    EXPECT_EQ(rows.rbegin()->first, expected.cents.size()) << "customer " << customer;
    EXPECT_EQ(rows.rbegin()->second.total_cents, expected.sum) << "customer " << customer;
    std::vector<int64_t> steps;
    int64_t before = 0;
    int64_t largest = INT64_MIN;
    for (const auto& [orders, row] : rows) {
      steps.push_back(row.total_cents - before);
      before = row.total_cents;
      largest = std::max(largest, steps.back());
      EXPECT_EQ(row.largest_cents, largest) << "customer " << customer << ", order " << orders;
    }
    std::vector<int64_t> amounts = expected.cents;
    std::ranges::sort(amounts);
    std::ranges::sort(steps);
    EXPECT_EQ(steps, amounts) << "customer " << customer;
  }
}

void OrdersJob::ExpectTopicAtLeastOnce(const std::vector<int64_t>& kills_ms) const {
  struct Last {
    Row row;
    int64_t timestamp_ms = 0;
    int32_t partition = 0;
  };
  std::map<int64_t, Last> last;
  for (const TopicRecord& record : ReadTopic(world_, output_topic_, kOutputPartitions)) {
    ASSERT_TRUE(record.value.has_value() && record.key.has_value());
    const Row row = RowOf<Row>(*record.value);
    EXPECT_EQ(*record.key, "[" + std::to_string(row.customer) + "]");
    const auto [it, first] = last.try_emplace(row.customer, Last{row, record.timestamp_ms, record.partition});
    if (first) {
      EXPECT_EQ(row.orders, 1U) << "the first row of customer " << row.customer;
      continue;
    }
    Last& before = it->second;
    EXPECT_EQ(record.partition, before.partition) << "customer " << row.customer << " is in two partitions";
    const bool goes_on = row.orders == before.row.orders + 1;
    const bool again = row.orders >= 1 && row.orders <= before.row.orders &&
                       InOneOf(kills_ms, before.timestamp_ms, record.timestamp_ms);
    EXPECT_TRUE(goes_on || again) << "customer " << row.customer << ": " << row.orders << " behind "
                                  << before.row.orders << ", partition " << record.partition << ", offset "
                                  << record.offset;
    before = {row, record.timestamp_ms, record.partition};
  }
  EXPECT_EQ(last.size(), totals_.size());
  for (const auto& [customer, expected] : totals_) {
    EXPECT_EQ(last[customer].row.orders, expected.cents.size()) << "customer " << customer;
    EXPECT_EQ(last[customer].row.total_cents, expected.sum) << "customer " << customer;
    EXPECT_EQ(last[customer].row.largest_cents, std::ranges::max(expected.cents)) << "customer " << customer;
  }
}

}  // namespace weir::job_test
