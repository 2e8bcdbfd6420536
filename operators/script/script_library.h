// What a script may use: the parts of Lua's own library that read nothing of the world, give the same in every process
// and end within the bounds, and Weir's values, rows and JSON. See ScriptHost about Lua's errors.
#pragma once

#include "operators/script/script_host.h"

namespace weir::operators::script {

// Fills the table at the top with all of it. May raise.
void OpenLibrary(lua_State* lua);

// Puts string.find, match, gmatch and gsub over PatternMatcher into the table at the top. May raise.
void OpenPatterns(lua_State* lua);

// Replaces the table at the top by one that reads it and refuses to be written. May raise.
void MakeReadOnly(lua_State* lua, const char* name);

}  // namespace weir::operators::script
