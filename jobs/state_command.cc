// `weir state show`: a checkpoint for people. Reads `_metadata` alone; no job has to run.
#include <iomanip>
#include <iostream>
#include <map>
#include <set>

#include "base/file_system.h"
#include "checkpoint/checkpoint_metadata.h"
#include "checkpoint/checkpoint_storage.h"
#include "jobs/commands.h"

namespace weir::jobs {
namespace {

struct OperatorSummary {
  uint64_t subtasks = 0;
  std::set<std::string> states;
  std::map<uint32_t, std::string> offsets;  // by subtask
};

std::map<std::string, OperatorSummary> SummariseOperators(const checkpoint::CheckpointMetadata& metadata) {
  std::map<std::string, OperatorSummary> operators;
  for (const auto& vertex : metadata.vertices) {
    for (const std::string& uid : vertex.uids) operators[uid].subtasks = vertex.parallelism;
    for (const auto& subtask : vertex.subtasks) {
      for (const auto& state : subtask.state.states) {
        operators[state.uid].states.insert(state.name + " (" + state.kind + ", " + state.codec + ")");
      }
      for (const auto& [uid, offsets] : subtask.offsets) operators[uid].offsets[subtask.index] = offsets;
    }
  }
  return operators;
}

void PrintOperators(const checkpoint::CheckpointMetadata& metadata) {
  std::cout << "operators\n";
  for (const auto& [uid, summary] : SummariseOperators(metadata)) {
    std::cout << "  " << uid << "  parallelism " << summary.subtasks << "\n";
    for (const std::string& state : summary.states) std::cout << "    state " << state << "\n";
    for (const auto& [subtask, offsets] : summary.offsets) {
      std::cout << "    offsets of subtask " << subtask << ": " << offsets << "\n";
    }
  }
  for (const auto& split : metadata.assigned_splits) {
    std::cout << "  " << split.uid << "  begins split " << split.id << " at " << split.position << "\n";
  }
}

void PrintSizes(const checkpoint::CheckpointMetadata& metadata) {
  std::cout << "state files\n";
  for (const auto& vertex : metadata.vertices) {
    for (const auto& subtask : vertex.subtasks) {
      uint64_t bytes = 0;
      for (const auto& file : subtask.state.files) bytes += file.size_bytes;
      std::cout << "  vertex " << vertex.vertex << " subtask " << subtask.index << ": " << subtask.state.files.size()
                << " files, " << bytes << " bytes, of these new " << subtask.state.bytes_new
                << (subtask.finished ? ", finished" : "") << "\n";
    }
  }
  std::cout << "  in all " << metadata.StateBytes() << " bytes\n";
}

void PrintSystems(const checkpoint::CheckpointMetadata& metadata) {
  if (metadata.systems.empty()) return;
  std::cout << "systems\n";
  for (const auto& system : metadata.systems) {
    std::cout << "  " << system.identity << "  had checkpoint "
              << (system.base.has_value() ? std::to_string(system.base->number) : "none") << "\n";
    for (const auto& output : system.later) {
      uint64_t rows = 0;
      for (const auto& committable : output.committables) rows += committable.rows;
      std::cout << "    checkpoint " << output.checkpoint.number << ": " << output.committables.size() << " parts, "
                << rows << " rows\n";
    }
  }
}

}  // namespace

ExitCode StateShowCommand(const std::string& path) {
  const auto fs = NewPosixFileSystem();
  const auto folder = checkpoint::FindCheckpointFolder(*fs, path);
  if (!folder.has_value()) {
    std::cerr << "weir: " << folder.error().message() << "\n";
    return ExitCode::kBadUsage;
  }
  const auto metadata = checkpoint::ReadCheckpointFolder(*fs, *folder);
  if (!metadata.has_value()) {
    std::cerr << "weir: " << metadata.error().ToString() << "\n";
    return ExitCode::kStartRefused;
  }
  std::cout << (metadata->savepoint ? "savepoint at checkpoint " : "checkpoint ") << metadata->id.number << " of job \""
            << metadata->job << "\"\n"
            << "  id " << metadata->id.id.ToString() << "\n"
            << "  storage " << metadata->storage.ToString() << "\n"
            << "  attempt " << metadata->attempt.ToString() << "\n"
            << "  key groups " << metadata->key_groups << "\n";
  for (const CheckpointId& from : metadata->restored_from) {
    std::cout << "  comes from checkpoint " << from.number << ", id " << from.id.ToString() << "\n";
  }
  PrintOperators(*metadata);
  PrintSizes(*metadata);
  PrintSystems(*metadata);
  return ExitCode::kOk;
}

}  // namespace weir::jobs
