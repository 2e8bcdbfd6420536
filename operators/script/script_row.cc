#include "operators/script/script_row.h"

#include <lua5.4/lua.hpp>

#include <charconv>
#include <cstring>
#include <new>
#include <system_error>

#include "operators/script/script_json.h"
#include "operators/script/script_values.h"

namespace weir::operators::script {
namespace {

constexpr lua_Integer kKeysMax = 1'000'000;

constexpr char kDroppedAddress = 0;
// Registry keys.
constexpr char kMetaAddress = 0;
constexpr char kRowMetatableAddress = 0;

RowObject& CheckRow(lua_State* lua, int index) {
  auto* row = const_cast<RowObject*>(RowAt(lua, index));
  if (row == nullptr) luaL_error(lua, "expected a row, got %s", KindAt(lua, index));
  if (row->call != HostOf(lua).call) luaL_error(lua, "this row was given to an earlier call: copy(row) may be kept");
  return *row;
}

// The column's value in the batch; nothing if there is no such column.
const Value* ColumnOf(const ScriptHost& host, const RowObject& row, std::string_view name) {
  const std::optional<size_t> column = host.current.batch->schema()->Find(name);
  return column.has_value() ? &host.current.batch->at(row.row, *column) : nullptr;
}

int RowIndex(lua_State* lua) {
  const RowObject& row = CheckRow(lua, 1);
  if (lua_type(lua, 2) != LUA_TSTRING) return luaL_error(lua, "a column's name is a string, not %s", KindAt(lua, 2));
  if (row.changed) {
    lua_getiuservalue(lua, 1, 1);
    lua_pushvalue(lua, 2);
    lua_rawget(lua, -2);
    if (IsDropped(lua, -1)) {
      lua_pushnil(lua);
      return 1;
    }
    if (lua_type(lua, -1) != LUA_TNIL) return 1;
  }
  size_t size = 0;
  const char* name = lua_tolstring(lua, 2, &size);
  const Value* value = ColumnOf(HostOf(lua), row, {name, size});
  PushValue(lua, value == nullptr ? Value::Absent() : *value);
  return 1;
}

int RowNewIndex(lua_State* lua) {
  RowObject& row = CheckRow(lua, 1);
  if (lua_type(lua, 2) != LUA_TSTRING) return luaL_error(lua, "a column's name is a string, not %s", KindAt(lua, 2));
  lua_settop(lua, 3);
  if (!row.changed) {
    lua_newtable(lua);
    lua_pushvalue(lua, -1);
    lua_setiuservalue(lua, 1, 1);
    row.changed = true;
  } else {
    lua_getiuservalue(lua, 1, 1);
  }
  lua_pushvalue(lua, 2);
  if (lua_type(lua, 3) == LUA_TNIL) {
    lua_pushlightuserdata(lua, const_cast<char*>(&kDroppedAddress));
  } else {
    lua_pushvalue(lua, 3);
  }
  lua_rawset(lua, 4);
  return 0;
}

// A table of the row's columns, at the top.
void PushColumns(lua_State* lua, int index) {
  const RowObject& row = CheckRow(lua, index);
  const ScriptHost& host = HostOf(lua);
  const Schema& schema = *host.current.batch->schema();
  lua_createtable(lua, 0, static_cast<int>(schema.size()));
  for (size_t c = 0; c < schema.size(); ++c) {
    const std::string& name = schema.columns()[c];
    lua_pushlstring(lua, name.data(), name.size());
    PushValue(lua, host.current.batch->at(row.row, c));
    lua_rawset(lua, -3);
  }
  if (!row.changed) return;
  lua_getiuservalue(lua, index, 1);
  for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pop(lua, 1)) {
    lua_pushvalue(lua, -2);
    if (IsDropped(lua, -2)) {
      lua_pushnil(lua);
    } else {
      lua_pushvalue(lua, -2);
    }
    lua_rawset(lua, -6);
  }
  lua_pop(lua, 1);
}

// copy(row or table): a plain table with the same members.
int Copy(lua_State* lua) {
  if (RowAt(lua, 1) != nullptr) {
    PushColumns(lua, 1);
    return 1;
  }
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_newtable(lua);
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, -2);
    lua_rawset(lua, -5);
  }
  return 1;
}

bool KeyIsLess(lua_State* lua, int a, int b) {
  const bool a_text = lua_type(lua, a) == LUA_TSTRING;
  const bool b_text = lua_type(lua, b) == LUA_TSTRING;
  if (a_text != b_text) return b_text;
  if (!a_text) return lua_compare(lua, a, b, LUA_OPLT) != 0;
  size_t a_size = 0;
  size_t b_size = 0;
  const char* a_begin = lua_tolstring(lua, a, &a_size);
  const char* b_begin = lua_tolstring(lua, b, &b_size);
  return std::string_view(a_begin, a_size) < std::string_view(b_begin, b_size);
}

// table.sort's comparison.
int CompareKeys(lua_State* lua) {
  lua_pushboolean(lua, KeyIsLess(lua, 1, 2) ? 1 : 0);
  return 1;
}

// State of an iteration: upvalues are the table, its sorted keys, the place.
int NextPair(lua_State* lua) {
  const lua_Integer i = lua_tointeger(lua, lua_upvalueindex(3)) + 1;
  lua_pushinteger(lua, i);
  lua_replace(lua, lua_upvalueindex(3));
  if (lua_rawgeti(lua, lua_upvalueindex(2), i) == LUA_TNIL) return 1;
  lua_pushvalue(lua, -1);
  lua_rawget(lua, lua_upvalueindex(1));
  return 2;
}

// pairs, in an order that is the same in every process.
int Pairs(lua_State* lua) {
  if (RowAt(lua, 1) != nullptr) {
    PushColumns(lua, 1);
  } else {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_pushvalue(lua, 1);
  }
  PushSortedKeys(lua, lua_gettop(lua));
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, NextPair, 3);
  return 1;
}

// The row's column of that name, if it has one.
bool PushColumn(lua_State* lua, std::string_view name) {
  const ScriptHost& host = HostOf(lua);
  const std::optional<size_t> column = host.current.batch->schema()->Find(name);
  if (!column.has_value()) return false;
  PushValue(lua, host.current.batch->at(host.current.row, *column));
  return true;
}

int MetaIndex(lua_State* lua) {
  size_t size = 0;
  const char* text = luaL_checklstring(lua, 2, &size);
  const std::string_view name(text, size);
  const ScriptHost& host = HostOf(lua);
  const CurrentRow& current = host.current;
  if (current.batch == nullptr) return luaL_error(lua, "meta is of a call");
  const EventTime time = current.batch->time(current.row);
  const bool timed = time != EventTime::Min();
  if (name == "table") {
    if (!current.table.empty()) {
      lua_pushlstring(lua, current.table.data(), current.table.size());
      return 1;
    }
    return PushColumn(lua, host.table_column) ? 1 : 0;
  }
  if (name == "key") return PushColumn(lua, host.key_column) ? 1 : 0;
  if (name == "kind") {
    const std::string_view kind = RowKindName(current.batch->kind(current.row));
    lua_pushlstring(lua, kind.data(), kind.size());
  } else if (name == "time" && timed) {
    lua_pushfstring(lua, "%I.", static_cast<LUAI_UACINT>(time.wall_ns));
    char digits[11] = "0000000000";
    int32_t left = time.logical;
    for (int i = 9; i >= 0; --i, left /= 10) digits[i] = static_cast<char>('0' + left % 10);
    lua_pushstring(lua, digits);
    lua_concat(lua, 2);
  } else if (name == "wall_ns" && timed) {
    lua_pushinteger(lua, time.wall_ns);
  } else if (name == "logical" && timed) {
    lua_pushinteger(lua, time.logical);
  } else if (name == "before" && current.before.has_value()) {
    PushRow(lua, *current.before);
  } else if (name == "topic" || name == "partition" || name == "offset") {
    return PushColumn(lua, name) ? 1 : 0;
  } else {
    lua_pushnil(lua);
  }
  return 1;
}

int MetaNewIndex(lua_State* lua) { return luaL_error(lua, "meta can't be changed"); }

void MakeMetatable(lua_State* lua, lua_CFunction index, lua_CFunction new_index) {
  lua_createtable(lua, 0, 4);
  lua_pushcfunction(lua, index);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, new_index);
  lua_setfield(lua, -2, "__newindex");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
}

}  // namespace

void OpenRows(lua_State* lua) {
  MakeMetatable(lua, RowIndex, RowNewIndex);
  HostOf(lua).row_metatable = lua_topointer(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kRowMetatableAddress);
  lua_newuserdatauv(lua, 0, 0);
  MakeMetatable(lua, MetaIndex, MetaNewIndex);
  lua_setmetatable(lua, -2);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kMetaAddress);
  lua_pushcfunction(lua, Pairs);
  lua_setfield(lua, -2, "pairs");
  lua_pushcfunction(lua, Copy);
  lua_setfield(lua, -2, "copy");
}

void PushRow(lua_State* lua, size_t row) {
  new (lua_newuserdatauv(lua, sizeof(RowObject), 1)) RowObject{HostOf(lua).call, row, false};
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kRowMetatableAddress);
  lua_setmetatable(lua, -2);
}

void PushMeta(lua_State* lua) { lua_rawgetp(lua, LUA_REGISTRYINDEX, &kMetaAddress); }

const RowObject* RowAt(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TUSERDATA || lua_getmetatable(lua, index) == 0) return nullptr;
  const bool ours = lua_topointer(lua, -1) == HostOf(lua).row_metatable;
  lua_pop(lua, 1);
  return ours ? static_cast<const RowObject*>(lua_touserdata(lua, index)) : nullptr;
}

bool IsDropped(lua_State* lua, int index) {
  return lua_type(lua, index) == LUA_TLIGHTUSERDATA && lua_touserdata(lua, index) == &kDroppedAddress;
}

void PushSortedKeys(lua_State* lua, int index) {
  luaL_checkstack(lua, 8, nullptr);
  CheckTime(lua);
  lua_getfield(lua, LUA_REGISTRYINDEX, "weir.sort");
  lua_newtable(lua);
  lua_Integer count = 0;
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    const int type = lua_type(lua, -2);
    if (type != LUA_TSTRING && type != LUA_TNUMBER) {
      luaL_error(lua, "pairs of a table with %s as a key has no order", KindAt(lua, -2));
    }
    if (count == kKeysMax) luaL_error(lua, "pairs of a table with more than a million keys");
    lua_pushvalue(lua, -2);
    lua_rawseti(lua, -4, ++count);
  }
  lua_pushvalue(lua, -1);
  lua_insert(lua, -3);
  lua_pushcfunction(lua, CompareKeys);
  lua_call(lua, 2, 0);
}

}  // namespace weir::operators::script
