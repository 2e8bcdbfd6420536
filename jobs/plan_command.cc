// `weir plan`: what a start from a checkpoint would do with the state, before anything is stopped. The rules and checks
// are those of a start; what external systems hold is asked at the start alone.
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json_escape.h"
#include "checkpoint/applied_hint.h"
#include "checkpoint/checkpoint_storage.h"
#include "jobs/commands.h"
#include "jobs/definition_command.h"
#include "jobs/definition_systems.h"
#include "jobs/restore_fit.h"

namespace weir::jobs {
namespace {

struct Plan {
  std::string folder;
  checkpoint::CheckpointMetadata checkpoint;
  checkpoint::OperatorMatch match;
  std::string key_groups;  // what changes, for people; empty: nothing
  uint32_t key_groups_now = 0;
  std::vector<OperatorFate> fates;
  std::vector<Misfit> problems;  // a start is refused

  ExitCode Outcome() const {
    if (!problems.empty()) return ExitCode::kStartRefused;
    for (const OperatorFate& fate : fates) {
      if (fate.kind != OperatorFate::Kind::kRestored) return ExitCode::kStateChanges;
    }
    return ExitCode::kOk;
  }
};

// No problem yet: what waits now may be there by the time of the start.
void ReportRemovedSystems(const JobDefinition& job, const Connections& connections, Plan& plan) {
  if (plan.checkpoint.job != job.name) return;  // a clone's systems begin anew
  const std::set<std::string> defined = SystemsOf(job, connections.registry());
  const std::string root = JoinPath(job.checkpoint.storage, job.name);
  for (const checkpoint::SystemProgress& listed : plan.checkpoint.systems) {
    if (defined.contains(listed.identity)) continue;
    const auto hint = checkpoint::ReadAppliedHint(connections.file_system(), root, listed.identity);
    const uint64_t rows = checkpoint::Unconfirmed(listed, hint).Rows();
    plan.match.report.push_back(
        {LogLevel::kInfo, "system " + listed.identity + " is in no sink any more" +
                              (rows == 0 ? ""
                                         : ", and " + std::to_string(rows) +
                                               " rows wait for it: as long as they do, a start wants --drop-output " +
                                               listed.identity)});
  }
}

Result<Plan> MakePlan(const PlanArguments& arguments, const JobDefinition& job, const Connections& connections) {
  FileSystem& fs = connections.file_system();
  const std::string path = arguments.from.empty() ? JoinPath(job.checkpoint.storage, job.name) : arguments.from;
  Plan plan;
  WEIR_ASSIGN_OR_RETURN(plan.folder, checkpoint::FindCheckpointFolder(fs, path));
  WEIR_ASSIGN_OR_RETURN(plan.checkpoint, checkpoint::ReadCheckpointFolder(fs, plan.folder));
  WEIR_RETURN_IF_ERROR(checkpoint::VerifyCheckpointFolder(fs, plan.folder, plan.checkpoint,
                                                          checkpoint::CheckpointStorage::Verify::kChecksums));
  checkpoint::RestoreRequest request;
  request.allow_non_restored_state = arguments.allow_non_restored_state;
  request.map_operators = arguments.map_operators;
  const JobGraph graph = JobGraph::Build(job, connections.registry());
  plan.match = MatchOperators(request, graph.StatefulUids(job), plan.checkpoint);
  const SystemClock clock;
  const RestoreTarget target{&job, &graph, &connections.registry(), &clock};
  plan.problems = FindMisfits(target, plan.checkpoint, plan.match.renamed);
  if (!plan.match.refusal.ok()) plan.problems.push_back({{}, plan.match.refusal});
  plan.key_groups = KeyGroupsChange(job, plan.checkpoint);
  plan.key_groups_now = job.key_groups;
  plan.fates = FatesOf(target, plan.checkpoint, plan.match);
  ReportRemovedSystems(job, connections, plan);
  return plan;
}

std::string_view Name(ExitCode outcome) {
  if (outcome == ExitCode::kOk) return "restored";
  return outcome == ExitCode::kStateChanges ? "changed" : "refused";
}

void Print(const Plan& plan) {
  std::cout << (plan.checkpoint.savepoint ? "savepoint at checkpoint " : "checkpoint ") << plan.checkpoint.id.number
            << " of job \"" << plan.checkpoint.job << "\" in " << plan.folder << "\n";
  if (!plan.key_groups.empty()) std::cout << "  " << plan.key_groups << "\n";
  for (const OperatorFate& fate : plan.fates) std::cout << "  " << ToString(fate) << "\n";
  for (const checkpoint::ReportLine& line : plan.match.report) std::cout << "  " << line.text << "\n";
  for (const Misfit& problem : plan.problems) {
    std::cout << "  refused: " << (problem.uid.empty() ? "" : "operator '" + problem.uid + "': ")
              << problem.cause.message() << "\n";
  }
  switch (plan.Outcome()) {
    case ExitCode::kOk: std::cout << "a start restores everything\n"; break;
    case ExitCode::kStateChanges: std::cout << "a start succeeds, with state that is new or left behind\n"; break;
    default: std::cout << "a start is refused\n";
  }
}

void AppendMember(std::string& out, std::string_view name, std::string_view text) {
  out += out.ends_with('{') ? "" : ",";
  AppendJsonString(out, name);
  out += ':';
  AppendJsonString(out, text);
}

std::string AsJson(const OperatorFate& fate) {
  std::string json = "{";
  AppendMember(json, "uid", fate.uid);
  constexpr std::string_view kKinds[] = {"restored", "new", "dropped"};
  AppendMember(json, "state", kKinds[static_cast<size_t>(fate.kind)]);
  if (fate.kind == OperatorFate::Kind::kRestored) AppendMember(json, "from", fate.stored_uid);
  if (fate.parallelism_before != 0) json += ",\"parallelism-before\":" + std::to_string(fate.parallelism_before);
  if (fate.parallelism != 0) json += ",\"parallelism\":" + std::to_string(fate.parallelism);
  json += ",\"names\":[";
  for (const std::string& state : fate.states) {
    if (!json.ends_with('[')) json += ',';
    AppendJsonString(json, state);
  }
  return json + "]}";
}

std::string AsJson(const Plan& plan) {
  std::string json = "{";
  AppendMember(json, "result", Name(plan.Outcome()));
  AppendMember(json, "checkpoint", plan.folder);
  AppendMember(json, "id", plan.checkpoint.id.id.ToString());
  json += ",\"number\":" + std::to_string(plan.checkpoint.id.number);
  json += ",\"key-groups-before\":" + std::to_string(plan.checkpoint.key_groups);
  json += ",\"key-groups\":" + std::to_string(plan.key_groups_now) + ",\"operators\":[";
  for (const OperatorFate& fate : plan.fates) json += (json.ends_with('[') ? "" : ",") + AsJson(fate);
  json += "],\"notes\":[";
  for (const checkpoint::ReportLine& line : plan.match.report) {
    json += json.ends_with('[') ? "" : ",";
    AppendJsonString(json, line.text);
  }
  json += "],\"problems\":[";
  for (const Misfit& problem : plan.problems) {
    json += json.ends_with('[') ? "{" : ",{";
    if (!problem.uid.empty()) AppendMember(json, "uid", problem.uid);
    AppendMember(json, "problem", problem.cause.message());
    json += '}';
  }
  return json + "]}";
}

}  // namespace

ExitCode PlanCommand(const PlanArguments& arguments) {
  const Connections connections;
  const auto parsed = LoadInstance(arguments.definition, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;
  const auto plan = MakePlan(arguments, parsed->job, connections);
  if (!plan.has_value()) {
    std::cerr << "weir: " << plan.error().message() << "\n";
    return ExitCode::kStartRefused;
  }
  if (arguments.json) {
    std::cout << AsJson(*plan) << "\n";
  } else {
    Print(*plan);
  }
  return plan->Outcome();
}

}  // namespace weir::jobs
