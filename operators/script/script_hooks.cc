#include "operators/script/script_hooks.h"

#include <lua5.4/lua.hpp>

#include "operators/script/script_json.h"
#include "operators/script/script_library.h"
#include "operators/script/script_row.h"
#include "operators/script/script_values.h"
#include "operators/utf8.h"

namespace weir::operators::script {
namespace {

// Keys of Lua's registry.
constexpr char kGlobalsAddress = 0;
constexpr char kMapAddress = 0;
constexpr char kDispatchAddress = 0;
constexpr char kDeleteKeyAddress = 0;
constexpr char kDeletesToAddress = 0;

int SetGlobal(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kGlobalsAddress);
  lua_insert(lua, 2);
  lua_rawset(lua, 2);
  return 0;
}

int RefuseGlobal(lua_State* lua) {
  return luaL_error(lua,
                    "the global %s can't be assigned here: what a script remembers from row to row would be lost at a "
                    "restart (use local)",
                    luaL_tolstring(lua, 2, nullptr));
}

// The script's own globals, read through to the library. At the top: the table that stands for them in the script.
void PushEnvironment(lua_State* lua) {
  lua_newtable(lua);  // stands for the globals, always empty
  lua_createtable(lua, 0, 3);
  lua_newtable(lua);  // the globals
  lua_createtable(lua, 0, 1);
  lua_newtable(lua);
  OpenLibrary(lua);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pushvalue(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kGlobalsAddress);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, SetGlobal);
  lua_setfield(lua, -2, "__newindex");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
}

// Keeps the global function of that name in the registry.
bool TakeHook(lua_State* lua, const char* name, const char* address) {
  PushGlobals(lua);
  lua_pushstring(lua, name);
  const bool found = lua_rawget(lua, -2) == LUA_TFUNCTION;
  lua_rawsetp(lua, LUA_REGISTRYINDEX, address);
  lua_pop(lua, 1);
  return found;
}

void PushHook(lua_State* lua, const char* name, const char* address) {
  HostOf(lua).hook = name;
  lua_rawgetp(lua, LUA_REGISTRYINDEX, address);
}

std::string_view StringAt(lua_State* lua, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(lua, index, &size);
  return {text, size};
}

// The name of a table from what a hook gave, kept by the stack; false: none, the row goes nowhere.
bool CheckTableName(lua_State* lua, int index) {
  if (lua_type(lua, index) == LUA_TNIL) return false;
  if (lua_type(lua, index) != LUA_TSTRING) luaL_error(lua, "expected the name of a table, got %s", KindAt(lua, index));
  if (!IsUtf8(StringAt(lua, index))) luaL_error(lua, "the name of a table is not UTF-8");
  return true;
}

// The key as the script sees it: a JSON list as a table, anything else as it is.
void PushKey(lua_State* lua, int row) {
  const ScriptHost& host = HostOf(lua);
  lua_pushlstring(lua, host.key_column.data(), host.key_column.size());
  lua_gettable(lua, row);
  const Value* object = ObjectAt(lua, -1);
  std::string_view text;
  if (lua_type(lua, -1) == LUA_TSTRING) text = StringAt(lua, -1);
  if (object != nullptr && object->type() == ValueType::kJson) text = object->text();
  if (!text.starts_with('[')) return;
  PushJson(lua, text);
  lua_remove(lua, -2);
}

void PushEncoded(lua_State* lua, int index) {
  std::string& text = HostOf(lua).scratch;
  text.clear();
  if (const char* problem = AppendJson(lua, index, text); problem != nullptr) luaL_error(lua, "%s", problem);
  lua_pushlstring(lua, text.data(), text.size());
}

// Sets the row's key from what delete_key gave at the top, and pops that. A key that is the same keeps its text.
bool SetKey(lua_State* lua, int row, int old_key) {
  const ScriptHost& host = HostOf(lua);
  if (lua_type(lua, -1) == LUA_TNIL) return false;
  if (lua_type(lua, -1) == LUA_TTABLE) {
    if (lua_type(lua, old_key) == LUA_TTABLE) {
      PushEncoded(lua, old_key);
      PushEncoded(lua, -2);
      const bool same = lua_rawequal(lua, -1, -2) != 0;
      lua_pop(lua, 2);
      if (same) {
        lua_pop(lua, 1);
        return true;
      }
    }
    PushEncoded(lua, -1);
    lua_remove(lua, -2);
  }
  lua_pushlstring(lua, host.key_column.data(), host.key_column.size());
  lua_insert(lua, -2);
  lua_settable(lua, row);
  return true;
}

// A deletion that goes by its key: delete_key, then deletes_to.
int TransformDeletion(lua_State* lua) {
  ScriptHost& host = HostOf(lua);
  PushRow(lua, host.current.row);
  if (host.has_delete_key) {
    PushKey(lua, 1);
    PushHook(lua, "delete_key", &kDeleteKeyAddress);
    PushKey(lua, 1);
    PushMeta(lua);
    lua_call(lua, 2, 1);
    if (!SetKey(lua, 1, 2)) return 0;
    lua_settop(lua, 1);
  }
  if (host.has_deletes_to) {
    PushHook(lua, "deletes_to", &kDeletesToAddress);
    lua_pushvalue(lua, 1);
    PushMeta(lua);
    lua_call(lua, 2, 1);
    if (!CheckTableName(lua, 2)) return 0;
  } else if (!host.deletes_to.empty()) {
    lua_pushlstring(lua, host.deletes_to.data(), host.deletes_to.size());
  } else {
    lua_pushnil(lua);
  }
  return 2;
}

// Replaces the row at the top by what map makes of it; false: nothing, and it is popped.
bool Map(lua_State* lua) {
  PushHook(lua, "map", &kMapAddress);
  lua_insert(lua, -2);
  PushMeta(lua);
  lua_call(lua, 2, 1);
  if (lua_type(lua, -1) != LUA_TNIL) return true;
  lua_pop(lua, 1);
  return false;
}

// The rows of one table of what dispatch gave, each with the table's name behind it.
void PushDispatched(lua_State* lua, int rows, int name) {
  ScriptHost& host = HostOf(lua);
  host.hook = "dispatch";
  if (lua_type(lua, rows) != LUA_TTABLE) {
    luaL_error(lua, "expected a list of rows for the table %s, got %s", lua_tostring(lua, name), KindAt(lua, rows));
  }
  const auto count = static_cast<lua_Integer>(lua_rawlen(lua, rows));
  if (count == 0) {
    lua_pushnil(lua);
    if (lua_next(lua, rows) != 0) {
      luaL_error(lua, "expected a list of rows for the table %s, got one row: {row}", lua_tostring(lua, name));
    }
  }
  for (lua_Integer i = 1; i <= count; ++i) {
    luaL_checkstack(lua, 8, "too many rows");
    lua_rawgeti(lua, rows, i);
    host.current.table = StringAt(lua, name);
    if (host.has_map && !Map(lua)) continue;
    lua_pushvalue(lua, name);
  }
}

int Dispatch(lua_State* lua) {
  ScriptHost& host = HostOf(lua);
  PushHook(lua, "dispatch", &kDispatchAddress);
  PushRow(lua, host.current.row);
  PushMeta(lua);
  lua_call(lua, 2, 1);
  if (lua_type(lua, 1) == LUA_TNIL) return 0;
  if (lua_type(lua, 1) != LUA_TTABLE) {
    return luaL_error(lua, "expected a table of lists of rows by the name of their table, got %s", KindAt(lua, 1));
  }
  PushSortedKeys(lua, 1);
  const auto tables = static_cast<lua_Integer>(lua_rawlen(lua, 2));
  for (lua_Integer i = 1; i <= tables; ++i) {
    luaL_checkstack(lua, 8, "too many rows");
    lua_rawgeti(lua, 2, i);
    CheckTableName(lua, -1);
    // Name and rows stay below the results, in place of the key list's copy.
    const int name = lua_gettop(lua);
    lua_pushvalue(lua, name);
    lua_rawget(lua, 1);
    const int rows = lua_gettop(lua);
    PushDispatched(lua, rows, name);
    lua_remove(lua, rows);
    lua_remove(lua, name);
  }
  host.current.table = {};
  return lua_gettop(lua) - 2;
}

}  // namespace

int LoadScript(lua_State* lua) {
  const auto* source = static_cast<const ScriptSource*>(lua_touserdata(lua, 1));
  lua_settop(lua, 0);
  PushEnvironment(lua);
  if (luaL_loadbufferx(lua, source->text, source->size, source->name, "t") != LUA_OK) return lua_error(lua);
  lua_pushvalue(lua, 1);
  lua_setupvalue(lua, 2, 1);
  lua_call(lua, 0, 0);
  PushGlobals(lua);
  lua_pushliteral(lua, "deletes_to");
  if (lua_rawget(lua, -2) == LUA_TSTRING) {
    size_t size = 0;
    const char* text = lua_tolstring(lua, -1, &size);
    HostOf(lua).deletes_to.assign(text, size);
  }
  lua_settop(lua, 1);
  ScriptHost& host = HostOf(lua);
  host.has_map = TakeHook(lua, "map", &kMapAddress);
  host.has_dispatch = TakeHook(lua, "dispatch", &kDispatchAddress);
  host.has_delete_key = TakeHook(lua, "delete_key", &kDeleteKeyAddress);
  host.has_deletes_to = TakeHook(lua, "deletes_to", &kDeletesToAddress);
  lua_getmetatable(lua, 1);
  lua_pushcfunction(lua, RefuseGlobal);
  lua_setfield(lua, -2, "__newindex");
  return 0;
}

int TransformRow(lua_State* lua) {
  ScriptHost& host = HostOf(lua);
  const bool deletion = host.current.batch->kind(host.current.row) == RowKind::kDelete;
  if (deletion && (host.has_delete_key || host.has_deletes_to || !host.deletes_to.empty())) {
    return TransformDeletion(lua);
  }
  if (host.has_dispatch) return Dispatch(lua);
  PushRow(lua, host.current.row);
  if (host.has_map && !Map(lua)) return 0;
  lua_pushnil(lua);
  return 2;
}

void PushGlobals(lua_State* lua) { lua_rawgetp(lua, LUA_REGISTRYINDEX, &kGlobalsAddress); }

}  // namespace weir::operators::script
