#include "operators/script/script.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file_system.h"
#include "operators/dead_letter.h"
#include "operators/key.h"
#include "operators/raw_value.h"
#include "operators/script/row_stage.h"
#include "operators/script/script_engine.h"

namespace weir::operators {
namespace {

constexpr size_t kScriptBytesMax = 1 << 20;

class ScriptOperator final : public Operator {
 public:
  ScriptOperator(script::ScriptSettings settings, BadRecordPolicy policy)
      : settings_(std::move(settings)), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    engine_.emplace(settings_, context.clock == nullptr ? own_clock_ : *context.clock);
    return engine_->Load().WithContext("script");
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    stage_.Begin(batch);
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (engine_->Transform(i, BeforeOf(batch, i), stage_)) [[likely]] {
        WEIR_RETURN_IF_ERROR(stage_.Commit(i, output));
      } else {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, engine_->error() + KeyOf(batch, i)));
      }
    }
    WEIR_RETURN_IF_ERROR(stage_.Finish(output));
    return bad_->EmitTo(output);
  }

 private:
  static std::optional<size_t> BeforeOf(const Batch& batch, size_t row) {
    const bool pair =
        row > 0 && batch.kind(row) == RowKind::kUpdateAfter && batch.kind(row - 1) == RowKind::kUpdateBefore;
    return pair ? std::optional(row - 1) : std::nullopt;
  }

  std::string KeyOf(const Batch& batch, size_t row) const {
    std::string text;
    if (const auto column = batch.schema()->Find(settings_.key_column); column.has_value()) {
      const Value& key = batch.at(row, *column);
      if (key.has_text()) text = key.text();
      if (key.type() == ValueType::kInt64) text = std::to_string(key.int64_value());
    }
    if (text.empty() && batch.keyed()) text = PrintKey(batch.key(row).bytes);
    return text.empty() ? text : " (key " + text + ")";
  }

  const script::ScriptSettings settings_;
  const BadRecordPolicy policy_;
  const SystemClock own_clock_;    // where the context has none
  std::optional<BadRecords> bad_;  // set by Open
  std::optional<script::ScriptEngine> engine_;
  script::RowStage stage_;
};

Result<script::ScriptSettings> SettingsOf(const Options& options) {
  script::ScriptSettings settings;
  if (options.Has("file")) {
    const std::string& path = options.String("file");
    WEIR_ASSIGN_OR_RETURN(settings.text, ReadFile(*NewPosixFileSystem(), path));
    settings.name = path.substr(path.rfind('/') + 1);
  } else {
    settings.text = options.String("script");
    settings.name = "script";
  }
  if (settings.text.size() > kScriptBytesMax) {
    return Error(Status::InvalidArgument("a script has 1 MiB at most, this one has " +
                                         std::to_string(settings.text.size()) + " bytes"));
  }
  settings.memory_max = static_cast<size_t>(options.Integer("memory-max"));
  settings.time_max = options.Time("time-max");
  settings.table_column = options.String("table-column");
  settings.key_column = options.String("key-column");
  if (options.Has("deletes-to")) settings.deletes_to = options.String("deletes-to");
  return settings;
}

void CheckScript(const Options& options, Problems& problems) {
  if (options.Has("script") == options.Has("file")) {
    problems.push_back({options.path(), "", "`script` or `file`", "a script is given as `script` or as a `file`"});
    return;
  }
  const char* given = options.Has("file") ? "file" : "script";
  const std::string shown = QuotedExcerpt(options.String(given));
  const Result<script::ScriptSettings> settings = SettingsOf(options);
  if (!settings.has_value()) {
    problems.push_back({options.PathOf(given), shown, "a Lua script", settings.error().message()});
    return;
  }
  const SystemClock clock;
  if (const Status loaded = script::ScriptEngine(*settings, clock).Load(); !loaded.ok()) {
    problems.push_back({options.PathOf(given), shown, "a Lua script with hooks", loaded.message()});
  }
}

Result<std::unique_ptr<Operator>> CreateScript(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(script::ScriptSettings settings, SettingsOf(options));
  return std::make_unique<ScriptOperator>(std::move(settings), OnError(options));
}

}  // namespace

OperatorType ScriptType() {
  OperatorType type;
  type.name = "script";
  type.doc = "Makes rows of rows by a Lua script's functions: map, dispatch, delete_key, deletes_to.";
  OptionSpec memory{"memory-max", OptionType::kBytes, false, "64MiB",
                    "Bound of what the script holds in one subtask, in bytes; a row that needs more is bad."};
  memory.min = 1 << 20;
  OptionSpec time{"time-max", OptionType::kDuration, false, "1s",
                  "Bound of the script's work on one row; a row that needs more is bad."};
  time.min = 1;
  type.options = {
      {"script", OptionType::kString, false, "", "The script's text."},
      {"file", OptionType::kString, false, "", "Or the path of a file that holds it; read when the job starts."},
      {"table-column", OptionType::kString, false, "table",
       "Column that names a row's table: read as meta.table, written for rows of dispatch and deletes_to."},
      {"key-column", OptionType::kString, false, "key",
       "Column with the record's key: read as meta.key, given to delete_key and written by it."},
      {"deletes-to", OptionType::kString, false, "",
       "Table that deletions go to, in place of dispatch; the script may decide by a function deletes_to."},
      std::move(memory),
      std::move(time),
      OnErrorSpec()};
  type.check = CheckScript;
  type.create = CreateScript;
  return type;
}

}  // namespace weir::operators
