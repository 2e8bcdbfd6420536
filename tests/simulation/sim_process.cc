#include "tests/simulation/sim_process.h"

#include <optional>
#include <utility>

#include "connectors/register_connectors.h"
#include "jobs/job_definition.h"
#include "state/ordered_map_store.h"

namespace weir::simulation {

// The broker's events as a step of the schedule.
class SimProcess::KafkaStep final : public operators::Runnable {
 public:
  KafkaStep(SimKafka& kafka, SimExecutor& executor)
      : kafka_(kafka), slot_(executor.AddSlot(operators::Executor::kControlLane)) {
    slot_.Run(*this);
  }
  operators::StepResult Step() override {
    kafka_.RunDue();
    return operators::StepResult::kIdle;
  }
  std::optional<MonotonicTime> NextDeadline() const override { return kafka_.NextEvent(); }
  // After any other step: it may have asked the broker for something.
  void Look() {
    const auto next = kafka_.NextEvent();
    if (next != seen_) slot_.wakeup().Wake();
    seen_ = next;
  }

 private:
  SimKafka& kafka_;
  operators::Executor::Slot& slot_;
  std::optional<MonotonicTime> seen_;
};

SimProcess::SimProcess(const World& world, std::unique_ptr<Random> random, PlantedBug bug)
    : world_(world),
      random_(std::move(random)),
      planted_(bug == PlantedBug::kSkippedFsync ? MakeForgetful(*world.disk) : nullptr),
      file_system_(planted_ != nullptr ? *planted_ : static_cast<FileSystem&>(*world.disk)),
      executor_(*random_, *world.clock, workers_),
      kafka_(WithPlantedBug(bug, world.kafka->NewClientFactory(), *random_)),
      postgres_(WithPlantedBug(bug, world.postgres->NewClientFactory([disk = world.disk] { return disk->crashed(); }))),
      stores_(state::NewOrderedMapStoreFactory(file_system_)),
      budget_(64 << 20) {
  operators::RegisterOperators(registry_);
  connectors::RegisterConnectors(
      registry_,
      {.file_system = &file_system_, .kafka = kafka_.get(), .postgres = postgres_.get(), .working_directory = "/"});
  registry_ = WithPlantedBug(bug, registry_);
}

SimProcess::~SimProcess() {
  executor_.Stop();
  workers_.DropAll();
  job_.reset();
  kafka_step_.reset();
  workers_.DropAll();
}

std::string SimProcess::Start(const std::string& definition) {
  kafka_step_ = std::make_unique<KafkaStep>(*world_.kafka, executor_);
  jobs::DefinitionInputs inputs;
  inputs.file_name = "random.json";
  inputs.text = definition;
  inputs.environment = [](const std::string&) { return std::nullopt; };
  inputs.read_file = [this](const std::string& path) { return ReadFile(file_system_, path); };
  auto parsed = jobs::ParseJobDefinition(inputs, registry_);
  if (!parsed.has_value()) {
    std::string problems = definition;
    for (const auto& problem : parsed.error()) problems += "\n" + jobs::ToString(problem);
    return problems;
  }
  jobs::JobPorts ports;
  ports.clock = world_.clock;
  ports.file_system = &file_system_;
  ports.random = random_.get();
  ports.workers = &workers_;
  ports.executor = &executor_;
  ports.registry = &registry_;
  ports.stores = stores_.get();
  ports.budget = &budget_;
  ports.on_done = [] {};
  auto started = jobs::Job::Start(std::move(parsed->job), {.restore = {}, .batches_per_step = 1}, std::move(ports));
  if (!started.has_value()) return started.error().ToString();
  job_ = std::move(*started);
  return {};
}

bool SimProcess::Step() {
  kafka_step_->Look();
  return executor_.RunOne() != SimExecutor::Outcome::kStuck;
}

}  // namespace weir::simulation
