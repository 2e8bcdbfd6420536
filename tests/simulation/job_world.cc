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
constexpr uint64_t kDiskBytes = uint64_t{1} << 40;
const char* const kStorage = "/checkpoints/random";

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
      kafka_(clock_, root_.Split("kafka")),
      postgres_(root_.Split("postgres")),
      applied_offsets_(disk_, kStorage, [this](const std::string& system) {
        return system.starts_with("kafka:") ? KafkaMarker() : postgres_.MarkerNumber("random");
      }) {
  if (options_.bug == PlantedBug::kSkippedFsync) planted_ = MakeForgetful(disk_);
  SimKafkaFaults faults;
  faults.fetch_records_max = 1 + random_->Below(20);
  faults.lost_one_in = random_->OneIn(3) ? 20 : 0;
  faults.unknown_commit_one_in = random_->OneIn(2) ? 3 : 0;
  faults.compact_one_in = random_->OneIn(2) ? 3 : 0;
  kafka_.SetFaults(faults);
  kafka_.SetPassTime([this](MonotonicTime limit) { clock_.AdvanceTo(limit); });
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
  for (const auto& [topic, rows] : job_.at_least_once) (void)kafka_.CreateTopic(topic, 2);
  for (const auto& [topic, rows] : job_.exact_topics) (void)kafka_.CreateTopic(topic, 2);
  for (const auto& [name, table] : job_.tables) {
    postgres_.CreateTable(name, {"k", "v", "n"},
                          table.upsert ? std::vector<std::string>{"k", "n"} : std::vector<std::string>{});
  }
  postgres_.SetDead([this] { return disk_.crashed() || !died_at_.empty(); });
}

JobWorld::~JobWorld() { ArmFaultSites({}); }

void JobWorld::Fail(const std::string& what) {
  if (result_.failure.empty()) result_.failure = what;
}

JobWorld::Death JobWorld::DrawDeath() {
  Death death;
  death.power = random_->OneIn(2);
  switch (random_->Below(4)) {
    case 0: {
      const auto sites = FaultSites();
      death.site = std::string(sites[random_->Below(sites.size())]);
      death.nth = 1 + random_->Below(3);
      break;
    }
    case 1: death.disk_operation = 1 + random_->Below(300); break;
    case 2:
      death.step = 1 + random_->Below(6000);
      if (random_->OneIn(3)) {
        death.free_bytes = random_->Below(20'000);
      } else {
        death.disk_error = true;
        death.disk_operation = 1 + random_->Below(300);
      }
      break;
    default: death.step = 1 + random_->Below(4000); break;
  }
  return death;
}

void JobWorld::ArmDeath(const Death& death) {
  died_at_.clear();
  disk_failed_ = disk_failed_ || death.disk_error;
  disk_.Disarm();
  ArmFaultSites({});
  if (death.free_bytes.has_value()) {
    disk_.SetCapacity(kDiskBytes - disk_.FreeBytes("/").value_or(0) + *death.free_bytes);
  }
  if (death.disk_operation > 0) {
    const auto first = death.disk_error ? FaultAction::kError : FaultAction::kCrashBefore;
    const uint64_t kinds = death.disk_error ? 2 : 3;
    const auto action = static_cast<FaultAction>(static_cast<uint64_t>(first) + random_->Below(kinds));
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
  postgres_clients_ = postgres_.NewClientFactory();
  registry_ = std::make_unique<operators::Registry>();
  operators::RegisterOperators(*registry_);
  connectors::RegisterConnectors(
      *registry_,
      {.file_system = &fs, .kafka = clients_.get(), .postgres = postgres_clients_.get(), .working_directory = "/"});
  if (options_.bug == PlantedBug::kEarlyAcknowledgement) *registry_ = WithEarlyAcknowledgement(*registry_);
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
  applied_offsets_.NoteAllDurable();
  return {};
}

void JobWorld::MaybeAskForSavepoint() {
  constexpr uint64_t kSavepointsMax = 6;
  if (savepoints_asked_ == kSavepointsMax || !random_->OneIn(1000)) return;
  const std::string folder = "/savepoints/" + std::to_string(++savepoints_asked_);
  running_->RequestSavepoint({.folder = folder, .done = [this, folder](Result<CheckpointId> result) {
                                if (result.has_value() && !disk_.crashed()) savepoints_[folder] = *result;
                              }});
}

void JobWorld::CheckSavepoints() {
  for (const auto& [folder, id] : savepoints_) {
    const auto metadata = checkpoint::ReadCheckpointFolder(disk_, folder);
    Status status;
    if (!metadata.has_value()) {
      status = metadata.error();
    } else if (metadata->id != id || !metadata->savepoint) {
      status = Status::Corruption("it is of another checkpoint");
    } else {
      status = checkpoint::VerifyCheckpointFolder(disk_, folder, *metadata,
                                                  checkpoint::CheckpointStorage::Verify::kChecksums);
    }
    if (!status.ok()) Fail("savepoint " + folder + " was told done: " + status.ToString());
  }
  result_.savepoints = savepoints_.size();
}

void JobWorld::MaybeLoseKafka() {
  if (kafka_back_at_.has_value()) {
    if (clock_.Now() < *kafka_back_at_) return;
    kafka_back_at_.reset();
    kafka_.SetReachable(true);
  } else if (running_->checkpoint_stats().completed > 0 && losses_ < 3 && random_->OneIn(1500)) {
    ++losses_;
    kafka_.SetReachable(false);
    kafka_back_at_ = clock_.Now() + std::chrono::milliseconds(random_->Below(3000));
  }
}

void JobWorld::MaybeLosePostgres() {
  if (postgres_back_at_.has_value()) {
    if (clock_.Now() < *postgres_back_at_) return;
    postgres_back_at_.reset();
    postgres_.SetReachable(true);
  } else if (running_->checkpoint_stats().completed > 0) {
    postgres_.SetFaults({.lost_one_in = 15, .serialization_one_in = 30});
    if (losses_ == 3 || !random_->OneIn(1500)) return;
    ++losses_;
    postgres_.SetReachable(false);
    postgres_back_at_ = clock_.Now() + std::chrono::milliseconds(random_->Below(3000));
  }
}

bool JobWorld::StepOnce() {
  ++result_.steps;
  MaybeAskForSavepoint();
  MaybeLoseKafka();
  MaybeLosePostgres();
  kafka_step_->Look();
  clock_.Advance(std::chrono::microseconds(random_->Below(200)));
  const bool moved = executor_->RunOne() != SimExecutor::Outcome::kStuck;
  if (const uint64_t durable = running_->checkpoint_stats().last_number; durable != durable_seen_) {
    durable_seen_ = durable;
    applied_offsets_.NoteDurable(durable);
  }
  if (kafka_.group_commits() != commits_checked_) CheckAcknowledgements();
  return moved;
}

void JobWorld::CheckAcknowledgements() {
  if (disk_.crashed()) return;  // once the machine is up again
  commits_checked_ = kafka_.group_commits();
  PartitionOffsets acknowledged;
  for (const auto& [partition, offset] : kafka_.AcknowledgedOffsets()) acknowledged[partition.ToString()] = offset;
  if (const std::string problem = applied_offsets_.Check(acknowledged); !problem.empty()) Fail(problem);
}

bool JobWorld::IsVanishedFolder(const std::string& problem) {
  const std::string name = "system file:";
  const size_t begin = problem.find(name);
  if (!disk_failed_ || begin == std::string::npos || problem.find("has no marker") == std::string::npos) return false;
  const size_t folder = begin + name.size();
  const std::string path = problem.substr(folder, problem.find(' ', folder) - folder);
  return !Exists(disk_, JoinPath(path, ".weir-random"));
}

JobWorld::LifeEnd JobWorld::Failed(const Death* death, const std::string& what) {
  if (death != nullptr && death->MayFail()) return LifeEnd::kDied;
  Fail(what);
  return LifeEnd::kBroken;
}

JobWorld::LifeEnd JobWorld::Live(const Death* death) {
  const auto dead = [this] { return disk_.crashed() || !died_at_.empty(); };
  if (death != nullptr) ArmDeath(*death);
  if (const std::string problem = StartJob(); !problem.empty()) {
    if (dead()) return LifeEnd::kDied;
    if (IsVanishedFolder(problem)) return LifeEnd::kVanished;
    if (problem.starts_with("unavailable")) return LifeEnd::kUnavailable;
    return Failed(death, "start " + std::to_string(result_.starts) + ": " + problem);
  }
  for (uint64_t step = 1; step <= kStepsMax; ++step) {
    if (dead() || (death != nullptr && death->step == step)) return LifeEnd::kDied;
    if (running_->state() > jobs::JobState::kStopping) break;
    if (!StepOnce()) {
      Fail("the job is stuck");
      return LifeEnd::kBroken;
    }
    if (!result_.failure.empty()) return LifeEnd::kBroken;
  }
  if (dead()) return LifeEnd::kDied;
  if (running_->state() == jobs::JobState::kFinished) return LifeEnd::kFinished;
  if (running_->state() > jobs::JobState::kStopping) {
    const bool never_ran = running_->checkpoint_stats().last_number == 0;  // its first checkpoint was to be signed
    if (never_ran && running_->cause().code() == StatusCode::kUnavailable) return LifeEnd::kUnavailable;
    return Failed(death, running_->cause().ToString());
  }
  Fail("the job does not end");
  return LifeEnd::kBroken;
}

// The process ends: nothing that waits will run, and no destructor's last write reaches the disk.
void JobWorld::Bury(const Death& death) {
  if (!disk_.crashed()) {
    disk_.Disarm();
    disk_.Arm({.nth = 1, .action = FaultAction::kCrashBefore});
    (void)disk_.CreateDirectories("/dies-here");
  }
  disk_.SetCapacity(kDiskBytes);
  kafka_.SetReachable(true);
  kafka_back_at_.reset();
  losses_ = 0;
  postgres_.SetReachable(true);
  postgres_.SetFaults({});
  postgres_back_at_.reset();
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
  CheckSavepoints();
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
      if (!AddRow(content->substr(begin, end - begin), rows)) {
        Fail(name + " holds a broken line: " + content->substr(begin, end - begin));
        return rows;
      }
      begin = end + 1;
    }
  }
  return rows;
}

bool JobWorld::AddRow(const std::string& line, SimRows& rows) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded()) return false;
  ++rows[{json.value("k", -1), json.value("v", -1), json.value("n", -1)}];
  return true;
}

uint64_t JobWorld::KafkaMarker() const {
  uint64_t number = 0;
  if (kafka_.FindTopic("weir-markers") == nullptr) return number;
  for (const SimRecord& record : kafka_.Committed("weir-markers", 0)) {
    number = nlohmann::json::parse(record.value.value_or("")).at("checkpoint").at("number").get<uint64_t>();
  }
  return number;
}

SimRows JobWorld::ReadTopic(const std::string& topic) {
  SimRows found;
  const auto partitions = static_cast<int32_t>(kafka_.FindTopic(topic)->partitions.size());
  for (int32_t partition = 0; partition < partitions; ++partition) {
    for (const SimRecord& record : kafka_.Committed(topic, partition)) {
      if (!AddRow(record.value.value_or(""), found)) Fail(topic + " holds a broken record: " + *record.value);
    }
  }
  return found;
}

SimRows JobWorld::ReadTable(const std::string& table) {
  SimRows found;
  for (const SimPostgres::Row& row : postgres_.Rows(table)) {
    const auto number = [&row](const char* column) { return std::stoll(row.at(column).value_or("-1")); };
    ++found[{number("k"), number("v"), number("n")}];
  }
  return found;
}

void JobWorld::CheckExact(const std::string& place, const SimRows& found, const SimRows& expected, bool finished) {
  const auto wrong = [&](const SimRow& row, uint64_t times, uint64_t wanted) {
    Fail(place + ": " + ToJson(row) + " is there " + std::to_string(times) + " times, expected " +
         std::to_string(wanted));
  };
  for (const auto& [row, times] : found) {
    const auto it = expected.find(row);
    const uint64_t wanted = it == expected.end() ? 0 : it->second;
    if (times > wanted) wrong(row, times, wanted);
  }
  if (!finished) return;
  for (const auto& [row, wanted] : expected) {
    const auto it = found.find(row);
    const uint64_t times = it == found.end() ? 0 : it->second;
    if (times < wanted) wrong(row, times, wanted);
  }
}

void JobWorld::CheckTopic(const std::string& topic, const SimRows& expected, bool finished) {
  const SimRows found = ReadTopic(topic);
  for (const auto& [row, times] : found) {
    if (!expected.contains(row)) Fail(topic + ": " + ToJson(row) + " is there and not expected");
  }
  if (!finished) return;
  for (const auto& [row, wanted] : expected) {
    const auto it = found.find(row);
    const uint64_t times = it == found.end() ? 0 : it->second;
    if (times < wanted) {
      Fail(topic + ": " + ToJson(row) + " is there " + std::to_string(times) + " times, expected " +
           std::to_string(wanted) + " or more");
    }
  }
}

// While it runs nothing may be there too often; at the end everything must be there.
void JobWorld::CheckOutput(bool finished) {
  CheckAcknowledgements();
  for (const auto& [folder, expected] : job_.sinks) CheckExact(folder, ReadFolder(folder), expected, finished);
  for (const auto& [topic, expected] : job_.exact_topics) CheckExact(topic, ReadTopic(topic), expected, finished);
  for (const auto& [name, table] : job_.tables) CheckExact(name, ReadTable(name), table.rows, finished);
  for (const auto& [topic, expected] : job_.at_least_once) CheckTopic(topic, expected, finished);
}

void JobWorld::Count(const Death& death) {
  std::string at = "step";
  if (!died_at_.empty()) {
    at = died_at_;
  } else if (death.free_bytes.has_value()) {
    at = "disk full";
  } else if (death.disk_operation > 0) {
    at = death.disk_error ? "disk error" : "disk operation";
  }
  ++result_.crashes_at[at + (death.power ? ", power" : ", process")];
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
    if (end == LifeEnd::kVanished) ++result_.crashes_at["vanished sink folder, refused"];
    if (end == LifeEnd::kUnavailable) {
      ++result_.crashes_at["start that could not sign"];
      Bury(death);
      if (last) --crash;
      continue;
    }
    if (end != LifeEnd::kDied) {
      Bury({});
      break;
    }
    Count(death);
    Bury(death);
    CheckOutput(false);
  }
  return result_;
}

}  // namespace weir::simulation
