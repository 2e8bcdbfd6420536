// Values of rows as values of scripts, exact both ways:
//
//   null <-> `null`, a value of its own     absent <-> nil     bool, string: Lua's
//   int64 <-> integer    double <-> float   json <- table (a json column's text comes as an object)
//   decimal, bytes, date, time, timestamp, timestamptz, json text <-> an object that holds the value as it is
//
// The objects print, compare, and (decimals) calculate through operators/decimal.h: nothing goes through a float unless
// the script says :float(). See ScriptHost for the rules about Lua's errors.
#pragma once

#include <string>

#include "operators/script/script_host.h"
#include "operators/value.h"

namespace weir::operators::script {

// The metatable of value objects, and the functions null, decimal, bytes, date, time, timestamp, timestamptz, typeof of
// the table at the top. May raise.
void OpenValues(lua_State* lua);

// May raise for want of memory.
void PushValue(lua_State* lua, const Value& value);
void PushNull(lua_State* lua);
bool IsNull(lua_State* lua, int index);

// The value at `index`, of which text points to Lua's memory: it holds as long as the value is on Lua's stack or in a
// table there. Tables become JSON in `json`. Null: it is there; else why it can't be a column's value. Raises nothing.
const char* ReadValue(lua_State* lua, int index, std::string& json, Value* out);
// Null if the value at `index` is not one of our objects. Raises nothing.
const Value* ObjectAt(lua_State* lua, int index);
// "a table", "a decimal": for messages. Raises nothing.
const char* KindAt(lua_State* lua, int index);

}  // namespace weir::operators::script
