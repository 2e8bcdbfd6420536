// One script in a Lua state of its own: loads it, and runs its hooks for one row at a time within bounds of memory,
// instructions and wall time. A call that hits a bound costs its row and the state, which is made anew for the next
// row; whatever a script does ends as an error's text. Used on one thread; never reads a file, a clock of its own or
// anything else of the world.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "operators/batch.h"
#include "operators/script/row_stage.h"

namespace weir::operators::script {

struct ScriptSettings {
  std::string name;  // in messages: "map.lua"
  std::string text;
  size_t memory_max = 64 << 20;  // bytes of the Lua state, and of the rows of one call
  Duration time_max = std::chrono::seconds(1);
  std::string table_column = "table";
  std::string key_column = "key";
  std::string deletes_to;  // empty: none
};

class ScriptEngine {
 public:
  ScriptEngine(ScriptSettings settings, const Clock& clock);
  ~ScriptEngine();
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  // Runs the script's text. InvalidArgument: a syntax error with its line, no hook, a hook that is none, a bound.
  Status Load();

  // Runs the hooks for the row of stage.input(); `before` is the -U row of the same change. True: their rows are added
  // to `stage`. False: error() says why, and nothing is added.
  bool Transform(size_t row, std::optional<size_t> before, RowStage& stage);
  const std::string& error() const { return error_; }

 private:
  struct State;
  bool StageResults(RowStage& stage);
  bool StageRow(int index, std::string_view table, RowStage& stage);
  bool GatherRow(int index, RowStage& stage);
  bool GatherTable(int index, RowStage& stage);
  bool ReadColumn(int index, std::string_view name, RowStage& stage, Value* out);
  Status CheckNames();

  const ScriptSettings settings_;
  const Clock& clock_;
  std::unique_ptr<State> state_;  // null: to be made anew
  std::vector<RowStage::Column> columns_;
  std::string json_;
  std::string error_;
};

}  // namespace weir::operators::script
