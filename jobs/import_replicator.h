// The command line of CockroachDB's replicator (`replicator kafka ...`, formerly cdc-sink) as a job definition of ours.
// Every flag of its kafka command is mapped, noted as needless with the reason, or refused by name. Secrets do not come
// along: the definition names environment variables in their place. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::jobs {

struct ImportedJob {
  std::string definition;             // JSON; empty if there are problems
  std::vector<std::string> notes;     // "--flushSize: ...": what is otherwise here, one line each
  std::vector<std::string> problems;  // what has no equal, or is not understood
};

// `words`: what stands behind the program's name, with or without "kafka" in front.
ImportedJob ImportReplicator(const std::vector<std::string>& words);

// As a shell takes words apart: blanks, quotes of both kinds, backslashes, line continuations; no variables. False: a
// quote is not closed.
bool SplitWords(std::string_view text, std::vector<std::string>& words);

}  // namespace weir::jobs
