#include "tests/checkpoint/fake_job.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace weir::checkpoint {

void ProcessLife::Kill() {
  dead = true;
  machine->fs.Arm({.forever = true, .action = simulation::FaultAction::kCrashBefore});
}

FakeJob::FakeJob(Machine& machine, std::vector<FakeSystem*> systems, std::string job)
    : machine_(machine), systems_(std::move(systems)), job_(std::move(job)), life_{.machine = &machine} {}

FakeJob::~FakeJob() { EndAttempt(); }

void FakeJob::EndAttempt() {
  workers_.DropAll();
  coordinator_.reset();
  committers_.clear();
  commands_.clear();
  sealed_.clear();
  files_of_.clear();
}

StartContext FakeJob::ContextOf() {
  StartContext context;
  context.storage = storage_.get();
  context.clock = &machine_.clock;
  context.random = &machine_.random;
  context.attempt = restored_.attempt;
  context.systems = &committers_;
  context.uids = uids;
  context.key_groups = 128;
  context.retain = options.retain;
  return context;
}

Status FakeJob::Start(const RestoreRequest& request) {
  if (storage_ == nullptr) {
    WEIR_ASSIGN_OR_RETURN(storage_, CheckpointStorage::Open(machine_.fs, kStorage, job_, machine_.random));
  }
  restored_ = {};
  restored_.attempt = machine_.random.NextId();
  committers_.clear();
  for (FakeSystem* system : systems_) {
    committers_.push_back(
        {.identity = system->identity,
         .committer = std::make_unique<FakeCommitter>(*system, restored_.attempt, [this] { return life_.Dead(); })});
  }
  const StartContext context = ContextOf();
  WEIR_ASSIGN_OR_RETURN(restored_, StartAttempt(request, context));
  if (!restored_.checkpoint.has_value()) {
    WEIR_RETURN_IF_ERROR(PublishFirst(context, {{"source", "1"}}, {}, restored_));
  }
  WEIR_RETURN_IF_ERROR(RestoreTask());
  CoordinatorPorts ports{.clock = &machine_.clock,
                         .random = &machine_.random,
                         .workers = &workers_,
                         .wakeup = &wakeup_,
                         .storage = storage_.get(),
                         .coordinated = this,
                         .unsealed_bytes = [this] { return unsealed_bytes; }};
  JobShape shape{.key_groups = 128, .vertices = {{.vertex = 0, .uids = {"source"}, .parallelism = 1}}};
  coordinator_ = std::make_unique<CheckpointCoordinator>(options, ports, shape, restored_, std::move(committers_));
  committers_.clear();
  coordinator_->Start({{.subtask = {}, .participant = this, .source = true}});
  return Status::Ok();
}

Status FakeJob::RestoreTask() {
  offset_ = 0;
  files_.clear();
  const CheckpointMetadata& checkpoint = *restored_.checkpoint;
  for (const VertexMetadata& vertex : checkpoint.vertices) {
    for (const SubtaskMetadata& subtask : vertex.subtasks) files_ = subtask.state.files;
  }
  for (const state::StateFile& file : files_) {
    WEIR_ASSIGN_OR_RETURN(const std::string content, ReadFile(machine_.fs, JoinPath(storage_->root(), file.path)));
    WEIR_CHECK_EQ(Hash64(content), file.checksum);
    offset_ = std::stoull(content);
  }
  sealed_to_ = offset_;
  offset_of[checkpoint.id.number] = offset_;
  return Status::Ok();
}

bool FakeJob::StepTask() {
  if (commands_.empty()) return false;
  const Command command = commands_.front();
  const uint64_t number = command.barrier.id.number;
  if (command.kind == Command::Kind::kTrigger && withhold_snapshots) return false;
  commands_.pop_front();
  if (command.kind == Command::Kind::kDurable) {
    std::erase_if(sealed_, [number](const Sealed& sealed) { return sealed.number <= number; });
    if (files_of_.contains(number)) files_ = files_of_[number];
    std::erase_if(files_of_, [number](const auto& entry) { return entry.first <= number; });
    return true;
  }
  Result<SubtaskSnapshot> snapshot = Cut(command.barrier);
  coordinator_->Acknowledge({}, command.barrier.id, std::move(snapshot));
  return true;
}

Result<SubtaskSnapshot> FakeJob::Cut(const CheckpointBarrier& barrier) {
  const uint64_t number = barrier.id.number;
  if (offset_ > sealed_to_) {
    for (FakeSystem* system : systems_) sealed_.push_back({number, system->identity, sealed_to_ + 1, offset_});
    sealed_to_ = offset_;
  }
  offset_of[number] = offset_;
  SubtaskSnapshot snapshot;
  for (const Sealed& sealed : sealed_)
    snapshot.committables.push_back(RangeOf(sealed.system, sealed.first, sealed.last));
  snapshot.offsets["source"] = std::to_string(offset_);
  snapshot.finished = at_end;
  const std::string content = std::to_string(offset_);
  state::StateFile file{.name = "state-" + std::to_string(number),
                        .path = "shared/" + restored_.attempt.ToString() + "-0-" + std::to_string(number),
                        .size_bytes = content.size(),
                        .checksum = Hash64(content)};
  const std::string path = JoinPath(storage_->root(), file.path);
  WEIR_ASSIGN_OR_RETURN(const auto handle, machine_.fs.OpenForWrite(path, WriteMode::kCreateNew));
  WEIR_RETURN_IF_ERROR(handle->Append(content));
  WEIR_RETURN_IF_ERROR(handle->Close());
  if (fail_snapshots > 0) {
    --fail_snapshots;
    return Error(Status::IoError("no space"));
  }
  // Three files of earlier checkpoints live on, so that checkpoints share files.
  snapshot.state.files = files_;
  if (snapshot.state.files.size() > 3) snapshot.state.files.erase(snapshot.state.files.begin());
  snapshot.state.files.push_back(file);
  snapshot.state.states = {{.uid = "source", .name = "splits", .kind = "operator", .codec = "text", .id = 1}};
  snapshot.state.bytes_new = content.size();
  files_of_[number] = snapshot.state.files;
  return snapshot;
}

void FakeJob::Settle() {
  for (bool progress = true; progress;) {
    progress = StepTask();
    progress |= coordinator_->Step();
    progress |= RunOneWorkerJob();
  }
}

uint64_t FakeJob::Checkpoint() {
  coordinator_->TriggerNow(AfterBarrier::kGoOn);
  Settle();
  return coordinator_->stats().last_number;
}

Result<std::map<std::string, std::string>> FakeJob::Snapshot(CheckpointId /*id*/) {
  return std::map<std::string, std::string>{{"source", std::to_string(offset_)}};
}

void FakeJob::TriggerCheckpoint(const CheckpointBarrier& barrier) {
  commands_.push_back({Command::Kind::kTrigger, barrier});
}

// P2: what is told to the sources as applied every system must hold.
void FakeJob::NotifyCheckpointApplied(CheckpointId id) {
  applied_.push_back(id.number);
  for (FakeSystem* system : systems_) {
    if (system->rows.size() < offset_of[id.number] && system->broken.empty()) {
      system->broken = "checkpoint " + std::to_string(id.number) + " is called applied too early";
    }
  }
}

void FakeJob::NotifyCheckpointAborted(CheckpointId id) { aborted_.push_back(id.number); }

void FakeJob::NotifyCheckpointDurable(CheckpointId id) {
  commands_.push_back({Command::Kind::kDurable, CheckpointBarrier{.id = id}});
}

void CopyStorage(simulation::SimFileSystem& from, simulation::SimFileSystem& to, const std::string& folder) {
  WEIR_CHECK(to.CreateDirectories(folder).ok());
  const auto names = from.List(folder);
  WEIR_CHECK(names.has_value());
  for (const std::string& name : *names) {
    const std::string path = JoinPath(folder, name);
    if (from.Stat(path)->directory) {
      CopyStorage(from, to, path);
      continue;
    }
    const auto content = ReadFile(from, path);
    WEIR_CHECK(content.has_value());
    WEIR_CHECK(WriteFileDurably(to, path, *content).ok());
  }
  WEIR_CHECK(to.SyncDirectory(folder).ok());
}

}  // namespace weir::checkpoint
