// What the operator `script` costs by itself, beside `project` doing the same: rows of ten columns, no engine around
// it. Reported as rows per second of CPU time and CPU seconds per million rows.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "jobs/definition_reader.h"
#include "operators/options_check.h"
#include "operators/project.h"
#include "operators/raw_value.h"
#include "operators/registry.h"
#include "operators/script/script.h"

namespace weir::operators {
namespace {

constexpr size_t kRows = 1024;

class Dropped final : public Output {
 public:
  Status Emit(Batch batch) override {
    benchmark::DoNotOptimize(batch.rows());
    return Status::Ok();
  }
  Status EmitSide(std::string_view, Batch) override { return Status::Ok(); }
  bool HasSide(std::string_view) const override { return false; }
};

SchemaPtr OrderSchema() {
  static const auto schema = std::make_shared<const Schema>(
      std::vector<std::string>{"t", "k", "id", "customer", "amount", "quantity", "status", "note", "city", "document"});
  return schema;
}

Batch Orders() {
  Batch batch(OrderSchema(), kRows);
  const auto text = [&](ValueType type, std::string_view t) { return Value::Text(type, batch.arena().Copy(t)); };
  for (size_t i = 0; i < kRows; ++i) {
    const auto id = static_cast<int64_t>(i);
    Value* row = batch.AddRow(RowKind::kInsert, {id + 1, 0});
    row[0] = text(ValueType::kString, "orders");
    row[1] = text(ValueType::kString, "[" + std::to_string(id) + "]");
    row[2] = Value::Int64(id);
    row[3] = Value::Int64(id % 97);
    row[4] = text(ValueType::kDecimal, std::to_string(id) + ".50");
    row[5] = Value::Int64(3);
    row[6] = text(ValueType::kString, "paid");
    row[7] = text(ValueType::kString, "left at the door, twice, as it was asked for");
    row[8] = text(ValueType::kString, "Lyon");
    row[9] = text(ValueType::kJson, R"({"lines": [1, 2, 3], "origin": {"shop": "north", "till": 4}})");
  }
  return batch;
}

void Measure(benchmark::State& state, const OperatorType& type, const char* json) {
  std::vector<jobs::ReadProblem> unread;
  Problems problems;
  const Options options = CheckOptions(*jobs::ReadJsonDefinition(json, unread), type.options, problems);
  WEIR_CHECK(problems.empty());
  const SystemClock clock;
  SubtaskMetrics metrics;
  OperatorContext context;
  context.clock = &clock;
  context.metrics = &metrics;
  const std::unique_ptr<Operator> instance = *type.create(options);
  WEIR_CHECK(instance->Open(context).ok());
  Dropped output;
  for (auto _ : state) {
    state.PauseTiming();
    Batch batch = Orders();
    state.ResumeTiming();
    WEIR_CHECK(instance->ProcessBatch(0, std::move(batch), output).ok());
  }
  const auto rows = static_cast<double>(state.iterations()) * kRows;
  state.counters["rows_per_s"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
  state.counters["cpu_s_per_million"] =
      benchmark::Counter(rows / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void ScriptIdentity(benchmark::State& state) {
  Measure(state, ScriptType(), R"({"script": "function map(row) return row end"})");
}
void ScriptThreeColumns(benchmark::State& state) {
  Measure(state, ScriptType(), R"({"script":
    "function map(r) r.total = r.amount * r.quantity; r.status = nil; r.city = r.city:upper() return r end"})");
}
void ScriptDispatch(benchmark::State& state) {
  Measure(state, ScriptType(), R"({"script":
    "function dispatch(row) return {orders = {row}, cities = {{id = row.id, city = row.city}}} end",
    "table-column": "t"})");
}
void ProjectThreeColumns(benchmark::State& state) {
  Measure(state, ProjectType(), R"json({"keep": "all", "drop": "status",
    "columns": {"total": "amount * quantity", "city": "upper(city)"}})json");
}
BENCHMARK(ScriptIdentity);
BENCHMARK(ScriptThreeColumns);
BENCHMARK(ScriptDispatch);
BENCHMARK(ProjectThreeColumns);

}  // namespace
}  // namespace weir::operators

BENCHMARK_MAIN();
