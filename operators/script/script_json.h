// JSON for scripts: `json.decode(text)`, `json.encode(value)`, `json.array(table)`, and the text of a table that
// becomes a column. Integers of 64 bits are integers, all other numbers decimals with their text; JSON's null is
// `null`; members come out in the order of their names, so that equal tables give equal texts. See ScriptHost about
// Lua's errors.
#pragma once

#include <string>
#include <string_view>

#include "operators/script/script_host.h"

namespace weir::operators::script {

// Sets the field `json` of the table at the top. May raise.
void OpenJson(lua_State* lua);

// Pushes what the text says. May raise.
void PushJson(lua_State* lua, std::string_view text);
// Appends the value at `index`. Null: done; else why it has no JSON. Raises nothing.
const char* AppendJson(lua_State* lua, int index, std::string& out);

}  // namespace weir::operators::script
