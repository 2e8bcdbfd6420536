#include "operators/script/script_engine.h"

#include <lua5.4/lua.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "operators/options_check.h"
#include "operators/raw_value.h"
#include "operators/script/script_hooks.h"
#include "operators/script/script_host.h"
#include "operators/script/script_json.h"
#include "operators/script/script_row.h"
#include "operators/script/script_values.h"
#include "operators/utf8.h"

namespace weir::operators::script {
namespace {

constexpr int kInstructionsPerCheck = 100;
// More than any machine does: this bound is for a clock that stands still, and is the same in every run.
constexpr uint64_t kInstructionsPerMs = 500'000;
// A block of this size or more is work in C (a text of a text): time is looked at.
constexpr size_t kLargeBlockBytes = 64 << 10;

constexpr size_t kColumnsMax = 10'000;
// Ranks of columns that the input doesn't have, and of those that the script has taken out.
constexpr size_t kNew = SIZE_MAX - 1;
constexpr size_t kDropped = SIZE_MAX;

void* Allocate(void* context, void* block, size_t old_size, size_t size) {
  auto& host = *static_cast<ScriptHost*>(context);
  const size_t old_bytes = block == nullptr ? 0 : old_size;
  if (size == 0) {
    std::free(block);
    host.memory -= old_bytes;
    return nullptr;
  }
  if (size > old_bytes) {
    if (size - old_bytes > host.memory_max - std::min(host.memory, host.memory_max)) return nullptr;
    if (size >= kLargeBlockBytes && TimeIsOver(host)) {
      host.stopped = Stopped::kTime;
      return nullptr;
    }
  }
  void* moved = std::realloc(block, size);
  if (moved != nullptr) host.memory = host.memory - old_bytes + size;
  return moved;
}

void CountInstructions(lua_State* lua, lua_Debug*) {
  ScriptHost& host = HostOf(lua);
  host.instructions_left -= std::min<uint64_t>(host.instructions_left, kInstructionsPerCheck);
  CheckTime(lua);
}

std::string_view TextAt(lua_State* lua, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(lua, index, &size);
  return {text, size};
}

// What a script raises may be of any size and any bytes.
std::string ErrorText(std::string_view raised) {
  constexpr size_t kShownMax = 1000;
  std::string text(raised.substr(0, kShownMax));
  for (int cut = 0; cut < 4 && raised.size() > kShownMax && !IsUtf8(text); ++cut) text.pop_back();
  if (!IsUtf8(text)) std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return text;
}

const std::array<std::string, 4> kHooks = {"map", "dispatch", "delete_key", "deletes_to"};

}  // namespace

ScriptHost& HostOf(lua_State* lua) { return **static_cast<ScriptHost**>(lua_getextraspace(lua)); }

bool TimeIsOver(ScriptHost& host) { return host.instructions_left == 0 || host.clock->Now() >= host.deadline; }

void CheckTime(lua_State* lua) {
  ScriptHost& host = HostOf(lua);
  if (!TimeIsOver(host)) return;
  host.stopped = Stopped::kTime;
  luaL_error(lua, "time-max");
}

struct ScriptEngine::State {
  ScriptHost host;
  lua_State* lua = nullptr;

  State(const ScriptSettings& settings, const Clock& clock) {
    host.clock = &clock;
    host.memory_max = settings.memory_max;
    host.time_max = settings.time_max;
    host.table_column = settings.table_column;
    host.key_column = settings.key_column;
    host.deletes_to = settings.deletes_to;
    StartTime();
    lua = lua_newstate(Allocate, &host);
    if (lua == nullptr) return;
    *static_cast<ScriptHost**>(lua_getextraspace(lua)) = &host;
    lua_sethook(lua, CountInstructions, LUA_MASKCOUNT, kInstructionsPerCheck);
  }
  ~State() {
    if (lua != nullptr) lua_close(lua);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void StartTime() {
    host.stopped = Stopped::kNo;
    host.deadline = host.clock->Now() + host.time_max;
    const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(host.time_max).count();
    host.instructions_left = static_cast<uint64_t>(std::max<int64_t>(ms, 1)) * kInstructionsPerMs;
  }

  // Runs `function` with `argument` (null: none) and leaves its results as the whole stack. Empty: done.
  std::string Run(lua_CFunction function, void* argument) {
    StartTime();
    lua_settop(lua, 0);
    lua_pushcfunction(lua, function);
    if (argument != nullptr) lua_pushlightuserdata(lua, argument);
    const int status = lua_pcall(lua, argument == nullptr ? 0 : 1, LUA_MULTRET, 0);
    if (status == LUA_OK) return {};
    if (host.stopped == Stopped::kTime) {
      const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(host.time_max).count();
      return "stopped after time-max (" + std::to_string(ms) + " ms)";
    }
    if (status == LUA_ERRMEM) {
      host.stopped = Stopped::kMemory;
      return "stopped at memory-max (" + std::to_string(host.memory_max) + " bytes)";
    }
    if (lua_type(lua, -1) == LUA_TSTRING) return ErrorText(TextAt(lua, -1));
    return std::string("an error that is ") + KindAt(lua, -1);
  }
};

ScriptEngine::ScriptEngine(ScriptSettings settings, const Clock& clock)
    : settings_(std::move(settings)), clock_(clock) {}
ScriptEngine::~ScriptEngine() = default;

Status ScriptEngine::Load() {
  state_ = std::make_unique<State>(settings_, clock_);
  if (state_->lua == nullptr) {
    state_.reset();
    return Status::ResourceExhausted("memory-max is too small for a script");
  }
  const std::string name = "=" + settings_.name;
  ScriptSource source{name.c_str(), settings_.text.data(), settings_.text.size()};
  std::string failure = state_->Run(LoadScript, &source);
  if (failure.empty()) {
    Status named = CheckNames();
    if (named.ok()) return named;
    failure = named.message();
  }
  state_.reset();
  return Status::InvalidArgument(std::move(failure));
}

// The script's globals: hooks that are functions, and no function that is probably meant to be one.
Status ScriptEngine::CheckNames() {
  lua_State* lua = state_->lua;
  const ScriptHost& host = state_->host;
  lua_settop(lua, 0);
  PushGlobals(lua);
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING) continue;
    const std::string name(TextAt(lua, -2));
    const bool function = lua_type(lua, -1) == LUA_TFUNCTION;
    const bool hook = std::ranges::find(kHooks, name) != kHooks.end();
    const bool text = name == "deletes_to" && lua_type(lua, -1) == LUA_TSTRING;
    if (hook && !function && !text) {
      return Status::InvalidArgument(name + " is " + KindAt(lua, -1) + ", expected a function");
    }
    if (hook || !function) continue;
    const std::string meant = SuggestName(name, kHooks);
    if (meant.empty()) continue;
    return Status::InvalidArgument("the function " + Quoted(name) + " is no hook (did you mean " + Quoted(meant) +
                                   "? if it is a function of your own, make it local)");
  }
  lua_settop(lua, 0);
  if (host.has_map || host.has_dispatch || host.has_delete_key || host.has_deletes_to || !host.deletes_to.empty()) {
    return Status::Ok();
  }
  return Status::InvalidArgument(
      "the script defines no hook: a global function map, dispatch, delete_key or deletes_to");
}

bool ScriptEngine::Transform(size_t row, std::optional<size_t> before, RowStage& stage) {
  if (state_ == nullptr) {
    if (const Status loaded = Load(); !loaded.ok()) {
      error_ = "the script can't be loaded again: " + loaded.message();
      return false;
    }
  }
  ScriptHost& host = state_->host;
  ++host.call;
  host.hook = "";
  host.current = {&stage.input(), row, before, {}};
  error_ = state_->Run(TransformRow, nullptr);
  const bool good = error_.empty() && StageResults(stage);
  if (!good) {
    error_.insert(0, std::string(host.hook) + ": ");
    stage.Drop();
  }
  host.current = {};
  if (host.stopped != Stopped::kNo) {
    state_.reset();
  } else {
    lua_settop(state_->lua, 0);
  }
  return good;
}

bool ScriptEngine::StageResults(RowStage& stage) {
  lua_State* lua = state_->lua;
  const int results = lua_gettop(lua);
  if (lua_checkstack(lua, 16) == 0) {
    error_ = "too many rows";
    return false;
  }
  for (int i = 1; i < results; i += 2) {
    const std::string_view table = lua_type(lua, i + 1) == LUA_TSTRING ? TextAt(lua, i + 1) : std::string_view();
    if (!StageRow(i, table, stage)) return false;
    if (stage.bytes() > settings_.memory_max) {
      error_ = "its rows are larger than memory-max";
      return false;
    }
  }
  return true;
}

bool ScriptEngine::StageRow(int index, std::string_view table, RowStage& stage) {
  lua_State* lua = state_->lua;
  columns_.clear();
  if (const RowObject* row = RowAt(lua, index); row != nullptr) {
    if (row->call != state_->host.call) {
      error_ = "it gave a row of an earlier call";
      return false;
    }
    if (!row->changed && table.empty()) {
      stage.AddWhole(row->row);
      return true;
    }
    if (!GatherRow(index, stage)) return false;
  } else if (lua_type(lua, index) != LUA_TTABLE) {
    error_ = std::string("it gave ") + KindAt(lua, index) + ", expected a row, a table or nil";
    return false;
  } else if (!GatherTable(index, stage)) {
    return false;
  }
  if (!table.empty()) {
    const std::string& name = settings_.table_column;
    const auto column = std::ranges::find(columns_, name, &RowStage::Column::name);
    const Value value = Value::Text(ValueType::kString, stage.Keep(table));
    if (column != columns_.end()) {
      column->value = value;
    } else {
      columns_.push_back({name, stage.input().schema()->Find(name).value_or(kNew), value});
    }
  }
  if (columns_.empty() || columns_.size() > kColumnsMax) {
    error_ = columns_.empty() ? "it gave a row without columns" : "it gave a row of more than 10000 columns";
    return false;
  }
  stage.Add(columns_);
  return true;
}

bool ScriptEngine::ReadColumn(int index, std::string_view name, RowStage& stage, Value* out) {
  Value& value = *out;
  if (!IsUtf8(name)) {
    error_ = "it gave a row with a column whose name is not UTF-8";
    return false;
  }
  if (const char* problem = ReadValue(state_->lua, index, json_, &value); problem != nullptr) {
    error_ = "column " + Quoted(name) + ": a value can't be " + problem;
    return false;
  }
  if (value.has_text()) value = Value::Text(value.type(), stage.Keep(value.text()));
  return true;
}

bool ScriptEngine::GatherRow(int index, RowStage& stage) {
  lua_State* lua = state_->lua;
  const RowObject row = *RowAt(lua, index);
  const Schema& schema = *stage.input().schema();
  for (size_t c = 0; c < schema.size(); ++c) {
    columns_.push_back({schema.columns()[c], c, stage.input().at(row.row, c)});
  }
  if (!row.changed) return true;
  lua_getiuservalue(lua, index, 1);
  const int changes = lua_gettop(lua);
  for (lua_pushnil(lua); lua_next(lua, changes) != 0; lua_pop(lua, 1)) {
    const std::string_view name = TextAt(lua, -2);
    const size_t rank = schema.Find(name).value_or(kNew);
    if (IsDropped(lua, -1)) {
      if (rank != kNew) columns_[rank].rank = kDropped;
      continue;
    }
    Value value;
    if (!ReadColumn(lua_gettop(lua), name, stage, &value)) return false;
    if (rank == kNew) {
      columns_.push_back({name, kNew, value});
    } else {
      columns_[rank].value = value;
    }
  }
  lua_settop(lua, changes - 1);
  std::erase_if(columns_, [](const RowStage::Column& column) { return column.rank == kDropped; });
  return true;
}

bool ScriptEngine::GatherTable(int index, RowStage& stage) {
  lua_State* lua = state_->lua;
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING) {
      error_ = std::string("it gave a table with ") + KindAt(lua, -2) + " as a column's name";
      return false;
    }
    const std::string_view name = TextAt(lua, -2);
    Value value;
    if (!ReadColumn(lua_gettop(lua), name, stage, &value)) return false;
    columns_.push_back({name, stage.input().schema()->Find(name).value_or(kNew), value});
  }
  return true;
}

}  // namespace weir::operators::script
