// Builds an attempt of a job step by step: connectors, committers, restore, state, channels, tasks. Used by Job::Start
// alone, on its thread; blocks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job.h"

namespace weir::jobs {

class JobBuilder {
 public:
  JobBuilder(Job& job, JobOptions options) : job_(job), options_(std::move(options)) {}

  Status Build();

 private:
  Status CreateConnectors();
  Status CreateCommitters();
  Status Restore();
  checkpoint::StartContext StartContextOf() const;
  void AddSlots();
  Status CreateHosts();
  void CreateChannels();
  void CreateChannel(const Edge& edge, uint32_t from, uint32_t to);
  Status CreateTasks();
  Status FillChain(const Vertex& vertex, operators::TaskOptions& task);
  Result<std::unique_ptr<state::SubtaskState>> OpenState(const SubtaskPlan& plan);
  void WireHosts();
  void BeginControl();
  checkpoint::CoordinatorOptions CoordinatorOptionsOf() const;

  Job& job_;
  JobOptions options_;
  UniqueId attempt_;
  checkpoint::RestoredJob restored_;
  ExecutionPlan plan_;
  operators::Executor::Slot* control_slot_ = nullptr;
  std::map<SubtaskId, operators::Executor::Slot*> slots_;
  std::map<size_t, operators::EnumeratorHost*> host_of_;     // by node
  std::map<size_t, operators::Executor::Slot*> host_slots_;  // by node
  std::map<SubtaskId, std::vector<operators::GateChannel>> inputs_;
  std::map<SubtaskId, std::vector<operators::OutputEdge>> outputs_;
  operators::ChannelOptions channel_options_;
};

}  // namespace weir::jobs
