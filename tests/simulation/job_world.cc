#include "tests/simulation/job_world.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

#include "base/fault_site.h"
#include "connectors/register_connectors.h"
#include "jobs/job_definition.h"
#include "operators/registry.h"
#include "state/ordered_map_store.h"

namespace weir::simulation {
namespace {

constexpr uint64_t kStepsMax = 400'000;  // of one life: more is a job that doesn't end

// Sync and SyncDirectory say ok and do nothing.
class ForgetfulFile final : public WritableFile {
 public:
  explicit ForgetfulFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Status Append(std::string_view data) override { return file_->Append(data); }
  Status Sync() override { return Status::Ok(); }
  Status Close() override { return file_->Close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

class ForgetfulFileSystem final : public FileSystem {
 public:
  explicit ForgetfulFileSystem(FileSystem& fs) : fs_(fs) {}
  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override {
    WEIR_ASSIGN_OR_RETURN(auto file, fs_.OpenForWrite(path, mode));
    return std::make_unique<ForgetfulFile>(std::move(file));
  }
  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override { return fs_.OpenForRead(path); }
  Status Rename(const std::string& from, const std::string& to) override { return fs_.Rename(from, to); }
  Status Link(const std::string& from, const std::string& to) override { return fs_.Link(from, to); }
  Status Remove(const std::string& path) override { return fs_.Remove(path); }
  Status RemoveTree(const std::string& path) override { return fs_.RemoveTree(path); }
  Status CreateDirectories(const std::string& path) override { return fs_.CreateDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& path) override { return fs_.List(path); }
  Status SyncDirectory(const std::string& path) override { return fs_.SyncDirectory(path); }
  Result<Info> Stat(const std::string& path) override { return fs_.Stat(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return fs_.Lock(path); }
  Result<uint64_t> FreeBytes(const std::string& path) override { return fs_.FreeBytes(path); }

 private:
  FileSystem& fs_;
};

}  // namespace

// The broker's events as a step of the schedule.
class JobWorld::KafkaStep final : public operators::Runnable {
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

JobWorld::JobWorld(WorldOptions options, RandomJob job)
    : options_(options),
      job_(std::move(job)),
      root_(options.seed),
      random_(root_.Split("world")),
      disk_(options.seed),
      kafka_(clock_, root_.Split("kafka")) {
  if (options_.bug == PlantedBug::kSkippedFsync) planted_ = std::make_unique<ForgetfulFileSystem>(disk_);
  SimKafkaFaults faults;
  faults.fetch_records_max = 1 + random_->Below(20);
  faults.lost_one_in = random_->OneIn(3) ? 20 : 0;
  kafka_.SetFaults(faults);
  for (const SimTopic& topic : job_.topics) {
    (void)kafka_.CreateTopic(topic.name, static_cast<int32_t>(topic.partitions.size()));
    for (size_t p = 0; p < topic.partitions.size(); ++p) {
      for (const SimRow& row : topic.partitions[p]) {
        SimRecord record;
        record.value = ToJson(row);
        kafka_.Append(topic.name, static_cast<int32_t>(p), std::move(record));
      }
    }
  }
}

JobWorld::~JobWorld() { ArmFaultSites({}); }

void JobWorld::Fail(const std::string& what) {
  if (result_.failure.empty()) result_.failure = what;
}

JobWorld::Death JobWorld::DrawDeath() {
  Death death;
  death.power = random_->OneIn(2);
  switch (random_->Below(3)) {
    case 0: {
      const auto sites = FaultSites();
      death.site = std::string(sites[random_->Below(sites.size())]);
      death.nth = 1 + random_->Below(3);
      break;
    }
    case 1: death.disk_operation = 1 + random_->Below(300); break;
    default: death.step = 1 + random_->Below(4000); break;
  }
  return death;
}

void JobWorld::ArmDeath(const Death& death) {
  died_at_.clear();
  disk_.Disarm();
  ArmFaultSites({});
  if (death.disk_operation > 0) {
    const auto action = static_cast<FaultAction>(static_cast<int>(FaultAction::kCrashBefore) + random_->Below(3));
    disk_.Arm({.nth = death.disk_operation, .action = action});
  }
  if (death.site.empty()) return;
  // From the site on nothing more reaches the disk; the loop ends the process after the step.
  ArmFaultSites([this, site = death.site, left = death.nth](std::string_view reached) mutable {
    if (reached != site || left == 0 || --left > 0) return;
    died_at_ = site;
    disk_.Disarm();
    disk_.Arm({.nth = 1, .action = FaultAction::kCrashBefore});
  });
}

std::string JobWorld::StartJob() {
  FileSystem& fs = planted_ != nullptr ? *planted_ : static_cast<FileSystem&>(disk_);
  ++result_.starts;
  job_random_ = root_.Split("life" + std::to_string(result_.starts));
  workers_ = std::make_unique<ManualWorkerFactory>();
  executor_ = std::make_unique<SimExecutor>(*job_random_, clock_, *workers_);
  kafka_step_ = std::make_unique<KafkaStep>(kafka_, *executor_);
  clients_ = kafka_.NewClientFactory();
  registry_ = std::make_unique<operators::Registry>();
  operators::RegisterOperators(*registry_);
  connectors::RegisterConnectors(*registry_, {.file_system = &fs, .kafka = clients_.get(), .working_directory = "/"});
  stores_ = state::NewOrderedMapStoreFactory(fs);
  budget_ = std::make_unique<state::StateBudget>(64 << 20);

  const std::string text = job_.Definition(static_cast<uint32_t>(1 + random_->Below(4)));
  jobs::DefinitionInputs inputs;
  inputs.file_name = "random.json";
  inputs.text = text;
  inputs.environment = [](const std::string&) { return std::nullopt; };
  inputs.read_file = [&fs](const std::string& path) { return ReadFile(fs, path); };
  auto parsed = jobs::ParseJobDefinition(inputs, *registry_);
  if (!parsed.has_value()) {
    std::string problems = text;
    for (const auto& problem : parsed.error()) problems += "\n" + jobs::ToString(problem);
    return problems;
  }
  jobs::JobPorts ports;
  ports.clock = &clock_;
  ports.file_system = &fs;
  ports.random = job_random_.get();
  ports.workers = workers_.get();
  ports.executor = executor_.get();
  ports.registry = registry_.get();
  ports.stores = stores_.get();
  ports.budget = budget_.get();
  ports.on_done = [] {};
  auto started = jobs::Job::Start(std::move(parsed->job), {.restore = {}, .batches_per_step = 1}, std::move(ports));
  if (!started.has_value()) return started.error().ToString();
  running_ = std::move(*started);
  return {};
}

bool JobWorld::StepOnce() {
  ++result_.steps;
  kafka_step_->Look();
  clock_.Advance(std::chrono::microseconds(random_->Below(200)));
  return executor_->RunOne() != SimExecutor::Outcome::kStuck;
}

JobWorld::LifeEnd JobWorld::Live(const Death* death) {
  const auto dead = [this] { return disk_.crashed() || !died_at_.empty(); };
  if (death != nullptr) ArmDeath(*death);
  if (const std::string problem = StartJob(); !problem.empty()) {
    if (dead()) return LifeEnd::kDied;
    Fail("start " + std::to_string(result_.starts) + ": " + problem);
    return LifeEnd::kBroken;
  }
  for (uint64_t step = 1; step <= kStepsMax; ++step) {
    if (dead() || (death != nullptr && death->step == step)) return LifeEnd::kDied;
    if (running_->state() > jobs::JobState::kStopping) break;
    if (!StepOnce()) {
      Fail("the job is stuck");
      return LifeEnd::kBroken;
    }
  }
  if (dead()) return LifeEnd::kDied;
  if (running_->state() == jobs::JobState::kFinished) return LifeEnd::kFinished;
  Fail(running_->state() <= jobs::JobState::kStopping ? "the job does not end" : running_->cause().ToString());
  return LifeEnd::kBroken;
}

// The process ends: nothing that waits will run, and no destructor's last write reaches the disk.
void JobWorld::Bury(const Death& death) {
  if (!disk_.crashed()) {
    disk_.Disarm();
    disk_.Arm({.nth = 1, .action = FaultAction::kCrashBefore});
    (void)disk_.CreateDirectories("/dies-here");
  }
  const std::string at = !died_at_.empty() ? died_at_ : death.disk_operation > 0 ? "disk operation" : "step";
  ++result_.crashes_at[at];
  if (running_ != nullptr) result_.checkpoints += running_->checkpoint_stats().completed;
  ArmFaultSites({});
  executor_->Stop();
  workers_->DropAll();
  running_.reset();
  kafka_step_.reset();
  workers_->DropAll();
  result_.trace = result_.trace * 31 + executor_->trace();
  disk_.Disarm();
  if (death.power) {
    disk_.PowerLoss();
  } else {
    disk_.KillProcess();
  }
}

SimRows JobWorld::ReadFolder(const std::string& folder) {
  SimRows rows;
  const auto names = disk_.List(folder);
  if (!names.has_value()) return rows;
  for (const std::string& name : *names) {
    if (name.starts_with(".")) continue;
    const auto content = ReadFile(disk_, JoinPath(folder, name));
    if (!content.has_value()) {
      Fail(content.error().ToString());
      return rows;
    }
    size_t begin = 0;
    while (begin < content->size()) {
      const size_t end = std::min(content->find('\n', begin), content->size());
      const auto json = nlohmann::json::parse(content->substr(begin, end - begin), nullptr, false);
      if (json.is_discarded()) {
        Fail(name + " holds a broken line: " + content->substr(begin, end - begin));
        return rows;
      }
      ++rows[{json.value("k", -1), json.value("v", -1), json.value("n", -1)}];
      begin = end + 1;
    }
  }
  return rows;
}

// While it runs nothing may be there too often; at the end everything must be there.
void JobWorld::CheckOutput(bool finished) {
  for (const auto& [folder, expected] : job_.sinks) {
    const SimRows found = ReadFolder(folder);
    for (const auto& [row, times] : found) {
      const auto it = expected.find(row);
      const uint64_t wanted = it == expected.end() ? 0 : it->second;
      if (times > wanted) {
        Fail(folder + ": " + ToJson(row) + " is there " + std::to_string(times) + " times, expected " +
             std::to_string(wanted));
      }
    }
    if (!finished) continue;
    for (const auto& [row, wanted] : expected) {
      const auto it = found.find(row);
      const uint64_t times = it == found.end() ? 0 : it->second;
      if (times < wanted) {
        Fail(folder + ": " + ToJson(row) + " is there " + std::to_string(times) + " times, expected " +
             std::to_string(wanted));
      }
    }
  }
}

WorldResult JobWorld::Run() {
  for (uint32_t crash = 0; crash <= options_.crashes && result_.failure.empty(); ++crash) {
    const bool last = crash == options_.crashes;
    const Death death = DrawDeath();
    const LifeEnd end = Live(last ? nullptr : &death);
    if (end == LifeEnd::kFinished) {
      result_.checkpoints += running_->checkpoint_stats().completed;
      CheckOutput(true);
    }
    if (end == LifeEnd::kFinished || end == LifeEnd::kBroken) {
      Bury({});
      break;
    }
    Bury(death);
    CheckOutput(false);
  }
  return result_;
}

}  // namespace weir::simulation
