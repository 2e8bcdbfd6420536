// The Lua side of a call and of loading: C functions that run under lua_pcall. See ScriptHost about Lua's errors.
#pragma once

#include "operators/script/script_host.h"

namespace weir::operators::script {

struct ScriptSource {
  const char* name;  // as Lua shows it
  const char* text;
  size_t size;
};

// Argument: a ScriptSource as light userdata. Makes the environment, runs the text in it and leaves nothing. From then
// on the globals that it has made are read only. Notes the hooks in the host.
int LoadScript(lua_State* lua);
// No argument. Runs the hooks for the host's current row and leaves its results: a row or a table, and the name of a
// table or nil, and so on.
int TransformRow(lua_State* lua);
// The table of the globals that the script has made, at the top. Raises nothing.
void PushGlobals(lua_State* lua);

}  // namespace weir::operators::script
