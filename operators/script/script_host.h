// What the C functions of a script's environment share: its bounds, and the row that is being worked on. One for each
// Lua state, reached through it (HostOf), used on the task's thread alone.
//
// Lua's errors are longjmps. A function that Lua calls, or that calls anything of Lua's that may raise (all that
// allocates or meets a metamethod), holds no object with a destructor in that moment; texts in the making live in
// `scratch`. What reads results outside of a protected call uses only raw accesses, which raise nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "operators/batch.h"

// NOLINTNEXTLINE(readability-identifier-naming): Lua's own name
struct lua_State;

namespace weir::operators::script {

// Why a call was stopped from outside.
enum class Stopped : uint8_t { kNo, kTime, kMemory };

// The row that a hook sees.
struct CurrentRow {
  const Batch* batch = nullptr;
  size_t row = 0;
  std::optional<size_t> before;  // the -U row of the same change
  std::string_view table;        // that dispatch or deletes_to have named; empty: the row's own
};

struct ScriptHost {
  // Set once.
  const Clock* clock = nullptr;
  size_t memory_max = 0;
  Duration time_max{};
  std::string table_column;
  std::string key_column;
  std::string deletes_to;  // a table; empty: none, or the script's function
  // Of the state.
  bool has_map = false;
  bool has_dispatch = false;
  bool has_delete_key = false;
  bool has_deletes_to = false;  // as a function
  size_t memory = 0;
  const void* value_metatable = nullptr;  // they tell our objects apart without asking Lua for a name
  const void* row_metatable = nullptr;
  const void* array_metatable = nullptr;
  // Of the call.
  MonotonicTime deadline{};
  uint64_t instructions_left = 0;
  Stopped stopped = Stopped::kNo;
  uint64_t call = 0;  // counts calls: a row belongs to one
  const char* hook = "";
  CurrentRow current;
  std::string scratch;
};

ScriptHost& HostOf(lua_State* lua);
// Raises if the time is over: for library functions that work for long in C.
void CheckTime(lua_State* lua);
bool TimeIsOver(ScriptHost& host);

}  // namespace weir::operators::script
