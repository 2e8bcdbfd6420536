// `weir state diff`, `export`, `set-offset`, `drop-operator` and `rename-operator`: the state of a checkpoint or
// savepoint without a job that runs.
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/json_escape.h"
#include "base/process.h"
#include "base/random.h"
#include "jobs/commands.h"
#include "jobs/state_diff.h"
#include "jobs/state_edit.h"
#include "jobs/state_text.h"
#include "operators/runtime/enumerator_host.h"
#include "operators/runtime/source_head.h"
#include "state/rocksdb_store.h"

namespace weir::jobs {
namespace {

constexpr uint64_t kStateBytesMax = uint64_t{64} << 20;

// What an offline verb works with.
class Workplace {
 public:
  Result<OfflineState> Open(const std::string& path) {
    return OfflineState::Open({.fs = fs_.get(),
                               .stores = stores_.get(),
                               .budget = &budget_,
                               .random = random_.get(),
                               .temporary_folder = AbsolutePath(EnvironmentVariable("TMPDIR").value_or("/tmp"))},
                              AbsolutePath(path));
  }

 private:
  const std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
  const std::unique_ptr<Random> random_ = NewSystemRandom();
  state::StateBudget budget_{kStateBytesMax};
  const std::unique_ptr<state::LocalStoreFactory> stores_ = state::NewRocksDbStoreFactory(budget_);
};

// What was asked for is not there, or the input or the place can't be used: nothing was changed either way.
ExitCode Failed(const Status& status) {
  std::cerr << "weir: " << status.message() << "\n";
  const bool asked_wrongly = status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kNotFound;
  return asked_wrongly ? ExitCode::kBadUsage : ExitCode::kStartRefused;
}

class Export {
 public:
  Export(const OfflineState& state, const StateExportArguments& arguments) : state_(state), arguments_(arguments) {}

  Status Run() {
    WEIR_RETURN_IF_ERROR(CheckKnown());
    for (const auto& [uid, bytes] : state_.metadata().enumerators) {
      auto snapshot = operators::DecodeEnumeratorSnapshot(bytes);
      if (!snapshot.has_value()) return snapshot.error().WithContext(state_.Name() + ", source \"" + uid + "\"");
      PrintOfEnumerator(uid, std::string(kEnumeratorState), snapshot->enumerator);
      for (const auto& [id, position] : snapshot->finished_splits) {
        PrintOfEnumerator(uid, std::string(operators::kFinishedPrefix) + id, position);
      }
    }
    for (const auto& split : state_.metadata().assigned_splits) {
      PrintOfEnumerator(split.uid, std::string(operators::kSplitPrefix) + split.id, split.position);
    }
    return state_.VisitEntries([this](const StateEntry& entry) {
      if (IsWanted(entry.state->uid, entry.state->name)) std::cout << EntryAsJson(entry) << "\n";
      return std::cout.good() ? Status::Ok() : Status::IoError("standard output can't be written");
    });
  }

 private:
  // A misspelled name would export nothing and look as if there were no state.
  Status CheckKnown() const {
    const checkpoint::CheckpointMetadata& metadata = state_.metadata();
    if (!arguments_.uid.empty()) {
      WEIR_RETURN_IF_ERROR(CheckKnownOperator(metadata, state_.Name(), arguments_.uid));
    }
    return arguments_.state.empty() ? Status::Ok() : CheckKnownState(metadata, state_.Name(), arguments_.state);
  }

  bool IsWanted(const std::string& uid, const std::string& name) const {
    return (arguments_.uid.empty() || uid == arguments_.uid) && (arguments_.state.empty() || name == arguments_.state);
  }

  void PrintOfEnumerator(const std::string& uid, const std::string& name, const std::string& value) const {
    if (!IsWanted(uid, name)) return;
    std::string line = "{\"uid\":";
    AppendJsonString(line, uid);
    line += ",\"state\":";
    AppendJsonString(line, name);
    line += ",\"kind\":\"enumerator\",\"value\":";
    AppendForeignText(line, value);
    std::cout << line << "}\n";
  }

  const OfflineState& state_;
  const StateExportArguments& arguments_;
};

ExitCode Edit(const StateEditArguments& arguments, const std::function<Status(StateEdit&)>& change) {
  Workplace workplace;
  auto input = workplace.Open(arguments.path);
  if (!input.has_value()) return Failed(input.error());
  const SystemClock clock;
  const std::string folder = AbsolutePath(arguments.to);
  StateEdit edit(*input, clock, folder);
  const Status status = change(edit);
  if (!status.ok()) return Failed(status);
  std::cout << "savepoint " << folder << " of job \"" << edit.result().job << "\", id "
            << edit.result().id.id.ToString() << ", made from " << input->Name() << "\n";
  return ExitCode::kOk;
}

}  // namespace

ExitCode StateDiffCommand(const std::string& first, const std::string& second) {
  Workplace workplace;
  const auto a = workplace.Open(first);
  if (!a.has_value()) return Failed(a.error());
  const auto b = workplace.Open(second);
  if (!b.has_value()) return Failed(b.error());
  const auto one = Summarise(*a);
  if (!one.has_value()) return Failed(one.error());
  const auto other = Summarise(*b);
  if (!other.has_value()) return Failed(other.error());
  const std::vector<std::string> differences = Differences(*one, *other);
  for (const std::string& line : differences) std::cout << line << "\n";
  return differences.empty() ? ExitCode::kOk : ExitCode::kDiffers;
}

ExitCode StateExportCommand(const StateExportArguments& arguments) {
  IgnoreBrokenPipes();  // `| head` must not leave the scratch folder behind
  Workplace workplace;
  const auto state = workplace.Open(arguments.path);
  if (!state.has_value()) return Failed(state.error());
  const Status status = Export(*state, arguments).Run();
  std::cout.flush();
  return status.ok() ? ExitCode::kOk : Failed(status);
}

ExitCode StateSetOffsetCommand(const StateEditArguments& arguments, const StateOffsetArguments& offset) {
  return Edit(arguments, [&](StateEdit& edit) {
    return edit.SetOffset({.source = offset.source, .split = offset.split, .change = offset.offset});
  });
}

ExitCode StateDropOperatorCommand(const StateEditArguments& arguments, const std::string& uid) {
  return Edit(arguments, [&](StateEdit& edit) { return edit.DropOperator(uid); });
}

ExitCode StateRenameOperatorCommand(const StateEditArguments& arguments, const std::string& from,
                                    const std::string& to) {
  return Edit(arguments, [&](StateEdit& edit) { return edit.RenameOperator(from, to); });
}

}  // namespace weir::jobs
