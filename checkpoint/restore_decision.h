// The rules R2 to R4 of a start as pure functions: which checkpoint, and what each external system lacks. restore.h is
// the shell that gathers the facts and acts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"
#include "checkpoint/checkpoint_storage.h"
#include "checkpoint/committer.h"

namespace weir::checkpoint {

// What the user asked for. A restart inside the process asks for kLatest whatever the command line said.
struct RestoreRequest {
  enum class From : uint8_t {
    kLatest,  // the newest in storage; nothing found is a first start
    kNone,    // begin anew
    kPath,    // the checkpoint or savepoint that `path` means (FindCheckpointFolder)
  };
  From from = From::kLatest;
  std::string path;
  std::optional<uint64_t> rewind;     // --rewind: the newest number, said by who accepts doubled output behind `path`
  std::optional<uint64_t> assume;     // --assume: the checkpoint of a system whose marker is gone
  std::set<std::string> drop_output;  // --drop-output: systems whose unconfirmed output may be lost
  bool claim = false;                 // --claim: the savepoint at `path` is the job's from now on (checkpoint/claim.h)
  bool allow_non_restored_state = false;
  std::map<std::string, std::string> map_operators;  // --map-operator: uid in the checkpoint -> uid in the definition
};

// What is known of one system of the definition.
struct SystemFact {
  std::string identity;
  bool reachable = true;
  std::optional<Marker> marker;  // as read; meaningless if not reachable
};

struct RestoreFacts {
  std::string job;
  UniqueId storage;
  std::string storage_path;                  // for messages
  std::optional<CheckpointMetadata> newest;  // the newest whole one in storage
  std::vector<DamagedCheckpoint> damaged;    // newer ones, not whole
  uint64_t greatest_number = 0;              // of any folder
  bool first_published = false;
  std::optional<CheckpointMetadata> chosen;  // at request.path
  std::vector<SystemFact> systems;           // of the definition
  std::set<std::string> uids;                // of the definition's operators with state
  std::map<std::string, CheckpointId>
      applied_hints;  // from applied/<system>, of these systems and of those in `newest`
};

enum class RestoreAction : uint8_t {
  kFirstStart,     // nothing there: publish an empty checkpoint
  kResume,         // go on from `newest`
  kPublishChosen,  // publish `chosen` as the next number
  kPublishEmpty,   // begin anew behind what is there
};

// What one system needs.
struct SystemStart {
  SystemProgress progress;  // base: its marker now; later: to be applied, in order
  bool reachable = true;    // false: fence, read, decide and sign before the first apply
  bool is_new = false;      // the checkpoint does not list it
  // Who wrote the marker that the start read, 0: there was none; nothing: it was not read.
  std::optional<UniqueId> seen_attempt = {};
};

// Said to people at the start: what was passed over, dropped or assumed. A warning where something was lost, or was not
// as this job had left it.
struct ReportLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

// What becomes of a checkpoint's state in a definition.
struct OperatorMatch {
  state::StateOwners renamed = {};  // of map_operators, what this checkpoint has: uid in it -> uid in the definition
  std::vector<std::string> dropped = {};  // have state in the checkpoint and nobody in the definition
  Status refusal = {};                    // kFailedPrecondition: a start with this request is refused
  std::vector<ReportLine> report = {};
};
// `uids`: of the definition's operators with state.
OperatorMatch MatchOperators(const RestoreRequest& request, const std::set<std::string>& uids,
                             const CheckpointMetadata& checkpoint);

struct RestoreDecision {
  RestoreAction action = RestoreAction::kFirstStart;
  uint64_t next_number = 1;  // above every number in storage and in a marker
  std::vector<SystemStart> systems;
  state::StateOwners renamed;  // of the checkpoint that is taken, as OperatorMatch says
  std::vector<ReportLine> report;
};

// What waits for a system as far as its hint tells (checkpoint/applied_hint.h).
SystemProgress Unconfirmed(const SystemProgress& listed, const std::optional<CheckpointId>& hint);

// kFailedPrecondition: refused, nothing may be changed. kUnavailable: a system that this start needs can't be reached.
Result<RestoreDecision> DecideRestore(const RestoreRequest& request, const RestoreFacts& facts);

// What system `progress.identity` lacks when its marker is `marker` (R2): `progress` from the marker on.
// kFailedPrecondition, naming the storage that wrote the marker, if the line of `progress` does not know it.
Result<SystemProgress> ProgressFromMarker(const SystemProgress& progress, const std::optional<Marker>& marker);

}  // namespace weir::checkpoint
