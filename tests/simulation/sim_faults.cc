#include "tests/simulation/sim_faults.h"

#include <utility>

#include "base/check.h"

namespace weir::simulation {

std::string_view OperationKindName(OperationKind kind) {
  switch (kind) {
    case OperationKind::kOpenForWrite: return "open for write";
    case OperationKind::kAppend: return "append";
    case OperationKind::kSync: return "sync";
    case OperationKind::kClose: return "close";
    case OperationKind::kRename: return "rename";
    case OperationKind::kLink: return "link";
    case OperationKind::kRemove: return "remove";
    case OperationKind::kRemoveTree: return "remove tree";
    case OperationKind::kCreateDirectories: return "create directories";
    case OperationKind::kSyncDirectory: return "sync directory";
    case OperationKind::kLock: return "lock";
    case OperationKind::kOpenForRead: return "open for read";
    case OperationKind::kRead: return "read";
    case OperationKind::kStatOpen: return "stat open file";
    case OperationKind::kList: return "list";
    case OperationKind::kStat: return "stat";
    case OperationKind::kFreeBytes: return "free bytes";
  }
  return "unknown";
}

bool ChangesDisk(OperationKind kind) { return kind <= OperationKind::kLock; }

void SimFaults::Arm(Fault fault) {
  WEIR_CHECK_GT(fault.nth, uint64_t{0});
  faults_.push_back({std::move(fault), 0});
}

std::optional<FaultAction> SimFaults::Strike(OperationKind kind, const std::string& path,
                                             const std::string& other_path) {
  std::optional<FaultAction> action;
  for (Armed& armed : faults_) {
    const Fault& fault = armed.fault;
    const bool kind_matches = fault.kind.has_value() ? *fault.kind == kind : ChangesDisk(kind);
    const bool path_matches = path.find(fault.path_part) != std::string::npos ||
                              (!other_path.empty() && other_path.find(fault.path_part) != std::string::npos);
    if (!kind_matches || !path_matches) continue;
    ++armed.seen;
    const bool strikes = armed.seen == fault.nth || (fault.forever && armed.seen > fault.nth);
    if (strikes && !action.has_value()) action = fault.action;
  }
  return action;
}

}  // namespace weir::simulation
