// Entries of state as JSON, one object each, for people and scripts. Decoded by the recorded type alone: no definition,
// no code of the operator. Pure; any thread.
//
//   {"uid":"totals","state":"groups","kind":"value","key":["c1"],"value":{...}}
//
// Beside "key" and "value": "index" of a list's element ("length" in the entry that counts them), "member" of a map,
// "time" and "namespace" of a timer. Numbers keep every digit. What can't be decoded is there as "key-hex",
// "namespace-hex", "value-hex", and then the recorded type as "codec".
#pragma once

#include <string>
#include <string_view>

#include "jobs/offline_state.h"

namespace weir::jobs {

// What an enumerator's own state is called beside its splits' (operators/runtime/source_head.h).
inline constexpr std::string_view kEnumeratorState = "enumerator";

// Without a line end.
std::string EntryAsJson(const StateEntry& entry);

// A text of a connector's own: as it is if it is one line of JSON, else as a string, or {"hex":"0a"} if it is no UTF-8.
void AppendForeignText(std::string& out, std::string_view text);

}  // namespace weir::jobs
