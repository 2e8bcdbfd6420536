#include "tests/harness/operator_test_harness.h"

#include <gtest/gtest.h>

#include <utility>

#include "jobs/definition_reader.h"
#include "operators/key.h"
#include "operators/options_check.h"
#include "operators/paced_operator.h"
#include "operators/raw_value.h"
#include "operators/row_text.h"
#include "state/entry_key.h"
#include "state/key_groups.h"
#include "state/ordered_map_store.h"
#include "state/table_state.h"

namespace weir::operators {
namespace {

constexpr uint32_t kParallelisms[] = {1, 2, 3};

RawValue ReadJson(std::string_view text) {
  std::vector<jobs::ReadProblem> problems;
  std::optional<RawValue> value = jobs::ReadJsonDefinition(text, problems);
  EXPECT_TRUE(value.has_value() && problems.empty()) << text;
  return value.has_value() ? std::move(*value) : RawValue();
}

void AppendJson(std::string& out, const RawValue& raw) {
  switch (raw.kind) {
    case RawKind::kNull: out += "null"; return;
    case RawKind::kBool: out += raw.boolean ? "true" : "false"; return;
    case RawKind::kNumber: out += raw.text; return;
    case RawKind::kString: AppendValueAsJson(out, Value::Text(ValueType::kString, raw.text)); return;
    case RawKind::kList:
      out += '[';
      for (const RawValue& element : raw.list) {
        if (out.back() != '[') out += ',';
        AppendJson(out, element);
      }
      out += ']';
      return;
    case RawKind::kObject:
      out += '{';
      for (const auto& [name, member] : raw.members) {
        if (out.back() != '{') out += ',';
        AppendValueAsJson(out, Value::Text(ValueType::kString, name));
        out += ':';
        AppendJson(out, member);
      }
      out += '}';
      return;
  }
}

Value ValueOf(const RawValue& raw, Arena& arena) {
  switch (raw.kind) {
    case RawKind::kNull: return Value::Null();
    case RawKind::kBool: return Value::Bool(raw.boolean);
    case RawKind::kNumber: {
      const bool whole = raw.text.find_first_of(".eE") == std::string::npos;
      const std::optional<int64_t> integer = whole ? ParseInteger(raw.text) : std::nullopt;
      return integer.has_value() ? Value::Int64(*integer) : Value::Text(ValueType::kDecimal, arena.Copy(raw.text));
    }
    case RawKind::kString: return Value::Text(ValueType::kString, arena.Copy(raw.text));
    default: {
      std::string json;
      AppendJson(json, raw);
      return Value::Text(ValueType::kJson, arena.Copy(json));
    }
  }
}

RowKind TakeKind(std::string_view& row) {
  RowKind kind = RowKind::kInsert;
  for (const RowKind candidate : {RowKind::kInsert, RowKind::kUpdateBefore, RowKind::kUpdateAfter, RowKind::kDelete}) {
    if (row.starts_with(RowKindName(candidate))) {
      kind = candidate;
      row.remove_prefix(3);
      break;
    }
  }
  return kind;
}

}  // namespace

std::string HarnessModeName(HarnessMode mode) {
  switch (mode) {
    case HarnessMode::kPlain: return "Plain";
    case HarnessMode::kRestore: return "Restore";
    case HarnessMode::kRescale: return "Rescale";
  }
  return "?";
}

std::vector<Batch> BatchesOf(const Rows& rows) {
  std::vector<Batch> batches;
  SchemaCache schemas;
  for (std::string_view row : rows) {
    const RowKind kind = TakeKind(row);
    const RawValue object = ReadJson(row);
    EventTime time;
    std::vector<std::string_view> names;
    for (const auto& [name, member] : object.members) {
      if (name == "@time") {
        const size_t dot = member.text.find('.');
        time.wall_ns = ParseInteger(member.text.substr(0, dot)).value_or(0);
        if (dot != std::string::npos) {
          time.logical = static_cast<int32_t>(ParseInteger(member.text.substr(dot + 1)).value_or(0));
        }
      } else {
        names.push_back(name);
      }
    }
    const SchemaPtr schema = schemas.Get(names);
    if (batches.empty() || batches.back().schema() != schema || batches.back().full()) batches.emplace_back(schema);
    Value* values = batches.back().AddRow(kind, time);
    for (const auto& [name, member] : object.members) {
      if (name != "@time") *values++ = ValueOf(member, batches.back().arena());
    }
  }
  return batches;
}

void AppendRowTexts(const Batch& batch, Rows& out) {
  for (size_t i = 0; i < batch.rows(); ++i) {
    std::string& text = out.emplace_back(RowKindName(batch.kind(i)));
    text += ' ';
    AppendRowAsJson(text, batch, i);
  }
}

Options OptionsOf(const std::vector<OptionSpec>& specs, std::string_view json) {
  Problems problems;
  Options options = CheckOptions(ReadJson(json), specs, problems);
  for (const Problem& problem : problems) ADD_FAILURE() << problem.path << ": " << problem.message;
  return options;
}

Rows ProblemsOf(const OperatorType& type, std::string_view json) {
  Problems problems;
  const Options options = CheckOptions(ReadJson(json), type.options, problems);
  if (problems.empty() && type.check) type.check(options, problems);
  Rows texts;
  for (const Problem& problem : problems) texts.push_back(problem.path + ": " + problem.message);
  return texts;
}

struct OperatorTestHarness::Subtask {
  std::unique_ptr<state::SubtaskState> state;
  std::unique_ptr<Operator> instance;
};

class OperatorTestHarness::CollectingOutput final : public Output {
 public:
  Status Emit(Batch batch) override {
    AppendRowTexts(batch, main);
    return Status::Ok();
  }
  Status EmitSide(std::string_view tag, Batch batch) override {
    AppendRowTexts(batch, sides[std::string(tag)]);
    return Status::Ok();
  }
  bool HasSide(std::string_view) const override { return true; }

  Rows main;
  std::map<std::string, Rows> sides;
};

OperatorTestHarness::OperatorTestHarness(OperatorType type, std::string_view options_json, HarnessOptions options)
    : type_(std::move(type)),
      options_(OptionsOf(type_.options, options_json)),
      harness_options_(std::move(options)),
      fs_(1),
      stores_(state::NewOrderedMapStoreFactory(fs_)),
      budget_(harness_options_.state_bytes),
      output_(std::make_unique<CollectingOutput>()) {
  for (const std::string& name : harness_options_.keys) keys_.push_back(BatchColumn::Named(name));
  Start(1, {});
}

OperatorTestHarness::~OperatorTestHarness() = default;

void OperatorTestHarness::Start(uint32_t parallelism, const std::vector<state::SubtaskStateHandle>& handles) {
  subtasks_.clear();
  for (uint32_t i = 0; i < parallelism; ++i) {
    auto subtask = std::make_unique<Subtask>();
    state::SubtaskStateOptions options;
    options.fs = &fs_;
    options.stores = stores_.get();
    options.budget = &budget_;
    options.range = state::RangeOf(i, parallelism, harness_options_.key_groups);
    options.local_dir = "/local/" + std::to_string(i);
    options.job_dir = "/job";
    options.unique_prefix = std::to_string(checkpoints_) + "-" + std::to_string(i) + "-";
    std::vector<state::SubtaskStateHandle> restored = handles;
    if (handles.size() == parallelism) restored = {handles[i]};
    for (const std::string& folder : {options.local_dir, options.job_dir})
      EXPECT_TRUE(fs_.CreateDirectories(folder).ok());
    auto state = state::OpenSubtaskState(options, restored);
    ASSERT_TRUE(state.has_value()) << state.error().ToString();
    subtask->state = std::move(*state);
    auto instance = type_.create(options_);
    ASSERT_TRUE(instance.has_value()) << instance.error().ToString();
    subtask->instance = std::move(*instance);
    OperatorContext context;
    context.uid = "tested";
    context.subtask = i;
    context.parallelism = parallelism;
    context.key_groups = harness_options_.key_groups;
    context.state = subtask->state.get();
    context.clock = harness_options_.clock;
    context.metrics = &metrics_;
    const Status opened = subtask->instance->Open(context);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    subtasks_.push_back(std::move(subtask));
  }
}

Status OperatorTestHarness::SnapshotAndRestore(uint32_t parallelism) {
  const CheckpointId checkpoint{++checkpoints_, UniqueId{1, checkpoints_}};
  std::vector<state::SubtaskStateHandle> handles;
  for (const auto& subtask : subtasks_) {
    WEIR_RETURN_IF_ERROR(subtask->instance->SnapshotState(checkpoint));
    Result<state::SubtaskStateHandle> handle = subtask->state->Freeze(checkpoint)->Write();
    if (!handle.has_value()) return handle.error();
    subtask->state->SnapshotWritten(Status::Ok());
    handles.push_back(std::move(*handle));
  }
  Start(parallelism, handles);
  return Status::Ok();
}

Status OperatorTestHarness::Between() {
  const uint64_t input = inputs_++;
  if (input == 0 || harness_options_.mode == HarnessMode::kPlain) return Status::Ok();
  const bool rescale = harness_options_.mode == HarnessMode::kRescale;
  return SnapshotAndRestore(rescale ? kParallelisms[input % std::size(kParallelisms)] : 1);
}

Status OperatorTestHarness::Deliver(uint32_t subtask, Batch batch, int input) {
  state::SubtaskState& state = *subtasks_[subtask]->state;
  if (state.NeedsFlush()) {
    if (const auto flushed = state.Freeze(std::nullopt)->Write(); !flushed.has_value()) return flushed.error();
    state.SnapshotWritten(Status::Ok());
  }
  if (auto* paced = dynamic_cast<PacedOperator*>(subtasks_[subtask]->instance.get()); paced != nullptr) {
    if (const auto more = paced->Continue(*output_); !more.has_value()) return more.error();
  }
  return subtasks_[subtask]->instance->ProcessBatch(input, std::move(batch), *output_);
}

Status OperatorTestHarness::Process(const Rows& rows, int input) {
  WEIR_RETURN_IF_ERROR(Between());
  for (Batch& batch : BatchesOf(rows)) {
    if (keys_.empty()) {
      WEIR_RETURN_IF_ERROR(Deliver(static_cast<uint32_t>(inputs_ % subtasks_.size()), std::move(batch), input));
      continue;
    }
    for (BatchColumn& key : keys_) key.Evaluate(batch);
    for (size_t i = 0; i < batch.rows(); ++i) {
      std::string bytes;
      for (const BatchColumn& key : keys_) AppendKey(bytes, key.at(i));
      batch.SetKey(i, RowKey{state::HashKey(bytes), batch.arena().Copy(bytes)});
    }
    const auto owner = [&](size_t i) {
      return state::SubtaskOf(batch.key(i).hash, static_cast<uint32_t>(subtasks_.size()), harness_options_.key_groups);
    };
    for (size_t i = 0; i < batch.rows();) {
      const uint32_t subtask = owner(i);
      Batch part(batch.schema());
      for (; i < batch.rows() && owner(i) == subtask; ++i) part.AppendCopy(batch, i);
      WEIR_RETURN_IF_ERROR(Deliver(subtask, std::move(part), input));
    }
  }
  return Status::Ok();
}

Status OperatorTestHarness::ProcessWatermark(Watermark watermark, std::optional<uint32_t> subtask) {
  WEIR_RETURN_IF_ERROR(Between());
  for (size_t i = 0; i < subtasks_.size(); ++i) {
    if (subtask.value_or(i) != i) continue;
    WEIR_RETURN_IF_ERROR(subtasks_[i]->instance->ProcessWatermark(watermark, *output_));
  }
  return Status::Ok();
}

uint64_t OperatorTestHarness::StoreReads() const {
  uint64_t reads = 0;
  for (const auto& subtask : subtasks_) reads += subtask->state->usage().store_reads;
  return reads;
}

double OperatorTestHarness::NamedMetric(std::string_view name) const {
  double value = -1;
  metrics_.named.ForEach([&](const NamedMetrics::Shown& shown) {
    if (shown.name == name && shown.labels.empty()) value = shown.value;
  });
  return value;
}

Status OperatorTestHarness::Continue() {
  for (const auto& subtask : subtasks_) {
    auto* paced = dynamic_cast<PacedOperator*>(subtask->instance.get());
    for (bool more = paced != nullptr; more;) {
      WEIR_ASSIGN_OR_RETURN(more, paced->Continue(*output_));
    }
  }
  return Status::Ok();
}

Status OperatorTestHarness::Finish() {
  WEIR_RETURN_IF_ERROR(Between());
  for (const auto& subtask : subtasks_) WEIR_RETURN_IF_ERROR(subtask->instance->Finish(*output_));
  return Status::Ok();
}

void OperatorTestHarness::SetOptions(std::string_view options_json) {
  options_ = OptionsOf(type_.options, options_json);
}

Rows OperatorTestHarness::Take() { return std::exchange(output_->main, {}); }

Rows OperatorTestHarness::TakeSide(std::string_view tag) { return std::exchange(output_->sides[std::string(tag)], {}); }

size_t OperatorTestHarness::StateEntries(const std::vector<std::string>& states) {
  size_t entries = 0;
  for (const auto& subtask : subtasks_) {
    for (const std::string& name : states) {
      const state::StateId id{state::ComputeStateId("tested", name)};
      const Status scanned =
          subtask->state->ScanAll(id, [&entries](std::string_view, std::string_view, std::string_view) {
            ++entries;
            return true;
          });
      EXPECT_TRUE(scanned.ok()) << scanned.ToString();
    }
  }
  return entries;
}

}  // namespace weir::operators
