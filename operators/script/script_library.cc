#include "operators/script/script_library.h"

#include <lua5.4/lua.hpp>

#include <string_view>

#include "operators/script/script_json.h"
#include "operators/script/script_row.h"
#include "operators/script/script_values.h"

namespace weir::operators::script {
namespace {

// Work that one call of a library function may do on a table before the bounds are looked at again.
constexpr lua_Unsigned kElementsMax = 1'000'000;

// The library's own function is the upvalue. It runs in C over a table's length, so that it only gets plain tables
// (__index, __len would make them endless) of a bounded length.
int OnPlainTable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_getmetatable(lua, 1) != 0) {
    const bool array = lua_topointer(lua, -1) == HostOf(lua).array_metatable;
    lua_pop(lua, 1);
    if (!array) return luaL_error(lua, "functions of `table` take tables without a metatable");
  }
  if (lua_rawlen(lua, 1) > kElementsMax) return luaL_error(lua, "the table has more than a million elements");
  CheckTime(lua);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// string.rep without its endless loop over nothing.
int Repeat(lua_State* lua) {
  size_t size = 0;
  size_t separator = 0;
  luaL_checklstring(lua, 1, &size);
  luaL_optlstring(lua, 3, "", &separator);
  if (size + separator == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  CheckTime(lua);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// setmetatable without __gc, which would run where nothing can stop it.
int SetMetatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_type(lua, 2) != LUA_TNIL) luaL_checktype(lua, 2, LUA_TTABLE);
  if (luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL) return luaL_error(lua, "cannot change this metatable");
  lua_settop(lua, 2);
  if (lua_type(lua, 2) == LUA_TTABLE) {
    lua_pushliteral(lua, "__gc");
    if (lua_rawget(lua, 2) != LUA_TNIL) return luaL_error(lua, "a script has no __gc");
    lua_pop(lua, 1);
  }
  lua_setmetatable(lua, 1);
  return 1;
}

int RefuseWrite(lua_State* lua) {
  return luaL_error(lua,
                    "%s can't be assigned: what a script remembers from row to row would be lost at a restart (use "
                    "local)",
                    lua_tostring(lua, lua_upvalueindex(1)));
}

// Of the library's table at the top: the functions of that name go through `wrapper`.
void Wrap(lua_State* lua, const char* name, lua_CFunction wrapper) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, wrapper, 1);
  lua_setfield(lua, -2, name);
}

void Remove(lua_State* lua, const char* name) {
  lua_pushnil(lua);
  lua_setfield(lua, -2, name);
}

// The functions of the basic library that a script keeps. No pcall: a script can't outlive its bounds.
void OpenBase(lua_State* lua) {
  luaL_requiref(lua, "_G", luaopen_base, 0);
  for (const char* name : {"assert", "error", "getmetatable", "ipairs", "rawequal", "rawget", "rawlen", "select",
                           "tonumber", "tostring", "type", "_VERSION"}) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -3, name);
  }
  lua_pop(lua, 1);
  lua_pushcfunction(lua, SetMetatable);
  lua_setfield(lua, -2, "setmetatable");
}

void OpenString(lua_State* lua) {
  luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 0);
  Remove(lua, "dump");
  Wrap(lua, "rep", Repeat);
  OpenPatterns(lua);
  // The methods of texts: s:find(...). What they have in common is not for scripts to change.
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 2);
  MakeReadOnly(lua, LUA_STRLIBNAME);
  lua_setfield(lua, -2, LUA_STRLIBNAME);
}

void OpenTable(lua_State* lua) {
  luaL_requiref(lua, LUA_TABLIBNAME, luaopen_table, 0);
  lua_getfield(lua, -1, "sort");
  lua_setfield(lua, LUA_REGISTRYINDEX, "weir.sort");
  Remove(lua, "move");
  for (const char* name : {"concat", "insert", "remove", "sort", "unpack"}) Wrap(lua, name, OnPlainTable);
  MakeReadOnly(lua, LUA_TABLIBNAME);
  lua_setfield(lua, -2, LUA_TABLIBNAME);
}

void OpenMath(lua_State* lua) {
  luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 0);
  Remove(lua, "random");
  Remove(lua, "randomseed");
  MakeReadOnly(lua, LUA_MATHLIBNAME);
  lua_setfield(lua, -2, LUA_MATHLIBNAME);
  luaL_requiref(lua, LUA_UTF8LIBNAME, luaopen_utf8, 0);
  MakeReadOnly(lua, LUA_UTF8LIBNAME);
  lua_setfield(lua, -2, LUA_UTF8LIBNAME);
}

}  // namespace

void MakeReadOnly(lua_State* lua, const char* name) {
  lua_newtable(lua);
  lua_createtable(lua, 0, 3);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushstring(lua, name);
  lua_pushcclosure(lua, RefuseWrite, 1);
  lua_setfield(lua, -2, "__newindex");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_remove(lua, -2);
}

void OpenLibrary(lua_State* lua) {
  OpenBase(lua);
  OpenString(lua);
  OpenTable(lua);
  OpenMath(lua);
  OpenValues(lua);
  OpenRows(lua);
  OpenJson(lua);
  lua_getfield(lua, -1, "json");
  MakeReadOnly(lua, "json");
  lua_setfield(lua, -2, "json");
}

}  // namespace weir::operators::script
