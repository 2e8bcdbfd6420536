// Rows go through their group in runs: one row each where every row is answered, all rows of a key in the batch where
// only the last counts. A run loads the group, adds its rows, stores the group and emits what has changed.
#include "operators/aggregate.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operators/aggregate_group.h"
#include "operators/batch_column.h"
#include "operators/dead_letter.h"
#include "operators/key.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

struct AggregateOptions {
  std::vector<std::string> keys;
  std::vector<AggregateSpec> aggregates;
  bool retractions = true;
  bool per_batch = false;
  bool retract_changelog = false;
  BadRecordPolicy policy = BadRecordPolicy::kFail;
};

// The rows of a batch by key: chains of row numbers, keys in the order of their first row.
class RowsByKey {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void Build(const Batch& batch) {
    const auto rows = static_cast<uint32_t>(batch.rows());
    const uint32_t mask = std::bit_ceil(rows * 2 + 2) - 1;
    slots_.assign(mask + 1, kNone);
    next_.assign(rows, kNone);
    last_.resize(rows);
    first_.clear();
    for (uint32_t i = 0; i < rows; ++i) {
      const RowKey& key = batch.key(i);
      uint32_t slot = (key.hash * 0x9e3779b1U) & mask;
      while (slots_[slot] != kNone && !Same(batch.key(slots_[slot]), key)) slot = (slot + 1) & mask;
      if (slots_[slot] == kNone) {
        slots_[slot] = i;
        first_.push_back(i);
      } else {
        next_[last_[slots_[slot]]] = i;
      }
      last_[slots_[slot]] = i;
    }
  }

  const std::vector<uint32_t>& first() const { return first_; }
  uint32_t next(uint32_t row) const { return next_[row]; }

 private:
  static bool Same(const RowKey& a, const RowKey& b) { return a.hash == b.hash && a.bytes == b.bytes; }

  std::vector<uint32_t> slots_;  // hash -> first row of the key
  std::vector<uint32_t> next_;   // row -> next row of its key
  std::vector<uint32_t> last_;   // first row -> last row so far
  std::vector<uint32_t> first_;
};

class AggregateOperator final : public Operator {
 public:
  AggregateOperator(AggregateOptions options, std::vector<BatchColumn> columns, SchemaPtr schema)
      : options_(std::move(options)),
        columns_(std::move(columns)),
        schema_(std::move(schema)),
        group_(options_.aggregates, options_.retractions),
        values_(columns_.size()) {}

  Status Open(OperatorContext& context) override {
    if (context.state == nullptr) return Status::FailedPrecondition("aggregate \"" + context.uid + "\" has no state");
    bad_.emplace(context.uid, options_.policy, context.metrics);
    return group_.Open(context.uid, *context.state);
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    if (!batch.keyed()) return Status::FailedPrecondition("an aggregate needs rows with a key");
    for (BatchColumn& column : columns_) {
      if (!column.text().empty()) column.Evaluate(batch);
    }
    entries_.clear();
    for (size_t i = 0; i < batch.rows(); ++i) entries_.push_back({batch.key(i).hash, batch.key(i).bytes, {}});
    WEIR_RETURN_IF_ERROR(group_.Prefetch(entries_));
    if (options_.per_batch) {
      runs_.Build(batch);
      for (const uint32_t first : runs_.first()) WEIR_RETURN_IF_ERROR(ProcessRun(batch, first, output));
    } else {
      for (uint32_t i = 0; i < batch.rows(); ++i) WEIR_RETURN_IF_ERROR(ProcessRun(batch, i, output));
    }
    WEIR_RETURN_IF_ERROR(Flush(output));
    return bad_->EmitTo(output);
  }

 private:
  // The row `first`, or the chain of rows of its key.
  Status ProcessRun(const Batch& batch, uint32_t first, Output& output) {
    const RowKey& key = batch.key(first);
    WEIR_RETURN_IF_ERROR(group_.Load(key));
    const uint64_t rows_before = group_.rows();
    const bool may_end = rows_before > 0 && (options_.per_batch || IsRetraction(batch.kind(first)));
    if (options_.retract_changelog || may_end) group_.KeepBefore();
    std::optional<uint32_t> newest;
    for (uint32_t i = first; i != RowsByKey::kNone; i = options_.per_batch ? runs_.next(i) : RowsByKey::kNone) {
      std::string error = ErrorOf(i);
      if (error.empty()) {
        for (size_t c = 0; c < columns_.size(); ++c)
          values_[c] = columns_[c].text().empty() ? Value::Null() : columns_[c].at(i);
        WEIR_ASSIGN_OR_RETURN(error, group_.AddRow(values_, IsRetraction(batch.kind(i)), !options_.per_batch));
      }
      if (error.empty()) {
        newest = i;
      } else {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, error));
      }
    }
    if (!newest.has_value()) return Status::Ok();
    const EventTime time = batch.time(*newest);
    if (rows_before > 0 && (group_.rows() == 0 || options_.retract_changelog)) {
      const RowKind kind = group_.rows() == 0 ? RowKind::kDelete : RowKind::kUpdateBefore;
      WEIR_RETURN_IF_ERROR(EmitRow(kind, time, key, group_.before(), output));
    }
    if (group_.rows() > 0) {
      const RowKind kind = rows_before == 0 ? RowKind::kInsert : RowKind::kUpdateAfter;
      WEIR_RETURN_IF_ERROR(EmitRow(kind, time, key, group_.accumulators(), output));
    }
    return group_.Store();
  }

  std::string ErrorOf(uint32_t row) const {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].text().empty()) continue;
      const std::string_view error = columns_[c].error(row);
      if (!error.empty()) return Quoted(options_.aggregates[c].name) + ": " + std::string(error);
    }
    return {};
  }

  Status EmitRow(RowKind kind, EventTime time, const RowKey& key, const std::vector<Accumulator>& accumulators,
                 Output& output) {
    if (out_.full()) {
      WEIR_RETURN_IF_ERROR(Flush(output));
      out_ = Batch(schema_);
    }
    Value* row = out_.AddRow(kind, time);
    Arena& arena = out_.arena();
    const RowKey copy{key.hash, arena.Copy(key.bytes)};
    if (!DecodeKey(copy.bytes, {row, options_.keys.size()})) {
      return Status::FailedPrecondition("key " + PrintKey(key.bytes) + " has not " +
                                        std::to_string(options_.keys.size()) + " columns");
    }
    row += options_.keys.size();
    for (size_t i = 0; i < accumulators.size(); ++i)
      row[i] = ResultOf(options_.aggregates[i].function, accumulators[i], arena);
    out_.SetKey(out_.rows() - 1, copy);
    return Status::Ok();
  }

  Status Flush(Output& output) {
    if (out_.empty()) return Status::Ok();
    return output.Emit(std::exchange(out_, Batch()));
  }

  const AggregateOptions options_;
  std::vector<BatchColumn> columns_;  // one for each aggregate; without text: count of rows
  const SchemaPtr schema_;
  AggregateGroup group_;
  std::optional<BadRecords> bad_;
  std::vector<Value> values_;
  std::vector<state::EntryKey> entries_;
  RowsByKey runs_;
  Batch out_;
};

AggregateOptions ReadOptions(const Options& options) {
  AggregateOptions read;
  read.keys = options.Strings("keys");
  for (const auto& [name, members] : options.ObjectMap("aggregates")) {
    AggregateSpec spec;
    spec.name = name;
    spec.function = FindAggregateFunction(members.String("function")).value_or(AggregateFunction::kCount);
    if (members.Has("column")) spec.column = members.String("column");
    read.aggregates.push_back(std::move(spec));
  }
  read.retractions = options.Bool("retractions");
  read.per_batch = options.String("emit") == "per-batch";
  read.retract_changelog = options.String("changelog") == "retract";
  read.policy = OnError(options);
  return read;
}

void CheckAggregate(const Options& options, Problems& problems) {
  const std::vector<std::string> keys = options.Strings("keys");
  const auto aggregates = options.ObjectMap("aggregates");
  for (const auto& [name, members] : aggregates) {
    const bool has_column = members.Has("column");
    if (!has_column && members.String("function") != "count") {
      problems.push_back({members.PathOf("column"), "", "a column or an expression",
                          "a " + members.String("function") + " without a column"});
    }
    if (has_column) {
      if (auto problem = ExpressionProblem(members.String("column")); problem.has_value()) {
        problems.push_back({members.PathOf("column"), QuotedExcerpt(members.String("column")),
                            "a column or an SQL expression", std::move(*problem)});
      }
    }
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) continue;
    std::set<std::string> taken(keys.begin(), keys.end());
    for (const auto& aggregate : aggregates) taken.insert(aggregate.first);
    std::string other = name + "_" + members.String("function");
    while (taken.contains(other)) other += '_';
    problems.push_back({members.path(), Quoted(name),
                        "another name, such as " + Quoted(other) + ", or other names for the key's columns (keys)",
                        "aggregate " + Quoted(name) + " has the name of a column of the key"});
  }
}

Result<std::unique_ptr<Operator>> CreateAggregate(const Options& options) {
  AggregateOptions read = ReadOptions(options);
  if (read.keys.empty())
    return Error(Status::InvalidArgument("an aggregate without names for its key's columns (option keys)"));
  std::vector<std::string> names = read.keys;
  std::vector<BatchColumn> columns;
  for (const AggregateSpec& spec : read.aggregates) {
    for (const std::string& name : names) {
      if (name == spec.name) return Error(Status::InvalidArgument("two output columns are called " + Quoted(name)));
    }
    names.push_back(spec.name);
    if (spec.column.empty()) {
      columns.push_back(BatchColumn::Named(""));
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(BatchColumn column, BatchColumn::Parse(spec.column));
    columns.push_back(std::move(column));
  }
  auto schema = std::make_shared<const Schema>(std::move(names));
  return std::make_unique<AggregateOperator>(std::move(read), std::move(columns), std::move(schema));
}

}  // namespace

OperatorType AggregateType() {
  OperatorType type;
  type.name = "aggregate";
  type.doc = "Running count, sum, min, max and avg of each key's rows.";
  type.needs_key = true;
  type.has_state = true;
  OptionSpec function{"function", OptionType::kEnum, true, "", "What is computed."};
  function.choices = {"count", "sum", "min", "max", "avg"};
  OptionSpec aggregates{"aggregates", OptionType::kObjectMap, true, "",
                        "Output column -> function and what it is computed of."};
  aggregates.members = {
      function,
      {"column", OptionType::kExpression, false, "", "Column or expression; a count without one counts rows."}};
  OptionSpec emit{"emit", OptionType::kEnum, false, "per-row",
                  "A row for each input row, or the last of each key in a batch."};
  emit.choices = {"per-row", "per-batch"};
  OptionSpec changelog{"changelog", OptionType::kEnum, false, "upsert",
                       "Whether the old values go in front of the new ones as -U."};
  changelog.choices = {"upsert", "retract"};
  type.options = {
      {"keys", OptionType::kStringList, false, "", "Names of the key's columns in the output; default: the key_by's."},
      std::move(aggregates),
      std::move(emit),
      std::move(changelog),
      {"retractions", OptionType::kBool, false, "true",
       "Whether min and max must follow when rows are taken back; false saves an entry for each different value."},
      OnErrorSpec()};
  type.check = CheckAggregate;
  type.create = CreateAggregate;
  return type;
}

}  // namespace weir::operators
