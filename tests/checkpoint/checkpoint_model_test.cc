// Random lives of a job: the real coordinator, storage and restore over a simulated disk, with crashes at any disk
// step, fault site or call, aborts, systems that are down or lose answers, copies of the storage started beside and
// after. The systems' rows must be 1, 2, 3, ... at every moment, and a healed world must bring all systems to the same
// rows.
//
// WEIR_SEEDS="<first>:<count>" runs others than the built-in ones; a failure names its seed.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_site.h"
#include "base/log.h"
#include "base/process.h"
#include "tests/checkpoint/fake_job.h"

namespace weir::checkpoint {
namespace {

using std::chrono::milliseconds;

// One storage and the machine it is on, with the process that runs there now.
struct Site {
  explicit Site(uint64_t seed) : machine(seed) {}
  Machine machine;
  std::unique_ptr<FakeJob> job;
};

class Life {
 public:
  Life(uint64_t seed, std::map<std::string, uint64_t>& seen) : random_(seed), seen_(seen) {
    const uint64_t count = 1 + random_.Below(3);
    for (uint64_t i = 0; i < count; ++i)
      systems_.push_back(std::make_unique<FakeSystem>("system-" + std::to_string(i)));
    constexpr uint64_t kCrashOdds[] = {400, 80, 25};
    crash_odds_ = kCrashOdds[random_.Below(3)];
    constexpr uint64_t kDownPercent[] = {0, 15, 40};
    down_percent_ = kDownPercent[random_.Below(3)];
    sites_.push_back(std::make_unique<Site>(random_.Next()));
  }

  std::string Run() {
    const uint64_t rounds = 3 + random_.Below(12);
    for (uint64_t round = 0; round < rounds && Broken().empty(); ++round) Round();
    ArmFaultSites({});
    if (Broken().empty()) Heal();
    return Broken();
  }

 private:
  std::string Broken() const {
    if (!broken_.empty()) return broken_;
    for (const auto& system : systems_) {
      if (!system->broken.empty()) return system->broken;
    }
    return {};
  }

  void Round() {
    for (const auto& system : systems_) {
      system->up = random_.Below(100) >= down_percent_;
      system->lose_answers = random_.OneIn(6) ? 1 : 0;
      system->lose_applies = random_.OneIn(6) ? 1 : 0;
    }
    Site& site = *sites_[random_.OneIn(4) ? random_.Below(sites_.size()) : 0];
    if (site.job == nullptr || random_.OneIn(2)) {
      End(site);
      Begin(site);
    }
    if (site.job != nullptr) Work(site, random_.Below(120));
    if (random_.OneIn(5) && sites_.size() < 4) Copy(site);
    Site& neighbour = *sites_[random_.Below(sites_.size())];
    if (neighbour.job != nullptr) Work(neighbour, random_.Below(40));
  }

  void Begin(Site& site) {
    std::vector<FakeSystem*> systems;
    for (const auto& system : systems_) systems.push_back(system.get());
    site.job = std::make_unique<FakeJob>(site.machine, systems);
    site.job->options.interval = milliseconds(500);
    site.job->options.timeout = milliseconds(2000);
    site.job->options.tolerated_failures = 2;
    site.job->options.retain = 1 + static_cast<uint32_t>(random_.Below(3));
    ArmCrash(site);
    const Status status = site.job->Start();
    ArmFaultSites({});
    if (Crashed(site)) return;
    if (status.ok()) {
      ++seen_["started"];
      return;
    }
    ++seen_["start: " + std::string(StatusCodeName(status.code()))];
    Judge(status);
    site.job.reset();
  }

  // Nothing is damaged, and where nobody else writes nothing can be refused.
  void Judge(const Status& status) {
    if (status.code() == StatusCode::kCorruption) broken_ = status.ToString();
    if (status.code() == StatusCode::kFailedPrecondition && sites_.size() == 1) broken_ = status.ToString();
  }

  // Now and then the process will die at the nth disk step or fault site from now.
  void ArmCrash(Site& site) {
    site.machine.fs.Disarm();
    if (random_.OneIn(3)) {
      constexpr simulation::FaultAction kActions[] = {simulation::FaultAction::kCrashBefore,
                                                      simulation::FaultAction::kCrashAfter,
                                                      simulation::FaultAction::kCrashTorn};
      site.machine.fs.Arm({.nth = 1 + random_.Below(crash_odds_), .action = kActions[random_.Below(3)]});
    } else if (random_.OneIn(3)) {
      ArmFaultSites([this, &site, left = 1 + random_.Below(crash_odds_ / 8 + 1)](std::string_view name) mutable {
        if (--left != 0) return;
        ++seen_["killed at " + std::string(name)];
        site.job->life().Kill();
      });
    }
  }

  // A running process meets an error of the disk; a sync that failed has lost its data.
  void ArmError(Site& site) {
    if (!random_.OneIn(5)) return;
    using simulation::FaultAction;
    site.machine.fs.Arm(
        {.nth = 1 + random_.Below(60), .action = random_.OneIn(4) ? FaultAction::kErrorAfter : FaultAction::kError});
    ++seen_["disk error armed"];
  }

  bool Crashed(Site& site) {
    if (site.job == nullptr || !site.job->life().Dead()) return false;
    ++seen_["crash"];
    Die(site);
    return true;
  }

  void Die(Site& site) {
    ArmFaultSites({});
    site.job->life().dead = true;  // nothing that its destruction does reaches a system
    site.job.reset();
    site.machine.fs.Disarm();
    if (random_.OneIn(2)) {
      site.machine.fs.PowerLoss();
      ++seen_["power loss"];
    } else {
      site.machine.fs.KillProcess();
    }
  }

  void End(Site& site) {
    if (site.job == nullptr) return;
    if (random_.OneIn(3)) {
      site.job.reset();  // ends without a word, the disk lives on
      site.machine.fs.Disarm();
    } else {
      Die(site);
    }
  }

  void Work(Site& site, uint64_t steps) {
    ArmCrash(site);
    ArmError(site);
    for (uint64_t i = 0; i < steps; ++i) {
      OneStep(*site.job);
      if (Crashed(site)) return;
      if (!Broken().empty()) break;
      if (site.job->coordinator().outcome() != CheckpointCoordinator::Outcome::kRunning) return Ended(site);
    }
    ArmFaultSites({});
  }

  void OneStep(FakeJob& job) {
    switch (random_.Below(8)) {
      case 0: job.Emit(random_.Below(4)); break;
      case 1: job.StepTask(); break;
      case 2:
      case 3:
      case 4: job.RunOneWorkerJob(); break;
      case 5:
      case 6: job.StepCoordinator(); break;
      default: Happening(job); break;
    }
  }

  void Happening(FakeJob& job) {
    if (random_.OneIn(12)) job.fail_snapshots = 1;
    if (random_.OneIn(12)) systems_[random_.Below(systems_.size())]->up = random_.Below(100) >= down_percent_;
    clock_of(job).Advance(milliseconds(random_.Below(600)));
  }

  simulation::ManualClock& clock_of(const FakeJob& job) {
    for (const auto& site : sites_) {
      if (site->job.get() == &job) return site->machine.clock;
    }
    return sites_[0]->machine.clock;
  }

  // The attempt is over: restart inside the process, or the process ends.
  void Ended(Site& site) {
    ArmFaultSites({});
    const Status cause = site.job->coordinator().failure();
    ++seen_["ended: " + std::string(StatusCodeName(cause.code()))];
    Judge(cause);
    if (cause.code() == StatusCode::kFenced || random_.OneIn(3)) {
      site.job.reset();
      site.machine.fs.Disarm();
      return;
    }
    site.job->EndAttempt();
    site.machine.fs.Disarm();
    const Status status = site.job->Start();
    if (Crashed(site)) return;
    ++seen_[status.ok() ? "restarted inside" : "restart inside: " + std::string(StatusCodeName(status.code()))];
    if (!status.ok()) {
      Judge(status);
      site.job.reset();
      site.machine.fs.Disarm();
    }
  }

  void Copy(Site& from) {
    if (!Exists(from.machine.fs, FakeJob::kStorage)) return;
    ArmFaultSites({});
    from.machine.fs.Disarm();
    auto copy = std::make_unique<Site>(random_.Next());
    CopyStorage(from.machine.fs, copy->machine.fs, FakeJob::kStorage);
    sites_.push_back(std::move(copy));
    ++seen_["copy"];
  }

  // Everything is up and nothing crashes: the storage that the systems accept brings them all to the same rows.
  void Heal() {
    for (const auto& system : systems_) {
      system->up = true;
      system->lose_answers = 0;
      system->lose_applies = 0;
    }
    for (const auto& site : sites_) {
      if (site->job != nullptr) Die(*site);
      site->machine.fs.Disarm();
    }
    std::string refusal;
    for (const auto& site : sites_) {
      std::vector<FakeSystem*> systems;
      for (const auto& system : systems_) systems.push_back(system.get());
      FakeJob job(site->machine, systems);
      if (const Status status = job.Start(); !status.ok()) {
        refusal = status.ToString();
        continue;
      }
      for (int i = 0; i < 3; ++i) {
        job.Emit(3);
        job.Checkpoint();
        site->machine.clock.Advance(std::chrono::seconds(11));
        job.Settle();
      }
      for (const auto& system : systems_) {
        if (system->rows.size() != job.offset()) broken_ = system->identity + " did not catch up";
      }
      ++seen_["healed"];
      return;
    }
    // Two machines may have lost what only the other one knew; then nobody may go on.
    ++seen_["no storage accepted"];
    if (sites_.size() == 1) broken_ = "the only storage is refused though nobody else wrote: " + refusal;
  }

  SeededRandom random_;
  std::map<std::string, uint64_t>& seen_;
  std::vector<std::unique_ptr<FakeSystem>> systems_;
  std::vector<std::unique_ptr<Site>> sites_;
  uint64_t crash_odds_ = 0;
  uint64_t down_percent_ = 0;
  std::string broken_;
};

TEST(CheckpointModelTest, NoRowIsLostDoubledOrMisplaced) {
  SetLogLevel(LogLevel::kError);
  uint64_t first = 1;
  uint64_t count = 3000;
  if (const auto seeds = EnvironmentVariable("WEIR_SEEDS"); seeds.has_value()) {
    const size_t colon = seeds->find(':');
    ASSERT_NE(colon, std::string::npos) << "WEIR_SEEDS is not <first>:<count>";
    first = std::stoull(seeds->substr(0, colon));
    count = std::stoull(seeds->substr(colon + 1));
  }
  std::map<std::string, uint64_t> seen;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string broken = Life(seed, seen).Run();
    ASSERT_EQ(broken, "") << "seed " << seed;
  }
  for (const auto& [what, times] : seen)
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  EXPECT_GT(seen["healed"], count / 2);
  if (count < 1000) return;
  for (const std::string_view site : FaultSites()) {
    // The others are those of sinks, of the state and of savepoints, which have tests of their own.
    const bool here = site.starts_with("apply.") || site.starts_with("checkpoint.") || site.starts_with("start.");
    if (!here) continue;
    EXPECT_GT(seen["killed at " + std::string(site)], 0U) << site;
  }
}

}  // namespace
}  // namespace weir::checkpoint
