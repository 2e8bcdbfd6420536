// The two things a hook is given: the row, which reads the batch's columns only when the script asks for them and keeps
// what the script sets beside them, and `meta`, which tells where the row comes from. Both are of the one call: a row
// that a script keeps for later answers with an error. See ScriptHost about Lua's errors.
#pragma once

#include <cstdint>

#include "operators/script/script_host.h"

namespace weir::operators::script {

struct RowObject {
  uint64_t call = 0;
  size_t row = 0;
  bool changed = false;  // its user value is then a table: column -> value, or DroppedMark for one that is gone
};

// The metatables, `meta` (kept in the registry), and the functions pairs and copy of the table at the top. May raise.
void OpenRows(lua_State* lua);

// May raise for want of memory.
void PushRow(lua_State* lua, size_t row);
void PushMeta(lua_State* lua);

// Null if the value at `index` is no row. Raises nothing.
const RowObject* RowAt(lua_State* lua, int index);
// True for the value that stands for a column that the script has set to nil. Raises nothing.
bool IsDropped(lua_State* lua, int index);

// Pushes the keys of the table at `index` as a list: numbers, then strings, each in order. May raise.
void PushSortedKeys(lua_State* lua, int index);

}  // namespace weir::operators::script
