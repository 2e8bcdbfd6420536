#include "jobs/job_builder.h"

#include <algorithm>

#include "jobs/restore_fit.h"
#include "state/key_groups.h"

namespace weir::jobs {
namespace {

operators::Partitioning PartitioningOf(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kAuto:
    case EdgeKind::kForward: return operators::Partitioning::kForward;
    case EdgeKind::kHash: return operators::Partitioning::kHash;
    case EdgeKind::kRebalance: return operators::Partitioning::kRebalance;
    case EdgeKind::kBroadcast: return operators::Partitioning::kBroadcast;
  }
  return operators::Partitioning::kForward;
}

}  // namespace

Status JobBuilder::Build() {
  attempt_ = job_.ports_.random->NextId();
  job_.graph_ = JobGraph::Build(job_.definition_, *job_.ports_.registry);
  WEIR_RETURN_IF_ERROR(CreateConnectors());
  auto storage = checkpoint::CheckpointStorage::Open(*job_.ports_.file_system, job_.definition_.checkpoint.storage,
                                                     job_.definition_.name, *job_.ports_.random);
  if (!storage.has_value()) return storage.error();
  job_.storage_ = std::move(*storage);
  WEIR_RETURN_IF_ERROR(CreateCommitters());
  WEIR_RETURN_IF_ERROR(Restore());
  plan_ = MakeExecutionPlan(job_.definition_, job_.graph_,
                            restored_.checkpoint.has_value() ? &*restored_.checkpoint : nullptr, restored_.renamed);
  job_.snapshots_ = job_.ports_.workers->NewWorker("weir-snapshots");
  AddSlots();
  WEIR_RETURN_IF_ERROR(CreateHosts());
  CreateChannels();
  WEIR_RETURN_IF_ERROR(CreateTasks());
  WireHosts();
  BeginControl();
  return Status::Ok();
}

Status JobBuilder::CreateConnectors() {
  job_.sources_.resize(job_.definition_.nodes.size());
  job_.sinks_.resize(job_.definition_.nodes.size());
  for (size_t i = 0; i < job_.definition_.nodes.size(); ++i) {
    const NodeDefinition& node = job_.definition_.nodes[i];
    if (node.kind == NodeKind::kSource) {
      auto source = job_.ports_.registry->FindSource(node.type)->create(node.options);
      if (!source.has_value()) return source.error().WithContext(node.id);
      job_.sources_[i] = std::move(*source);
    } else if (node.kind == NodeKind::kSink) {
      auto sink = job_.ports_.registry->FindSink(node.type)->create(node.options);
      if (!sink.has_value()) return sink.error().WithContext(node.id);
      job_.sinks_[i] = std::move(*sink);
    }
  }
  return Status::Ok();
}

Status JobBuilder::CreateCommitters() {
  operators::CommitterContext context;
  context.job = job_.definition_.name;
  context.attempt = attempt_;
  context.file_system = job_.ports_.file_system;
  context.output_folder = job_.storage_->OutputFolder();
  context.clock = job_.ports_.clock;
  context.metrics = &job_.metrics_;
  std::set<std::string> seen;
  for (size_t i = 0; i < job_.sinks_.size(); ++i) {
    const auto& sink = job_.sinks_[i];
    if (sink == nullptr || sink->system().empty() || !seen.insert(sink->system()).second) continue;
    auto committer = sink->CreateCommitter(context);
    if (!committer.has_value()) return committer.error().WithContext(job_.definition_.nodes[i].id);
    job_.systems_.push_back({sink->system(), std::move(*committer)});
  }
  return Status::Ok();
}

checkpoint::StartContext JobBuilder::StartContextOf() const {
  checkpoint::StartContext start;
  start.storage = job_.storage_.get();
  start.clock = job_.ports_.clock;
  start.random = job_.ports_.random;
  start.attempt = attempt_;
  start.systems = &job_.systems_;
  start.uids = job_.graph_.StatefulUids(job_.definition_);
  start.key_groups = job_.definition_.key_groups;
  start.retain = job_.definition_.checkpoint.retain;
  return start;
}

Status JobBuilder::Restore() {
  checkpoint::StartContext start = StartContextOf();
  const RestoreTarget target{&job_.definition_, &job_.graph_, job_.ports_.registry, job_.ports_.clock};
  start.fits = [&target](const checkpoint::CheckpointMetadata& checkpoint, const state::StateOwners& renamed) {
    return CheckFits(target, checkpoint, renamed);
  };
  WEIR_ASSIGN_OR_RETURN(restored_, StartAttempt(options_.restore, start));
  job_.report_ = restored_.report;
  const std::string in = " in " + job_.storage_->root();
  if (restored_.checkpoint.has_value()) {
    job_.report_.insert(job_.report_.begin(),
                        {.text = "goes on from checkpoint " + std::to_string(restored_.checkpoint->id.number) + in});
    if (std::string change = KeyGroupsChange(job_.definition_, *restored_.checkpoint); !change.empty()) {
      job_.report_.push_back({.text = std::move(change)});
    }
    for (const OperatorFate& fate : FatesOf(target, *restored_.checkpoint, {.renamed = restored_.renamed})) {
      job_.report_.push_back({.text = ToString(fate)});
    }
  } else if (restored_.is_first_start) {
    job_.report_.insert(job_.report_.begin(), {.text = "first start: there is no checkpoint" + in});
  }
  return Status::Ok();
}

void JobBuilder::AddSlots() {
  control_slot_ = &job_.ports_.executor->AddSlot(operators::Executor::kControlLane);
  job_.control_ = std::make_unique<JobControl>(control_slot_->wakeup());
  // Each vertex begins a lane further on: a job at parallelism 1 uses as many cores as it has vertices.
  uint32_t first_lane = 0;
  for (const Vertex& vertex : job_.graph_.vertices) {
    for (uint32_t i = 0; i < vertex.parallelism; ++i) {
      slots_[{vertex.id, i}] = &job_.ports_.executor->AddSlot(first_lane + i);
    }
    ++first_lane;
  }
}

Status JobBuilder::CreateHosts() {
  for (const Vertex& vertex : job_.graph_.vertices) {
    const size_t head = vertex.nodes.front();
    if (job_.sources_[head] == nullptr) continue;
    const std::string& uid = job_.definition_.nodes[head].id;
    host_slots_[head] = &job_.ports_.executor->AddSlot(operators::Executor::kControlLane);
    operators::EnumeratorHostOptions host;
    host.uid = uid;
    host.parallelism = vertex.parallelism;
    auto enumerator = job_.sources_[head]->CreateEnumerator();
    if (!enumerator.has_value()) return enumerator.error().WithContext(uid);
    host.enumerator = std::move(*enumerator);
    if (restored_.checkpoint.has_value()) {
      const std::string stored_uid = StoredUid(uid, restored_.renamed);
      const auto it = restored_.checkpoint->enumerators.find(stored_uid);
      if (it != restored_.checkpoint->enumerators.end()) host.restored = it->second;
      for (const auto& split : restored_.checkpoint->assigned_splits) {
        if (split.uid == stored_uid) host.assigned.push_back({split.id, split.position});
      }
    }
    host.clock = job_.ports_.clock;
    host.workers = job_.ports_.workers;
    host.wakeup = &host_slots_[head]->wakeup();
    host.metrics = &job_.metrics_;
    JobControl* control = job_.control_.get();
    host.on_failure = [control](const Status& cause) { control->Fail(cause); };  // names the source
    job_.hosts_.push_back(std::make_unique<operators::EnumeratorHost>(std::move(host)));
    host_of_[head] = job_.hosts_.back().get();
  }
  return Status::Ok();
}

void JobBuilder::CreateChannels() {
  uint64_t count = 0;
  for (const Edge& edge : job_.graph_.edges) {
    count += uint64_t{job_.graph_.vertices[edge.from].parallelism} * job_.graph_.vertices[edge.to].parallelism;
  }
  // A quarter of what is left beside the state: rows under way elsewhere (sources, sinks, operators) need the rest.
  const uint64_t memory = job_.definition_.memory_bytes_max;
  const uint64_t rest = memory - std::min(memory, job_.definition_.state_bytes_max);
  channel_options_.bytes_max =
      std::clamp<uint64_t>(rest / 4 / std::max<uint64_t>(count, 1), 64 * 1024, 4 * 1024 * 1024);
  for (const Edge& edge : job_.graph_.edges) {
    const uint32_t from_parallelism = job_.graph_.vertices[edge.from].parallelism;
    const uint32_t to_parallelism = job_.graph_.vertices[edge.to].parallelism;
    for (uint32_t from = 0; from < from_parallelism; ++from) {
      operators::OutputEdge output;
      output.uid = job_.definition_.nodes[edge.from_node].id;
      output.tag = edge.side_tag;
      output.partitioning = PartitioningOf(edge.kind);
      outputs_[{edge.from, from}].push_back(std::move(output));
      for (uint32_t to = 0; to < to_parallelism; ++to) {
        if (edge.kind == EdgeKind::kForward && from != to) continue;
        CreateChannel(edge, from, to);
      }
    }
  }
}

void JobBuilder::CreateChannel(const Edge& edge, uint32_t from, uint32_t to) {
  job_.channels_.push_back(std::make_unique<operators::Channel>(
      channel_options_, slots_.at({edge.from, from})->wakeup(), slots_.at({edge.to, to})->wakeup()));
  operators::Channel* channel = job_.channels_.back().get();
  outputs_[{edge.from, from}].back().channels.push_back(channel);
  inputs_[{edge.to, to}].push_back({channel, edge.input});
}

Result<std::unique_ptr<state::SubtaskState>> JobBuilder::OpenState(const SubtaskPlan& plan) {
  state::SubtaskStateOptions open;
  open.fs = job_.ports_.file_system;
  open.stores = job_.ports_.stores;
  open.budget = job_.ports_.budget;
  open.range = plan.range;
  open.job_dir = job_.storage_->root();
  const std::string subtask = std::to_string(plan.id.vertex) + "-" + std::to_string(plan.id.index);
  const std::string& local = job_.definition_.state_directory;
  open.local_dir = JoinPath(
      local.empty() ? JoinPath(job_.storage_->root(), "local") : JoinPath(local, job_.definition_.name), subtask);
  open.unique_prefix = attempt_.ToString() + "-" + subtask + "-";
  open.files_verified = true;  // StartAttempt has read them all: no file is read once more for each subtask
  open.owners = plan.owners;
  return state::OpenSubtaskState(open, plan.restored);
}

Status JobBuilder::FillChain(const Vertex& vertex, operators::TaskOptions& task) {
  for (size_t node : vertex.nodes) {
    const NodeDefinition& definition = job_.definition_.nodes[node];
    if (definition.kind == NodeKind::kSource) {
      auto reader = job_.sources_[node]->CreateReader();
      if (!reader.has_value()) return reader.error().WithContext(definition.id);
      task.source = {definition.id, std::move(*reader), host_of_.at(node)};
      continue;
    }
    if (definition.kind == NodeKind::kSink) {
      auto writer = job_.sinks_[node]->CreateWriter();
      if (!writer.has_value()) return writer.error().WithContext(definition.id);
      task.sink = {definition.id, std::move(*writer)};
      continue;
    }
    auto instance = job_.ports_.registry->FindOperator(definition.type)->create(definition.options);
    if (!instance.has_value()) return instance.error().WithContext(definition.id);
    task.operators.push_back({definition.id, std::move(*instance), {}});
  }
  return Status::Ok();
}

Status JobBuilder::CreateTasks() {
  for (const Vertex& vertex : job_.graph_.vertices) {
    for (const SubtaskPlan& plan : plan_.vertices[vertex.id]) {
      operators::TaskOptions task;
      task.id = plan.id;
      task.name = vertex.name;
      task.job = job_.definition_.name;
      task.attempt = attempt_;
      task.parallelism = vertex.parallelism;
      task.key_groups = job_.definition_.key_groups;
      task.inputs = std::move(inputs_[plan.id]);
      task.outputs = std::move(outputs_[plan.id]);
      WEIR_RETURN_IF_ERROR(FillChain(vertex, task));
      if (vertex.has_state()) {
        WEIR_ASSIGN_OR_RETURN(task.state, OpenState(plan));
      }
      task.file_system = job_.ports_.file_system;
      task.output_folder = job_.storage_->OutputFolder();
      task.clock = job_.ports_.clock;
      task.workers = job_.ports_.workers;
      task.snapshots = job_.snapshots_.get();
      task.acknowledger = job_.control_.get();
      task.wakeup = &slots_.at(plan.id)->wakeup();
      task.sinks_held = job_.output_blocked_.get();
      task.batches_per_step = options_.batches_per_step;
      job_.tasks_.push_back(std::make_unique<operators::Task>(std::move(task)));
    }
  }
  return Status::Ok();
}

// Each enumerator reaches its readers through what holds them until the first checkpoint is published.
void JobBuilder::WireHosts() {
  for (const auto& [node, host] : host_of_) {
    const std::string& uid = job_.definition_.nodes[node].id;
    std::vector<operators::ReaderPort*> ports;
    for (const auto& task : job_.tasks_) {
      if (job_.graph_.vertices[task->id().vertex].nodes.front() != node) continue;
      job_.readers_.push_back(std::make_unique<HeldReader>(uid, *task, control_slot_->wakeup()));
      ports.push_back(job_.readers_.back().get());
    }
    host->SetReaders(std::move(ports));
  }
}

checkpoint::CoordinatorOptions JobBuilder::CoordinatorOptionsOf() const {
  const CheckpointSettings& settings = job_.definition_.checkpoint;
  checkpoint::CoordinatorOptions options;
  options.interval = settings.interval;
  options.min_pause = settings.min_pause;
  options.timeout = settings.timeout;
  options.tolerated_failures = settings.tolerated_failures;
  options.retain = settings.retain;
  options.unconfirmed_bytes_max = settings.output_bytes_max;
  return options;
}

void JobBuilder::BeginControl() {
  JobControlOptions control;
  control.coordinator = CoordinatorOptionsOf();
  control.ports.clock = job_.ports_.clock;
  control.ports.random = job_.ports_.random;
  control.ports.workers = job_.ports_.workers;
  control.ports.wakeup = &control_slot_->wakeup();
  control.ports.storage = job_.storage_.get();
  control.ports.unsealed_bytes = [&tasks = job_.tasks_] {
    uint64_t bytes = 0;
    for (const auto& task : tasks) bytes += task->metrics().unsealed_bytes.load(std::memory_order_relaxed);
    return bytes;
  };
  control.shape = ShapeOf(job_.definition_, job_.graph_);
  control.start = StartContextOf();
  control.restored = std::move(restored_);
  for (const auto& [node, host] : host_of_) {
    control.hosts.push_back(host);
    control.host_uids.push_back(job_.definition_.nodes[node].id);
  }
  for (const auto& reader : job_.readers_) control.readers.push_back(reader.get());
  for (const auto& task : job_.tasks_) control.tasks.push_back({task->id(), task.get(), task->is_source()});
  control.on_done = job_.ports_.on_done;
  std::vector<Wakeup*> wakeups;
  for (const auto& [id, slot] : slots_) wakeups.push_back(&slot->wakeup());
  control.on_output_blocked = [blocked = job_.output_blocked_, wakeups](bool value) {
    blocked->store(value);
    for (Wakeup* wakeup : wakeups) wakeup->Wake();
  };
  job_.control_->Begin(std::move(control));
  for (const auto& [node, host] : host_of_) host_slots_.at(node)->Run(*host);
  for (const auto& task : job_.tasks_) slots_.at(task->id())->Run(*task);
  control_slot_->Run(*job_.control_);
}

}  // namespace weir::jobs
