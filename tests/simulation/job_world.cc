#include "tests/simulation/job_world.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/fault_site.h"
#include "connectors/marker_text.h"

namespace weir::simulation {
namespace {

constexpr uint64_t kStepsMax = 400'000;  // of one life: more is a job that doesn't end
constexpr uint64_t kDiskBytes = uint64_t{1} << 40;
const char* const kStorage = "/checkpoints/random";

}  // namespace

JobWorld::JobWorld(WorldOptions options, RandomJob job)
    : options_(options),
      job_(std::move(job)),
      root_(options.seed),
      random_(root_.Split("world")),
      disk_(std::make_unique<SimFileSystem>(options.seed)),
      kafka_(clock_, root_.Split("kafka")),
      postgres_(root_.Split("postgres")),
      applied_offsets_(*disk_, kStorage, [this](const std::string& system) {
        if (!system.starts_with("kafka:")) return postgres_.MarkerNumber("random");
        const std::optional<checkpoint::Marker> marker = KafkaMarker();
        return marker.has_value() ? marker->checkpoint.number : 0;
      }) {
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
  ArmFaultSites([this](std::string_view site) { AtSite(site); });
}

JobWorld::~JobWorld() {
  BuryZombie();
  ArmFaultSites({});
}

void JobWorld::Fail(const std::string& what) {
  if (result_.failure.empty()) result_.failure = what;
}

JobWorld::Death JobWorld::DrawDeath() {
  Death death;
  death.power = random_->OneIn(2);
  if (MayFreeze() && random_->OneIn(2)) {
    death.freezes = true;
    if (random_->OneIn(3)) {
      death.step = 1 + random_->Below(3000);
      return death;
    }
    constexpr std::string_view kSites[] = {"apply.before-commit", "kafka.before-commit", "kafka.after-commit",
                                           "postgres.before-commit", "postgres.after-commit"};
    const auto sites = random_->OneIn(4) ? FaultSites() : std::span<const std::string_view>(kSites);
    death.site = std::string(sites[random_->Below(sites.size())]);
    death.nth = 1 + random_->Below(5);
    return death;
  }
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
  disk_->Disarm();
  death_ = death;
  if (death.free_bytes.has_value()) {
    disk_->SetCapacity(kDiskBytes - disk_->FreeBytes("/").value_or(0) + *death.free_bytes);
  }
  if (death.disk_operation > 0) {
    const auto first = death.disk_error ? FaultAction::kError : FaultAction::kCrashBefore;
    const uint64_t kinds = death.disk_error ? 2 : 3;
    const auto action = static_cast<FaultAction>(static_cast<uint64_t>(first) + random_->Below(kinds));
    disk_->Arm({.nth = death.disk_operation, .action = action});
  }
}

void JobWorld::AtSite(std::string_view site) {
  if (zombie_runs_) return;
  if (zombie_ != nullptr && site.starts_with("start.") && random_->OneIn(2)) {
    zombie_runs_ = true;
    zombie_->process->RunOneCommit();
    zombie_runs_ = false;
  }
  if (site != death_.site || death_.nth == 0 || --death_.nth > 0) return;
  died_at_ = site;
  if (!death_.freezes || !MayFreezeNow()) return Crash();  // the loop ends the process after the step
  Freeze(death_.power);
  RunSuccessorWithin();
}

void JobWorld::Crash() {
  if (disk_->crashed()) return;
  disk_->Disarm();
  disk_->Arm({.nth = 1, .action = FaultAction::kCrashBefore});
  (void)disk_->CreateDirectories("/dies-here");
}

std::string JobWorld::StartJob() {
  ++result_.starts;
  attempts_before_ = MarkerAttempts();
  process_ = std::make_unique<SimProcess>(
      SimProcess::World{.clock = &clock_, .disk = disk_.get(), .kafka = &kafka_, .postgres = &postgres_},
      root_.Split("life" + std::to_string(result_.starts)), options_.bug);
  const std::string problem = process_->Start(job_.Definition(static_cast<uint32_t>(1 + random_->Below(4))));
  if (problem.empty()) applied_offsets_.NoteAllDurable();
  return problem;
}

void JobWorld::MaybeAskForSavepoint() {
  constexpr uint64_t kSavepointsMax = 6;
  if (savepoints_asked_ == kSavepointsMax || !random_->OneIn(1000)) return;
  const std::string folder = "/savepoints/" + std::to_string(++savepoints_asked_);
  const SimFileSystem* const disk = disk_.get();
  process_->job()->RequestSavepoint({.folder = folder, .done = [this, folder, disk](Result<CheckpointId> result) {
                                       const bool heard = disk == disk_.get() && !disk->crashed();
                                       if (result.has_value() && heard) savepoints_[folder] = *result;
                                     }});
}

void JobWorld::CheckSavepoints() {
  for (const auto& [folder, id] : savepoints_) {
    const auto metadata = checkpoint::ReadCheckpointFolder(*disk_, folder);
    Status status;
    if (!metadata.has_value()) {
      status = metadata.error();
    } else if (metadata->id != id || !metadata->savepoint) {
      status = Status::Corruption("it is of another checkpoint");
    } else {
      status = checkpoint::VerifyCheckpointFolder(*disk_, folder, *metadata,
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
  } else if (process_->job()->checkpoint_stats().completed > 0 && losses_ < 3 && random_->OneIn(1500)) {
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
  } else if (process_->job()->checkpoint_stats().completed > 0) {
    constexpr int kRestartsMax = 5;  // then it is left alone
    if (restarts_ == kRestartsMax) return;
    const bool calm = result_.steps / 20'000 % 2 == 1;  // for a transaction too long to be lucky
    postgres_.SetFaults(calm ? SimPostgresFaults() : SimPostgresFaults{.lost_one_in = 15, .serialization_one_in = 30});
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
  clock_.Advance(std::chrono::microseconds(random_->Below(200)));
  const bool moved = process_->Step();
  if (!result_.failure.empty()) return moved;
  if (const uint64_t durable = process_->job()->checkpoint_stats().last_number; durable != durable_seen_) {
    durable_seen_ = durable;
    applied_offsets_.NoteDurable(durable);
  }
  if (!frozen_ && zombie_ != nullptr) MaybeRunZombie();
  if (kafka_.group_commits() != commits_checked_) CheckAcknowledgements();
  return moved;
}

void JobWorld::CheckAcknowledgements() {
  if (disk_->crashed()) return;  // once the machine is up again
  commits_checked_ = kafka_.group_commits();
  PartitionOffsets acknowledged;
  for (const auto& [partition, offset] : kafka_.AcknowledgedOffsets()) acknowledged[partition.ToString()] = offset;
  if (const std::string problem = applied_offsets_.Check(acknowledged); !problem.empty()) Fail(problem);
}

bool JobWorld::IsVanishedFolder(const std::string& problem) {
  const bool names_loss =
      problem.find("has no marker") != std::string::npos || problem.find("is neither at") != std::string::npos;
  if (!disk_failed_ || !names_loss) return false;
  return std::ranges::any_of(job_.sinks, [&](const auto& sink) {
    const std::string named = "system file:" + sink.first;
    const bool is_named =
        problem.find(named + " ") != std::string::npos || problem.find(named + ":") != std::string::npos;
    return is_named && !Exists(*disk_, JoinPath(sink.first, ".weir-random/marker"));  // a fence makes the folder anew
  });
}

// One that must sign did not hear whether it has, or a zombie has fenced it before it could.
bool JobWorld::MayStartAgain(const std::string& problem) const {
  return problem.starts_with("unavailable") || (zombie_ != nullptr && problem.starts_with("fenced"));
}

JobWorld::LifeEnd JobWorld::Failed(const Death* death, const std::string& what) {
  if (death != nullptr && death->MayFail()) return LifeEnd::kDied;
  Fail(what);
  return LifeEnd::kBroken;
}

JobWorld::LifeEnd JobWorld::Live(const Death* death) {
  ArmDeath(death != nullptr ? *death : Death{});
  if (process_ == nullptr) {
    const std::string problem = StartJob();
    if (disk_->crashed()) return LifeEnd::kDied;
    if (!problem.empty()) {
      if (IsVanishedFolder(problem)) return LifeEnd::kVanished;
      if (MayStartAgain(problem)) return LifeEnd::kUnavailable;
      return Failed(death, "start " + std::to_string(result_.starts) + ": " + problem);
    }
  }
  const jobs::Job* const job = process_->job();
  for (uint64_t step = 1; step <= kStepsMax; ++step) {
    if (disk_->crashed()) return LifeEnd::kDied;
    if (job->state() > jobs::JobState::kStopping) break;
    if (death != nullptr && death->step == step && !death->freezes) return LifeEnd::kDied;
    if (death != nullptr && death->step == step && MayFreezeNow()) {
      Freeze(death->power);
      return LifeEnd::kFrozen;
    }
    if (!StepOnce()) {
      Fail("the job is stuck");
      return LifeEnd::kBroken;
    }
    if (!result_.failure.empty()) return LifeEnd::kBroken;
    if (std::exchange(frozen_, false)) return LifeEnd::kFrozen;
  }
  if (disk_->crashed()) return LifeEnd::kDied;
  if (job->state() == jobs::JobState::kFinished) return LifeEnd::kFinished;
  if (job->state() <= jobs::JobState::kStopping) {
    Fail("the job does not end");
    return LifeEnd::kBroken;
  }
  if (job->cause().code() == StatusCode::kUnavailable) {
    // Its first checkpoint was to be signed.
    if (job->checkpoint_stats().last_number == 0) return LifeEnd::kUnavailable;
    if (job_.writes_tables_at_least_once) return LifeEnd::kLost;
  }
  return Failed(death, job->cause().ToString());
}

void JobWorld::Heal() {
  kafka_.SetReachable(true);
  kafka_back_at_.reset();
  losses_ = 0;
  postgres_.SetReachable(true);
  postgres_.SetFaults({});
  postgres_back_at_.reset();
}

// The process ends: nothing that waits will run, and no destructor's last write reaches the disk.
void JobWorld::Bury(const Death& death) {
  Crash();
  death_ = {};
  disk_->SetCapacity(kDiskBytes);
  Heal();
  if (process_->job() != nullptr) result_.checkpoints += process_->job()->checkpoint_stats().completed;
  result_.trace = result_.trace * 31 + process_->trace();
  process_.reset();
  disk_->Disarm();
  if (death.power) {
    disk_->PowerLoss();
  } else {
    disk_->KillProcess();
  }
  CheckSavepoints();
}

SimRows JobWorld::ReadFolder(const std::string& folder) {
  SimRows rows;
  const auto names = disk_->List(folder);
  if (!names.has_value()) return rows;
  for (const std::string& name : *names) {
    if (name.starts_with(".")) continue;
    const auto content = ReadFile(*disk_, JoinPath(folder, name));
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

std::optional<checkpoint::Marker> JobWorld::KafkaMarker() const {
  if (kafka_.FindTopic("weir-markers") == nullptr) return std::nullopt;
  const std::vector<SimRecord> records = kafka_.Committed("weir-markers", 0);
  if (records.empty()) return std::nullopt;
  const Result<checkpoint::Marker> marker = connectors::MarkerFromText(records.back().value.value_or(""));
  WEIR_CHECK(marker.has_value());
  return *marker;
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
  const auto wrong = [&](const SimRow& row, uint64_t times, const std::string& wanted) {
    Fail(topic + ": " + ToJson(row) + " is there " + std::to_string(times) + " times, expected " + wanted);
  };
  for (const auto& [row, times] : found) {
    const auto it = expected.find(row);
    const uint64_t most = it == expected.end() ? 0 : it->second * result_.starts;
    if (times > most) wrong(row, times, "at most " + std::to_string(most));
  }
  if (!finished) return;
  for (const auto& [row, wanted] : expected) {
    const auto it = found.find(row);
    const uint64_t times = it == found.end() ? 0 : it->second;
    if (times < wanted) wrong(row, times, std::to_string(wanted) + " or more");
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
    switch (end) {
      case LifeEnd::kDied:
        Count(death);
        Bury(death);
        CheckOutput(false);
        break;
      case LifeEnd::kFrozen: ++result_.crashes_at["frozen at " + (died_at_.empty() ? "step" : died_at_)]; break;
      case LifeEnd::kUnavailable:
        ++result_.crashes_at["start that could not sign"];
        Bury(death);
        if (last) --crash;
        break;
      case LifeEnd::kLost:
        ++result_.crashes_at["table out of reach for too long"];
        ++restarts_;
        Bury(death);
        if (last) --crash;
        break;
      case LifeEnd::kFinished:
        EndZombie();
        CheckOutput(true);
        Bury({});
        return result_;
      case LifeEnd::kVanished: ++result_.crashes_at["vanished sink folder, refused"]; [[fallthrough]];
      case LifeEnd::kBroken: Bury({}); return result_;
    }
  }
  return result_;
}

}  // namespace weir::simulation
