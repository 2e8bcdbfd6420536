// A postgres sink as the runtime drives it, by hand, on a real server: writers whose workers run when asked,
// committers, checkpoints. One thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "connectors/postgres/client.h"
#include "operators/raw_value.h"
#include "operators/registry.h"
#include "tests/harness/postgres_server.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"
#include "tests/simulation/sim_postgres.h"

namespace weir::postgres_test {

using Definition = std::vector<std::pair<std::string, operators::RawValue>>;
operators::RawValue Text(std::string text);
operators::RawValue List(const std::vector<std::string>& texts);
operators::RawValue Object(Definition members);
// One line a problem.
std::vector<std::string> ProblemsOf(const Definition& definition, operators::Options* options = nullptr);

// "+I" and a value for each column; text of values lives as long as the program's literals.
struct TestRow {
  operators::RowKind kind = operators::RowKind::kInsert;
  std::vector<operators::Value> values;
  operators::EventTime time = {};
};
inline operators::Value Int(int64_t number) { return operators::Value::Int64(number); }
inline operators::Value String(std::string_view text) {
  return operators::Value::Text(operators::ValueType::kString, text);
}
inline operators::Value Number(std::string_view text) {
  return operators::Value::Text(operators::ValueType::kDecimal, text);
}

// A PostgreSQL, with the disk and the workers of the process that uses it.
class PostgresWorld {
 public:
  PostgresWorld();
  virtual ~PostgresWorld();

  virtual connectors::PostgresClientFactory& factory() = 0;
  virtual std::string conninfo() = 0;
  // In schema public, all columns of type text; `key` may be empty.
  virtual void CreateTable(const std::string& name, const std::vector<std::string>& columns,
                           const std::vector<std::string>& key) = 0;
  // An immediate foreign key to the one key column of `parent`.
  virtual void Refer(const std::string& child, const std::string& column, const std::string& parent) = 0;
  // Cells joined by '|', "null" for NULL; sorted.
  virtual std::vector<std::string> Rows(const std::string& table, const std::vector<std::string>& columns) = 0;
  virtual void DeleteMarker(const std::string& job) = 0;
  // Ends all sessions of the sink; the server knows it when this comes back.
  virtual void EndSessions() = 0;

  simulation::SimFileSystem& file_system() { return fs_; }
  simulation::ManualWorkerFactory& workers() { return workers_; }
  const std::string& output_folder() const { return output_; }
  const Clock& clock() const { return clock_; }

 private:
  const SystemClock clock_;
  const std::string output_ = "/storage/output";
  simulation::SimFileSystem fs_{3};
  simulation::ManualWorkerFactory workers_;
};

// A server for the whole program; its tables are dropped for each world.
class RealPostgresWorld final : public PostgresWorld {
 public:
  RealPostgresWorld();

  connectors::PostgresClientFactory& factory() override { return *factory_; }
  std::string conninfo() override { return server().conninfo(); }
  void CreateTable(const std::string& name, const std::vector<std::string>& columns,
                   const std::vector<std::string>& key) override;
  void Refer(const std::string& child, const std::string& column, const std::string& parent) override;
  std::vector<std::string> Rows(const std::string& table, const std::vector<std::string>& columns) override;
  void DeleteMarker(const std::string& job) override;
  void EndSessions() override;

  harness::PostgresServer& server();
  std::vector<std::string> Query(const std::string& sql) { return server().Query(sql); }
  // Fails the test if the server refuses.
  void Run(const std::string& sql);

 private:
  const std::unique_ptr<connectors::PostgresClientFactory> factory_;
};

class SimPostgresWorld final : public PostgresWorld {
 public:
  SimPostgresWorld() : server_(std::make_unique<SeededRandom>(1)), factory_(server_.NewClientFactory()) {}

  connectors::PostgresClientFactory& factory() override { return *factory_; }
  std::string conninfo() override { return "host=sim"; }
  void CreateTable(const std::string& name, const std::vector<std::string>& columns,
                   const std::vector<std::string>& key) override {
    server_.CreateTable("public." + name, columns, key);
  }
  void Refer(const std::string& child, const std::string& column, const std::string& parent) override {
    server_.Refer("public." + child, column, "public." + parent);
  }
  std::vector<std::string> Rows(const std::string& table, const std::vector<std::string>& columns) override;
  void DeleteMarker(const std::string& job) override { server_.DeleteMarker(job); }
  void EndSessions() override {
    server_.SetReachable(false);
    server_.SetReachable(true);
  }

 private:
  simulation::SimPostgres server_;
  const std::unique_ptr<connectors::PostgresClientFactory> factory_;
};

// One start of a job: a sink, its writers and its committer.
class PostgresJob {
 public:
  // `connection` is added to the definition. `attempt`: other than 0.
  PostgresJob(PostgresWorld& world, Definition definition, uint64_t attempt = 1, std::string job = "orders",
              uint32_t parallelism = 1);

  // Opens the writers; exactly once also peeks, fences, reads and signs with the marker found.
  Status Start();
  Status Write(const std::vector<std::string>& columns, const std::vector<TestRow>& rows, size_t subtask = 0);
  Status Watermark(operators::EventTime time, size_t subtask = 0);
  // A barrier; answers what is sealed.
  Result<std::vector<checkpoint::Committable>> Seal();
  // A barrier, and what is sealed is applied as the next checkpoint.
  Status Checkpoint();
  // Only this; number of the newest checkpoint plus one.
  Status Apply(const std::vector<checkpoint::Committable>& sealed);
  checkpoint::Marker MarkerOf(uint64_t number) const;
  checkpoint::Committer& committer() { return *committer_; }
  operators::Sink& sink() { return *sink_; }
  // Of the committer, and of the first writer.
  uint64_t Counter(const std::string& name, const std::string& table);
  double Gauge(const std::string& name) { return metrics_.Gauge("out", name); }  // of the committer
  void UseStorage(UniqueId storage) { storage_ = storage; }

 private:
  struct Subtask {
    operators::SubtaskMetrics metrics;
    operators::WriterContext context;
    std::unique_ptr<operators::SinkWriter> writer;
  };

  PostgresWorld& world_;
  const uint64_t attempt_;
  const std::string job_;
  UniqueId storage_ = {.high = 3, .low = 4};
  uint64_t number_ = 0;
  NoWakeup wakeup_;
  operators::NamedMetrics metrics_;
  std::unique_ptr<operators::Sink> sink_;
  std::vector<std::unique_ptr<Subtask>> subtasks_;
  std::unique_ptr<checkpoint::Committer> committer_;
};

}  // namespace weir::postgres_test
