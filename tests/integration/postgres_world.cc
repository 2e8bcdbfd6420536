#include "tests/integration/postgres_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "connectors/postgres/libpq_client.h"
#include "connectors/postgres/sink.h"
#include "operators/options_check.h"

namespace weir::postgres_test {

using operators::RawKind;
using operators::RawValue;

RawValue Text(std::string text) {
  RawValue value;
  value.kind = RawKind::kString;
  value.text = std::move(text);
  return value;
}

RawValue List(const std::vector<std::string>& texts) {
  RawValue value;
  value.kind = RawKind::kList;
  for (const std::string& text : texts) value.list.push_back(Text(text));
  return value;
}

RawValue Object(Definition members) {
  RawValue value;
  value.kind = RawKind::kObject;
  value.members = std::move(members);
  return value;
}

std::vector<std::string> ProblemsOf(const Definition& definition, operators::Options* options) {
  const auto factory = connectors::NewLibpqClientFactory();
  const operators::SinkType type = connectors::PostgresSinkType(*factory);
  RawValue object;
  object.kind = RawKind::kObject;
  object.members = definition;
  for (auto& [name, member] : object.members) member.path = "/" + name;
  operators::Problems problems;
  operators::Options checked = operators::CheckOptions(object, type.options, problems);
  if (problems.empty()) type.check(checked, problems);
  std::vector<std::string> lines;
  for (const operators::Problem& problem : problems) {
    lines.push_back(problem.path + ": " + problem.message + " (" + problem.value + ")");
  }
  if (options != nullptr) *options = std::move(checked);
  return lines;
}

PostgresWorld::PostgresWorld() { EXPECT_EQ(fs_.CreateDirectories(output_).ToString(), "ok"); }

PostgresWorld::~PostgresWorld() = default;

RealPostgresWorld::RealPostgresWorld() : factory_(connectors::NewLibpqClientFactory()) {
  Run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
}

harness::PostgresServer& RealPostgresWorld::server() {
  static const std::unique_ptr<harness::PostgresServer> server = [] {
    auto started = harness::PostgresServer::Start();
    if (!started.has_value()) {
      std::cerr << "no PostgreSQL: " << started.error().ToString() << "\n";
      std::exit(1);
    }
    return std::move(*started);
  }();
  return *server;
}

void RealPostgresWorld::Run(const std::string& sql) { EXPECT_EQ(server().Run(sql).ToString(), "ok"); }

void RealPostgresWorld::CreateTable(const std::string& name, const std::vector<std::string>& columns,
                                    const std::vector<std::string>& key) {
  std::string sql;
  for (const std::string& column : columns) sql += (sql.empty() ? "" : ", ") + column + " text";
  std::string key_columns;
  for (const std::string& column : key) key_columns += (key_columns.empty() ? "" : ", ") + column;
  Run("CREATE TABLE " + name + " (" + sql + (key.empty() ? "" : ", PRIMARY KEY (" + key_columns + ")") + ")");
}

void RealPostgresWorld::Refer(const std::string& child, const std::string& column, const std::string& parent) {
  Run("ALTER TABLE " + child + " ADD FOREIGN KEY (" + column + ") REFERENCES " + parent);
}

std::vector<std::string> RealPostgresWorld::Rows(const std::string& table, const std::vector<std::string>& columns) {
  std::string sql = "SELECT ";
  for (const std::string& column : columns) sql += (column == columns.front() ? "" : ", ") + column;
  std::vector<std::string> lines = Query(sql + " FROM " + table);
  std::ranges::sort(lines);
  return lines;
}

void RealPostgresWorld::DeleteMarker(const std::string& job) {
  Run("DELETE FROM weir_markers WHERE job = '" + job + "'");
}

void RealPostgresWorld::EndSessions() {
  Query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'weir'");
}

std::vector<std::string> SimPostgresWorld::Rows(const std::string& table, const std::vector<std::string>& columns) {
  std::vector<std::string> lines;
  for (const simulation::SimPostgres::Row& row : server_.Rows("public." + table)) {
    std::string& line = lines.emplace_back();
    for (const std::string& column : columns) {
      const auto cell = row.find(column);
      line += (column == columns.front() ? "" : "|");
      line += cell == row.end() ? "null" : cell->second.value_or("null");
    }
  }
  std::ranges::sort(lines);
  return lines;
}

PostgresJob::PostgresJob(PostgresWorld& world, Definition definition, uint64_t attempt, std::string job,
                         uint32_t parallelism)
    : world_(world), attempt_(attempt), job_(std::move(job)) {
  definition.emplace_back("connection", Text(world.conninfo()));
  operators::Options options;
  EXPECT_EQ(ProblemsOf(definition, &options), std::vector<std::string>());
  sink_ = std::move(*connectors::PostgresSinkType(world.factory()).create(options));
  for (uint32_t i = 0; i < parallelism; ++i) {
    Subtask& subtask = *subtasks_.emplace_back(std::make_unique<Subtask>());
    subtask.context = {.job = job_,
                       .uid = "out",
                       .subtask = i,
                       .parallelism = parallelism,
                       .attempt = {attempt_, attempt_},
                       .file_system = &world_.file_system(),
                       .output_folder = world_.output_folder(),
                       .segment_stem = job_ + "-" + std::to_string(attempt_) + "-" + std::to_string(i) + "-",
                       .clock = &world_.clock(),
                       .workers = &world_.workers(),
                       .wakeup = &wakeup_,
                       .metrics = &subtask.metrics};
    subtask.writer = std::move(*sink_->CreateWriter());
  }
}

Status PostgresJob::Start() {
  for (const auto& subtask : subtasks_) WEIR_RETURN_IF_ERROR(subtask->writer->Open(subtask->context));
  world_.workers().RunAll();
  if (sink_->system().empty()) return {};
  WEIR_ASSIGN_OR_RETURN(committer_, sink_->CreateCommitter({.job = job_,
                                                            .attempt = {attempt_, attempt_},
                                                            .file_system = &world_.file_system(),
                                                            .output_folder = world_.output_folder(),
                                                            .clock = &world_.clock(),
                                                            .metrics = &metrics_}));
  WEIR_ASSIGN_OR_RETURN(const auto peeked, committer_->Peek());
  WEIR_RETURN_IF_ERROR(committer_->Fence());
  WEIR_ASSIGN_OR_RETURN(const auto marker, committer_->ReadMarker());
  number_ = marker.has_value() ? marker->checkpoint.number : 0;
  return committer_->Sign(MarkerOf(number_), {});
}

Status PostgresJob::Write(const std::vector<std::string>& columns, const std::vector<TestRow>& rows, size_t subtask) {
  operators::Batch batch(std::make_shared<const operators::Schema>(columns), rows.size());
  for (const TestRow& row : rows) {
    operators::Value* values = batch.AddRow(row.kind, row.time);
    std::copy(row.values.begin(), row.values.end(), values);
  }
  EXPECT_TRUE(subtasks_[subtask]->writer->CanWrite());
  return subtasks_[subtask]->writer->Write(std::move(batch));
}

Status PostgresJob::Watermark(operators::EventTime time, size_t subtask) {
  return subtasks_[subtask]->writer->ProcessWatermark({time});
}

Status PostgresJob::Pause(size_t subtask) {
  const Status status = subtasks_[subtask]->writer->Flush();
  world_.workers().RunAll();
  return status;
}

Result<std::vector<checkpoint::Committable>> PostgresJob::Seal() {
  std::vector<checkpoint::Committable> sealed;
  for (const auto& subtask : subtasks_) {
    bool ready = false;
    for (int i = 0; i < 2 && !ready; ++i) {
      WEIR_ASSIGN_OR_RETURN(ready, subtask->writer->ReadyForBarrier());
      if (!ready) world_.workers().RunAll();
    }
    if (!ready) return Error(Status::Internal("not ready for the barrier"));
    WEIR_ASSIGN_OR_RETURN(const auto of_subtask, subtask->writer->PrepareCommit({number_ + 1, {}}));
    sealed.insert(sealed.end(), of_subtask.begin(), of_subtask.end());
  }
  return sealed;
}

Status PostgresJob::Apply(const std::vector<checkpoint::Committable>& sealed) {
  const Status status = committer_->Apply(MarkerOf(number_ + 1), sealed);
  if (status.ok()) ++number_;
  return status;
}

Status PostgresJob::Checkpoint() {
  WEIR_ASSIGN_OR_RETURN(const auto sealed, Seal());
  return sealed.empty() ? Status::Ok() : Apply(sealed);
}

uint64_t PostgresJob::Counter(const std::string& name, const std::string& table) {
  const operators::MetricLabels labels = {{"table", table}};
  return metrics_.Counter("out", name, labels) + subtasks_.front()->metrics.named.Counter("out", name, labels);
}

checkpoint::Marker PostgresJob::MarkerOf(uint64_t number) const {
  return {.job = job_,
          .storage = storage_,
          .attempt = {attempt_, attempt_},
          .checkpoint = {.number = number, .id = {.high = number, .low = 9}}};
}

}  // namespace weir::postgres_test
