// The part of a definition that is the same for every job: the job's own settings and what each node has besides its
// type's options. From these lists come the check, the published schema and the documentation. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "jobs/job_definition.h"
#include "operators/options.h"

namespace weir::jobs {

// The type of operator that gives rows their key.
inline constexpr std::string_view kKeyByType = "key_by";
// Names of jobs and ids of nodes: both become names of files and folders.
bool IsId(std::string_view text);
// The same as a regular expression that any engine knows, and in words.
inline constexpr std::string_view kIdPattern =
    "^([A-Za-z0-9_.-]{3,100}|[A-Za-z0-9_-][A-Za-z0-9_.-]?|\\.[A-Za-z0-9_-])$";
inline constexpr std::string_view kIdInWords = "letters, digits, _ . -, at most 100, neither . nor ..";

// "sources", "operators", "sinks".
std::string_view ListName(NodeKind kind);
// "a source", "an operator", "a sink".
std::string_view NodeNoun(NodeKind kind);
// The key that names a node's type: "connector" or, for operators, "type".
std::string_view TypeKey(NodeKind kind);

// The job's members; the three lists of nodes stand in it as lists without members.
std::vector<operators::OptionSpec> JobSpecs();
// What every node of that kind may have: id, connector or type, parallelism, input, inputs, edge.
std::vector<operators::OptionSpec> NodeSpecs(NodeKind kind);
// Those and the type's own.
std::vector<operators::OptionSpec> NodeSpecs(NodeKind kind, const std::vector<operators::OptionSpec>& of_type);

}  // namespace weir::jobs
