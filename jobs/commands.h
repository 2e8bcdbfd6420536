// What each verb of the command line does, with its arguments already taken apart (jobs/main.cc). Every function prints
// results to standard output and problems to standard error, and answers with the process's exit code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/http_server.h"
#include "base/process.h"
#include "jobs/exit_code.h"

namespace weir::jobs {

struct DefinitionArguments {
  std::string path;                                            // of the definition
  std::vector<std::pair<std::string, std::string>> overrides;  // --set path=value
  std::string instance;                                        // --instance; empty: none
};

struct RunArguments {
  DefinitionArguments definition;
  std::string restore = "latest";        // latest | none | path as of StateShowCommand
  std::optional<uint64_t> rewind;        // --rewind=N: the newest checkpoint that may be given up
  std::optional<uint64_t> assume;        // --assume N: what a system without a marker is taken to have
  std::vector<std::string> drop_output;  // systems whose waiting output may be dropped
  bool claim = false;                    // the savepoint at `restore` is given to the job
  bool allow_non_restored_state = false;
  std::map<std::string, std::string> map_operators;  // uid in the checkpoint -> uid in the definition
  uint32_t workers = 0;                              // threads that run tasks; 0: the machine's cores
  bool quiet = false;                                // no status lines
  std::optional<HttpAddress> metrics;                // instead of what the definition says
};

// `signals` was made first of all, so that a stop may come at any time.
ExitCode RunCommand(const RunArguments& arguments, SignalWaiter& signals);

struct SuperviseArguments {
  DefinitionArguments definition;
  std::vector<std::string> command;  // this binary and its words, without --supervise
};
// `weir run --supervise`: the same in a child process, which is started again if it dies by a signal.
ExitCode SuperviseCommand(const SuperviseArguments& arguments, SignalWaiter& signals);

struct PlanArguments {
  DefinitionArguments definition;
  std::string from;  // as StateShowCommand; empty: the newest checkpoint in the definition's storage
  bool allow_non_restored_state = false;
  std::map<std::string, std::string> map_operators;
  bool json = false;
};
// `weir plan`: what a start from a checkpoint would do with each operator's state. Takes no lock, reaches no system.
// kOk: everything is restored and has an owner; kStateChanges; kStartRefused.
ExitCode PlanCommand(const PlanArguments& arguments);

struct SavepointArguments {
  DefinitionArguments definition;  // says where the running job's storage is
  std::string folder;              // for the savepoint; empty: none
  bool stop = false;
  bool drain = false;
};
// `weir savepoint` and `weir stop`: asks the running job and waits.
ExitCode SavepointCommand(const SavepointArguments& arguments);
ExitCode ValidateCommand(const DefinitionArguments& arguments);
// `weir preflight`: asks the systems that sources and sinks name, one line a finding. Changes nothing, takes no lock.
// kProblems: the job would not run.
ExitCode PreflightCommand(const DefinitionArguments& arguments);
// `path`: a checkpoint's folder, its `_metadata`, or a job's folder (its newest checkpoint).
ExitCode StateShowCommand(const std::string& path);

// The verbs below read and write checkpoints and savepoints without a job; paths as above. kBadUsage: there is no such
// checkpoint, or nothing in it that fits what was asked for; kStartRefused: it is damaged, or the place for a new one
// can't be used. Nothing was written then.

// Prints what differs; kDiffers if something does.
ExitCode StateDiffCommand(const std::string& first, const std::string& second);

struct StateExportArguments {
  std::string path;
  std::string uid;    // of one operator; empty: all
  std::string state;  // the name of one state; empty: all
};
// One line of JSON for each entry (jobs/state_text.h).
ExitCode StateExportCommand(const StateExportArguments& arguments);

struct StateEditArguments {
  std::string path;
  std::string to;  // a new or empty folder: the savepoint that is written
};
struct StateOffsetArguments {
  std::string source;
  std::string split;
  std::string offset;  // as ChangePosition takes it (jobs/position_edit.h)
};
ExitCode StateSetOffsetCommand(const StateEditArguments& arguments, const StateOffsetArguments& offset);
ExitCode StateDropOperatorCommand(const StateEditArguments& arguments, const std::string& uid);
ExitCode StateRenameOperatorCommand(const StateEditArguments& arguments, const std::string& from,
                                    const std::string& to);
// `words`: a replicator's command line, as one word or as many. The definition goes to standard output, what differs
// here to standard error. kBadUsage: what has no equal, or is not understood; no definition then.
ExitCode ImportReplicatorCommand(const std::vector<std::string>& words);
// The JSON schema of definitions, as published in jobs/job.schema.json.
ExitCode SchemaCommand();
ExitCode ListFaultSitesCommand();

struct DemoArguments {
  std::string self;  // how to start this binary again
  uint64_t rows = 400'000;
  std::string directory;  // empty: a new one under the system's temporary folder, removed at the end
};
// The main job on an embedded mock Kafka cluster, killed with -9 midway and restored; proves its totals. A stop before
// that is a failure, because nothing is proven.
ExitCode DemoCommand(const DemoArguments& arguments, SignalWaiter& signals);

}  // namespace weir::jobs
